// Raw samples of micro-benchmarks, one a row: what `simsgd import` reads as "samples".
#pragma once

#include <string>
#include <vector>

#include "measure/machine.hpp"

namespace simsgd {

/// What was measured, apart from when: a cell for each column of its benchmark.
struct BenchPoint {
  std::string operation, schedule;  ///< empty of kernels
  int workers = 1, nodes = 1;
  double bytes = 0;                 ///< as CollectiveOptions::bytes; 0 and not written where there are none
  std::vector<std::string> labels;  ///< in the order of the table's
};

struct Campaign {
  int number = 1;  ///< from 1
  double begun_unix_s = 0;
  double load = 0;
};

/// The text of the table, RFC 4180.
class SampleTable {
 public:
  SampleTable(std::string benchmark, const BenchMachine& machine, const std::vector<std::string>& labels);
  void add(const Campaign& campaign, const BenchPoint& point, const std::vector<double>& times_s);
  const std::string& text() const { return text_; }

 private:
  std::string benchmark_;
  int cores_;
  double ranks_per_core_;
  std::size_t labels_;
  std::string text_;
};

struct SampleColumn {
  const char *name, *unit, *definition;
};
/// All but the labels'.
const std::vector<SampleColumn>& sample_columns();

}  // namespace simsgd
