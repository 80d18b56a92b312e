// Simulated time and the messages that travel through SimGrid: timers, flows, and the one place that keeps
// SimGrid's completion callbacks. A message waits alpha on a timer and is then a flow of its bytes; without
// bytes it is the timer.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace simgrid::s4u {
class Host;
}

namespace simsgd {

class Transport {
 public:
  /// Builds the platform; SimGrid's engine must exist.
  explicit Transport(const Cluster& cluster);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  double now() const;
  /// Throws RunError where an instant is beyond what a run can last: an overflow is no deadlock.
  void check_instant(double time_s) const;
  /// Calls `action` at `time_s` (now if that is past), outside every actor.
  void at(double time_s, std::function<void()> action);

  /// A flow of `bytes` from rank to rank that starts now; `done` is called when it ends. bytes > 0.
  void flow(int from_rank, int to_rank, double bytes, std::function<void()> done);
  /// A message: `delay_s` and then its flow. `delay_s` includes the path's latency.
  void message(int from_rank, int to_rank, double bytes, double delay_s, std::function<void()> done);

  PathCost path(int from_rank, int to_rank) const;
  simgrid::s4u::Host* host(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }
  std::uint64_t events() const { return events_; }
  /// Bytes that each link of the network carried in messages of this transport.
  const std::vector<double>& link_bytes() const { return link_bytes_; }

 private:
  struct Flow;
  struct Impl;
  void count_bytes(int from_rank, int to_rank, double bytes);

  const Cluster& cluster_;
  std::vector<simgrid::s4u::Host*> hosts_;  // by rank
  std::vector<double> link_bytes_;
  std::vector<LinkId> path_;
  std::uint64_t events_ = 0;
  double least_Bps_ = std::numeric_limits<double>::infinity();  ///< of all links
  std::unique_ptr<Impl> impl_;
};

}  // namespace simsgd
