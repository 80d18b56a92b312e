// How a rank of a measurement waits for messages. Polling is the quickest where each has a core of its own.
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
  explicit Waiting(bool sleeps) : sleeps_(sleeps) {}

  /// Connections are made when they are first used: to be called again after that.
  void look_for_sockets();
  void all(std::span<MPI_Request> requests);
  /// Until that time of seconds_now(); not before.
  void until(double time_s) const;
  bool sleeps() const { return sleeps_; }

 private:
  void sleep();

  bool sleeps_;
  std::vector<pollfd> sockets_;
};

/// Of the monotonic clock, which all processes of one kernel share.
double seconds_now();

}  // namespace simsgd
