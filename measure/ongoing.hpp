// What a rank has started over MPI and not finished: MPI's side of a handle.
#pragma once

#include <algorithm>
#include <memory>

#include "sim/handle.hpp"
#include "sim/observer.hpp"

namespace simsgd {

struct Ongoing {
  std::shared_ptr<Pending> pending;  ///< shared with the algorithm's handle
  OperationSpan span{};              ///< filled as it happens
  bool came = false;                 ///< go_s is known

  /// Somebody that it depends on has come: bytes may be on their way.
  void somebody_came() { pending->under_way = true; }
  /// The last one that it depends on came at `time_s` by the run's clock, which may be seen much later:
  /// before that it is waiting, from then on only bytes are missing.
  void others_came(double time_s) {
    if (!came) span.go_s = std::max(span.start_s, time_s);
    came = true;
    somebody_came();
  }
  /// It is over; what it gives is to be delivered before it counts as complete.
  void ended(double now_s) {
    others_came(now_s);
    span.go_s = std::min(span.go_s, now_s);  // clocks of several machines differ
    span.end_s = now_s;
  }
};

}  // namespace simsgd
