// Simulated time and the messages that travel: timers and flows. A message waits alpha on a timer and is then
// a flow of its bytes; without bytes it is the timer. Everything that happens is on the agenda, which has a
// rule for what is at the same instant.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/engine/agenda.hpp"
#include "sim/engine/time_keeper.hpp"

namespace simsgd {

class Transport {
 public:
  explicit Transport(const Cluster& cluster, MakeTimeKeeper make_time = own_time);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Runs until nothing is left to happen. `fibers` may be null.
  void run(Fibers* fibers) { time_->run(fibers); }

  /// The instant that is being served: the same for all that differs by rounding.
  double now() const;
  /// Throws RunError where an instant is beyond what a run can last: an overflow is not a deadlock.
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

  /// A message: `delay_s`, which includes the path's latency, and then its flow, or its way through the
  /// sender's token bucket with what that holds by then.
  void message(int from_rank, int to_rank, double bytes, double delay_s, std::function<void()> done);

  /// From now on a link has this share of its bandwidth, for the flows that cross it too. share > 0.
  void set_bandwidth_share(LinkId link, double share) {
    slowed_ = slowed_ || share < 1;
    time_->set_bandwidth_share(link, share);
  }

  /// What of a message flows is counted in units.
  static double whole_units(double bytes);
  /// Called last in an action: nothing is to happen up to that time, nothing flows, and links are as the
  /// cluster says. Not always found out.
  bool is_quiet_until(double time_s) const;
  /// So many events and bytes of links stand for messages whose end was computed, not simulated.
  void have_passed(std::uint64_t events, const std::vector<std::pair<LinkId, double>>& bytes);

  /// Its bucket apart.
  PathCost path(int from_rank, int to_rank, double bytes) const;
  std::uint64_t events() const { return events_; }
  /// Bytes that each link of the network carried in messages of this transport.
  const std::vector<double>& link_bytes() const { return link_bytes_; }

 private:
  struct Sent {
    int from_rank = 0, to_rank = 0;
    double bytes = 0;
    std::function<void()> done;
    std::vector<LinkId> path;       // of its flow
    BucketLevel* bucket = nullptr;  // that it went through
    Turn turn() const { return {Turn::Kind::signal, to_rank, from_rank}; }
  };
  void begin(std::uint32_t number);
  bool pass_bucket(std::uint32_t number, double& bytes);
  void start_flow(std::uint32_t number, double bytes);
  void flow_ended(std::uint32_t number);
  void arrived(std::uint32_t number);
  void put(double time_s, Turn turn, std::function<void()> action);
  void arm();
  void serve();

  const Cluster& cluster_;
  std::vector<double> link_bytes_;
  std::map<LinkId, BucketLevel> buckets_;
  Agenda agenda_;
  Agenda::Batch batch_;              // that is being served
  std::vector<Sent> messages_;       // by number, which is its flow's too
  std::vector<std::uint32_t> free_;  // numbers of no message
  double instant_s_ = 0;             // that is being served
  double wait_s_ = -1;               // signals wait for the clock to be beyond
  double served_s_ = -1;      // and those that look on for this one: something of the model was served then
  int flying_ = 0;            // flows that have not ended
  std::size_t to_serve_ = 0;  // actions of the batch that is being served
  bool slowed_ = false;       // a link has had less than its bandwidth
  std::uint64_t events_ = 0;
  double least_Bps_ = std::numeric_limits<double>::infinity();  ///< of all links
  std::unique_ptr<TimeKeeper> time_;
};

}  // namespace simsgd
