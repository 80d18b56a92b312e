// Simulated time and the messages that travel through SimGrid: timers, flows, and the one place that keeps
// SimGrid's completion callbacks. A message waits alpha on a timer and is then a flow of its bytes; without
// bytes it is the timer. Everything that happens is on the agenda, which has a rule for what is at the same
// instant.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/engine/agenda.hpp"

namespace simgrid::s4u {
class Comm;
class Host;
class Link;
}  // namespace simgrid::s4u

namespace simsgd {

class Transport {
 public:
  /// Builds the platform; SimGrid's engine must exist.
  explicit Transport(const Cluster& cluster);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// The instant that is being served: the same for all that differs by rounding.
  double now() const;
  /// Throws RunError where an instant is beyond what a run can last: an overflow is no deadlock.
  void check_instant(double time_s) const;
  /// Calls `action` at `time_s` (now if that is past), outside every actor, in its turn.
  void at(double time_s, Turn turn, std::function<void()> action);
  void at(double time_s, std::function<void()> action) { at(time_s, Turn{}, std::move(action)); }
  /// Calls `action` once all that happens at that instant has happened; the run does not wait for it. Of one
  /// instant the `place` says which comes first.
  void after(double time_s, int place, std::function<void()> action) {
    put(time_s, {Turn::Kind::after, place}, std::move(action));
  }
  /// Whether nothing is under way of which something may come.
  bool idle() const { return flying_ == 0 && agenda_.idle(); }
  /// The same for an actor that sleeps until then: no event of the model.
  void wake_at(double time_s, int rank, std::function<void()> wake);

  /// A flow of `bytes` from rank to rank that starts now; `done` is called when it ends. bytes > 0.
  void flow(int from_rank, int to_rank, double bytes, std::function<void()> done);
  /// A message: `delay_s`, which includes the path's latency, and then its flow, or its way through the
  /// sender's token bucket with what that holds by then.
  void message(int from_rank, int to_rank, double bytes, double delay_s, std::function<void()> done);

  /// From now on a link has this share of its bandwidth, for the flows that cross it too. share > 0.
  void set_bandwidth_share(LinkId link, double share);

  /// Its bucket apart.
  PathCost path(int from_rank, int to_rank, double bytes) const;
  simgrid::s4u::Host* host(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }
  std::uint64_t events() const { return events_; }
  /// Bytes that each link of the network carried in messages of this transport.
  const std::vector<double>& link_bytes() const { return link_bytes_; }

 private:
  struct Flow;
  struct Impl;
  void set_bandwidth(LinkId link, double share);
  void start_unbounded(simgrid::s4u::Comm& comm, int from_rank, int to_rank);
  void pass_bucket(int from_rank, int to_rank, double bytes, std::function<void()> done);
  void count_bytes(int from_rank, int to_rank, double bytes);
  void put(double time_s, Turn turn, std::function<void()> action);
  void arm();
  void serve();
  void follow_clock();

  const Cluster& cluster_;
  std::vector<simgrid::s4u::Host*> hosts_;  // by rank
  std::vector<simgrid::s4u::Link*> links_;  // by LinkId
  std::vector<double> share_of_link_;       // of its bandwidth, that it has now
  int slow_links_ = 0;                      // whose share is below 1
  std::vector<double> link_bytes_;
  std::map<LinkId, BucketLevel> buckets_;
  std::vector<LinkId> path_;
  Agenda agenda_;
  double instant_s_ = 0;   // that is being served
  double wait_s_ = -1;     // signals wait for SimGrid's clock to be beyond
  double served_s_ = -1;   // and those that look on for this one: something of the model was served then
  int flying_ = 0;         // flows that have not ended
  double followed_s_ = 0;  // the clock that SimGrid's precision was made for
  std::uint64_t events_ = 0;
  double least_Bps_ = std::numeric_limits<double>::infinity();  ///< of all links
  std::unique_ptr<Impl> impl_;
};

}  // namespace simsgd
