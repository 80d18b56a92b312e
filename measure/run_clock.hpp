// The clock of a real run: wall time since all ranks began together, less the intermissions in which they
// stop to record what they have learned.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace simsgd {

class RunClock {
 public:
  void start() {
    begin_ = std::chrono::steady_clock::now();
    paused_s_ = 0;
  }
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
/// Where there are more ranks than cores (`crowded`), whoever polls takes the core from somebody who
/// computes: there everybody naps, and what is under way takes up to a nap longer.
inline void rest(double waited_s, bool under_way, bool crowded) {
  constexpr double kShare = 0.02, kShortestNap_s = 50e-6, kLongestNap_s = 1e-3;
  if (crowded) {
    constexpr double kYields_s = 100e-6, kUnderWayNap_s = 100e-6, kLongestCrowdedNap_s = 500e-6;
    if (waited_s < kYields_s)
      std::this_thread::yield();
    else
      nap(std::clamp(kShare * waited_s, kShortestNap_s, under_way ? kUnderWayNap_s : kLongestCrowdedNap_s));
    return;
  }
  const double affordable_s = std::min(kShare * waited_s, kLongestNap_s);
  if (under_way || affordable_s < kShortestNap_s)
    std::this_thread::yield();
  else
    nap(affordable_s);
}

}  // namespace simsgd
