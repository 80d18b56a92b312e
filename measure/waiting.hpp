// How a rank waits for messages. Polling is the quickest where each has a core of its own.
// Where ranks share cores those that poll keep others from working: then a rank sleeps until one of MPI's
// sockets has something, or has room again, and looks after a short while whatever comes.
#pragma once

#include <mpi.h>
#include <poll.h>

#include <span>
#include <vector>

namespace simsgd {

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
