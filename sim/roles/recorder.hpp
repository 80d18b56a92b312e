// The recorder: what an algorithm says for the record. Observers listen.
#pragma once

#include <string>

#include "sim/record.hpp"

namespace simsgd {

class Observers;

class Recorder {
 public:
  Recorder(int rank, Observers& observers) : rank_(rank), observers_(observers) {}

  void staleness(double steps);                        ///< a value that was used is so many steps old
  void table(const RecordTable& table);                ///< what was decided; the record keeps rank 0's
  void number(const std::string& name, double value);  ///< a metric of the method's own; rank 0's counts

 private:
  int rank_;
  Observers& observers_;
};

}  // namespace simsgd
