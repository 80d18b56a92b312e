// What a rank has started over MPI and perhaps not finished.
#pragma once

#include <string>
#include <vector>

#include "sim/recording/ledger.hpp"
#include "sim/worker.hpp"

namespace simsgd {

struct MpiPending final : Pending {
  bool complete = false;
  bool under_way = false;    ///< all that it depends on have come: only bytes are missing
  std::int32_t channel = 0;  ///< in the rank's ledger
  OperationSpan span;        ///< filled as it happens
  std::string description;   ///< "all_reduce among 4": for the sentence of a stall
  Values result;
  std::vector<Values> gathered;
  Message message;

  /// The last one that it depends on has come.
  void others_came(double now_s) {
    if (!under_way) span.go_s = now_s;
    under_way = true;
  }
  void finish(double now_s) {
    others_came(now_s);
    span.end_s = now_s;
    complete = true;
  }
};

}  // namespace simsgd
