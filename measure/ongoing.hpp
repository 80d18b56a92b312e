// What a rank has started over MPI and not finished: MPI's side of a handle.
#pragma once

#include <memory>

#include "sim/handle.hpp"
#include "sim/observer.hpp"

namespace simsgd {

struct Ongoing {
  std::shared_ptr<Pending> pending;  ///< shared with the algorithm's handle
  OperationSpan span{};              ///< filled as it happens

  /// The last one that it depends on has come: only bytes are missing.
  void others_came(double now_s) {
    if (!pending->under_way) span.go_s = now_s;
    pending->under_way = true;
  }
  /// It is over; what it gives is to be delivered before it counts as complete.
  void ended(double now_s) {
    others_came(now_s);
    span.end_s = now_s;
  }
};

}  // namespace simsgd
