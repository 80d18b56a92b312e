// The clock of a real run, and how a rank waits for messages. Polling is the quickest where each has a core
// of its own. Where ranks share cores those that poll keep others from working: then a rank sleeps until one
// of MPI's sockets has something, or has room again, and looks after a short while whatever comes.
#pragma once

#include <mpi.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <thread>
#include <vector>

namespace simsgd {

/// Wall time since all ranks began together, less the intermissions in which they stop to record what they
/// have learned.
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

class Waiting {
 public:
  explicit Waiting(bool sleeps = false) : sleeps_(sleeps) {}

  /// Connections are made when they are first used: to be called again after that.
  void look_for_sockets();
  void all(std::span<MPI_Request> requests);
  /// Until something comes, or so long. By polling: not at all.
  void sleep(double most_s) const;
  /// Until that time of seconds_now(); not before.
  void until(double time_s) const;
  bool sleeps() const { return sleeps_; }

 private:
  bool sleeps_;
  mutable std::vector<pollfd> sockets_;  // what is asked of them changes
};

/// True once the request is complete.
inline bool is_complete(MPI_Request& request) {
  int complete = 0;
  MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  return complete != 0;
}

/// The monotonic clock, which all processes of one kernel share.
double seconds_now();

/// Asks Linux for short turns on a core, for this thread and those that it starts: whoever wakes up then goes
/// before others that have long turns, instead of waiting for the end of theirs (about 3 ms). Nothing where
/// the kernel (before 6.12) or another scheduling policy knows no such wish; needs no rights.
void ask_for_short_slices();

}  // namespace simsgd
