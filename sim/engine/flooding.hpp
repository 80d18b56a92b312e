// Flooding: a number spreads over all ranks from whoever knows it first (Background::flood): rank x tells
// x + 2^j mod P, for every j above the phase in which it heard, each j once.
//   T_0(x)   = when x floods it itself;   T_{j+1}(x) = min(T_j(x), T_j(x - 2^j) + message),   x hears at
//   T_L(x)
// A message without bytes takes the latency of its path and the host's launch, whatever else is on the
// network, so the recurrence gives the same times without simulating P - 1 messages
// (tests/algorithms/wait_avoiding_activation.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <vector>

#include "sim/engine/transport.hpp"
#include "sim/job.hpp"

namespace simsgd {

class Flooding {
 public:
  using Heard = std::function<void(std::uint64_t number)>;

  Flooding(const Job& job, Transport& transport);

  /// False where messages are to be simulated one by one, or their latencies jitter.
  bool by_recurrence() const;
  /// Calls `heard` for each number of `tag` that others flood, unless `rank` has flooded it before.
  void hear(int rank, int tag, Heard heard);
  /// `rank` knows it now. Nothing happens if it has heard of it.
  void flood(int rank, int tag, std::uint64_t number);

 private:
  struct Arrival {
    double time_s = 0;
    int rank = 0;
    bool operator>(const Arrival& other) const {
      return time_s != other.time_s ? time_s > other.time_s : rank > other.rank;
    }
  };
  struct Flood {
    std::vector<double> known_s;  // T_j(x) at [x (L + 1) + j]
    std::vector<char> reached;
    int unreached = 0;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals;  // the earliest one counts
    double armed_s = 0;  // when the next timer goes off
  };
  struct Channel {
    std::vector<Heard> heard;  // by rank
    std::map<std::uint64_t, Flood> floods;
  };
  struct Hop {
    int rank, phase;
    double time_s;
  };
  double hop_s(int rank, int phase);
  Flood& flood_of(Channel& channel, std::uint64_t number);
  void propagate(Flood& flood, Hop first);
  void arm(int tag, std::uint64_t number, Flood& flood);
  void deliver(int tag, std::uint64_t number);

  const Job& job_;
  Transport& transport_;
  int ranks_, phases_;
  std::vector<double> hop_s_;  // by rank and phase; negative: not asked for yet
  std::map<int, Channel> channels_;
  std::vector<Flood> finished_;  // for reuse
  std::vector<Hop> hops_;
};

}  // namespace simsgd
