// The clock of a real run: wall time since all ranks began together, less the intermissions in which they
// stop to record what they have learned.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace simsgd {

class RunClock {
 public:
  void start() {
    begin_ = std::chrono::steady_clock::now();
    paused_s_ = 0;
  }
  /// So much later than it did: processes of one machine, which share its clock, begin at one instant.
  void began_later(double seconds) { begin_ += std::chrono::nanoseconds(std::llround(1e9 * seconds)); }
  /// The start by the machine's clock, in seconds.
  double begin_s() const { return std::chrono::duration<double>(begin_.time_since_epoch()).count(); }
  /// Seconds since the start, intermissions included.
  double wall_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  double now() const { return wall_s() - paused_s_; }
  void pause(double seconds) { paused_s_ += seconds; }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double paused_s_ = 0;
};

/// Leaves the core to others.
inline void nap(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Between two looks at an operation that is not complete. Where bytes may be on their way (`under_way`) only
/// polling moves them; while others have not come, a nap may cost 2 % of what was waited so far.
inline void rest(double waited_s, bool under_way) {
  constexpr double kShare = 0.02, kShortestNap_s = 50e-6, kLongestNap_s = 1e-3;
  const double affordable_s = std::min(kShare * waited_s, kLongestNap_s);
  if (under_way || affordable_s < kShortestNap_s)
    std::this_thread::yield();
  else
    nap(affordable_s);
}

}  // namespace simsgd
