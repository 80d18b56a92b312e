#include "sim/engine/transport.hpp"

#include <fmt/format.h>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/instants.hpp"
#include "sim/base/limits.hpp"
#include "sim/engine/platform.hpp"

namespace simsgd {

namespace s4u = simgrid::s4u;

struct Transport::Flow {
  s4u::CommPtr comm;
  Turn turn;
  std::function<void()> done;
};

struct Transport::Impl {
  simgrid::kernel::timer::Timer* timer = nullptr;            // SimGrid's, at the next thing on the agenda
  double armed_s = std::numeric_limits<double>::infinity();  // when it goes off
  std::vector<std::unique_ptr<Flow>> idle;                   // for reuse
  std::vector<std::unique_ptr<Flow>>
      finished;  // released outside SimGrid's callbacks: simgrid.org 3.32 frees too early
};

Transport::Transport(const Cluster& cluster)
    : cluster_(cluster),
      share_of_link_(cluster.network.links.size(), 1.0),
      link_bytes_(cluster.network.links.size(), 0.0),
      impl_(std::make_unique<Impl>()) {
  const Platform platform = build_platform(cluster.network);
  links_ = platform.links;
  for (const int endpoint : cluster.endpoint_of_rank)
    hosts_.push_back(platform.hosts[static_cast<std::size_t>(endpoint)]);
  for (const Link& link : cluster.network.links) least_Bps_ = std::min(least_Bps_, link.bandwidth_Bps);
  s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) {
    const auto* comm = dynamic_cast<const s4u::Comm*>(&activity);
    if (!comm) return;
    std::unique_ptr<Flow> flow(comm->get_data<Flow>());
    --flying_;
    at(now(), flow->turn, std::move(flow->done));
    impl_->finished.push_back(std::move(flow));
  });
  s4u::Engine::on_time_advance_cb([this](double) {
    follow_clock();
    for (std::unique_ptr<Flow>& flow : impl_->finished) {
      flow->comm = nullptr;
      impl_->idle.push_back(std::move(flow));
    }
    impl_->finished.clear();
  });
}

Transport::~Transport() = default;

// Time
// -----------------------------------------------------------------------------------------------------------

double Transport::now() const {
  const double clock_s = s4u::Engine::get_clock();
  return before(instant_s_, clock_s) ? clock_s : instant_s_;
}

void Transport::check_instant(double time_s) const {
  if (time_s <= kLastInstant_s) return;
  throw RunError(fmt::format(
      "The simulated time overflows: at {:.6g} s something takes until {:.6g} s, and a run can last {:g} s. Look for a delay, a latency or a bandwidth that is out of proportion.",
      now(), time_s, kLastInstant_s));
}

void Transport::at(double time_s, Turn turn, std::function<void()> action) {
  check_instant(time_s);
  ++events_;
  put(time_s, turn, std::move(action));
}

void Transport::wake_at(double time_s, int rank, std::function<void()> wake) {
  put(time_s, {Turn::Kind::completion, rank}, std::move(wake));
}

void Transport::put(double time_s, Turn turn, std::function<void()> action) {
  agenda_.put(std::max(time_s, now()), turn, std::move(action));
  arm();
}

// One timer of SimGrid, for what comes next. Signals that have to wait go on at the next number after its
// clock.
void Transport::arm() {
  const double clock_s = s4u::Engine::get_clock();
  const double date_s = agenda_.more_due() ? std::nextafter(clock_s, std::numeric_limits<double>::infinity())
                                           : std::max(agenda_.next_s(), clock_s);
  if (impl_->timer) {
    if (date_s >= impl_->armed_s) return;
    impl_->timer->remove();
  }
  impl_->armed_s = date_s;
  impl_->timer = simgrid::kernel::timer::Timer::set(date_s, [this] { serve(); });
}

// Signals wait until the workers that were woken have done what they do at this instant, and until SimGrid
// has told which flows end at it: both are after its timers. Who looks on waits for what comes of signals
// too.
void Transport::serve() {
  impl_->timer = nullptr;  // SimGrid deletes it
  const double next_s = agenda_.next_s();
  CHECK(next_s != std::numeric_limits<double>::infinity(), "a timer without anything on the agenda");
  const double clock_s = s4u::Engine::get_clock();
  if (before(instant_s_, next_s)) {
    instant_s_ = next_s;
    if (flying_ > 0) wait_s_ = clock_s;
  }
  const Turn::Kind latest = clock_s <= wait_s_     ? Turn::Kind::completion
                            : clock_s <= served_s_ ? Turn::Kind::signal
                                                   : Turn::Kind::after;
  const Agenda::Batch batch = agenda_.take(instant_s_, latest);
  if (batch.kind == Turn::Kind::completion) wait_s_ = clock_s;
  if (batch.kind != Turn::Kind::after && !batch.actions.empty()) served_s_ = clock_s;
  for (const Agenda::Action& action : batch.actions) action();
  if (agenda_.next_s() != std::numeric_limits<double>::infinity()) arm();
}

// SimGrid ends what ends within an absolute time of its clock (`surf/precision`) together. It is made the
// margin of one instant, so that it means the same in microseconds and in days; a step of the clock by many
// orders of magnitude may leave a flow that has ended behind by one rounding, and SimGrid looks again.
void Transport::follow_clock() {
  const double clock_s = s4u::Engine::get_clock();
  if (clock_s < 2 * followed_s_ || clock_s == 0) return;
  followed_s_ = clock_s;
  s4u::Engine::set_config(
      fmt::format("surf/precision:{:.3e}",
                  std::max(clock_s * kSameInstant, 1e-300)));  // SimGrid reads no subnormal number
  simgrid::kernel::timer::Timer::set(std::nextafter(clock_s, std::numeric_limits<double>::infinity()), [] {});
}

// Messages
// -----------------------------------------------------------------------------------------------------------

PathCost Transport::path(int from_rank, int to_rank, double bytes) const {
  return cluster_.network.sized_cost(cluster_.endpoint_of_rank[static_cast<std::size_t>(from_rank)],
                                     cluster_.endpoint_of_rank[static_cast<std::size_t>(to_rank)], bytes);
}

void Transport::set_bandwidth(LinkId link, double share) {
  const auto id = static_cast<std::size_t>(link);
  links_[id]->set_bandwidth(cluster_.network.links[id].bandwidth_Bps * kUnitsPerByte * share);
}

void Transport::set_bandwidth_share(LinkId link, double share) {
  double& now = share_of_link_[static_cast<std::size_t>(link)];
  slow_links_ += (share < 1 ? 1 : 0) - (now < 1 ? 1 : 0);
  now = share;
  set_bandwidth(link, share);
}

// SimGrid 3.32 never lets a flow be faster than the narrowest of its links was when it started (TCP-gamma 0
// lifts that bound only where there is a latency): links that are slow now are whole for this moment.
void Transport::start_unbounded(s4u::Comm& comm, int from_rank, int to_rank) {
  path_.clear();
  cluster_.network.route(cluster_.endpoint_of_rank[static_cast<std::size_t>(from_rank)],
                         cluster_.endpoint_of_rank[static_cast<std::size_t>(to_rank)], path_);
  std::erase_if(path_, [this](LinkId id) { return share_of_link_[static_cast<std::size_t>(id)] == 1; });
  for (const LinkId id : path_) set_bandwidth(id, 1);
  comm.start();
  for (const LinkId id : path_) set_bandwidth(id, share_of_link_[static_cast<std::size_t>(id)]);
}

void Transport::count_bytes(int from_rank, int to_rank, double bytes) {
  path_.clear();
  cluster_.network.route(cluster_.endpoint_of_rank[static_cast<std::size_t>(from_rank)],
                         cluster_.endpoint_of_rank[static_cast<std::size_t>(to_rank)], path_);
  for (const LinkId id : path_) link_bytes_[static_cast<std::size_t>(id)] += bytes;
}

void Transport::flow(int from_rank, int to_rank, double bytes, std::function<void()> done) {
  CHECK(bytes > 0, "an empty flow");
  if (bytes > kLargestFlow_bytes)
    throw RunError(fmt::format("A message of {:.6g} bytes is larger than the {:g} that can be simulated.",
                               bytes, kLargestFlow_bytes));
  if (bytes / least_Bps_ > kLastInstant_s / 2)
    check_instant(now() + bytes * path(from_rank, to_rank, bytes).beta_s_per_byte);
  std::unique_ptr<Flow> flow;
  if (impl_->idle.empty()) {
    flow = std::make_unique<Flow>();
  } else {
    flow = std::move(impl_->idle.back());
    impl_->idle.pop_back();
  }
  flow->turn = {Turn::Kind::signal, to_rank, from_rank};
  flow->done = std::move(done);
  flow->comm = s4u::Comm::sendto_init(host(from_rank), host(to_rank))
                   ->set_payload_size(static_cast<std::uint64_t>(std::llround(bytes * kUnitsPerByte)));
  s4u::Comm* comm = flow->comm.get();
  comm->set_data(flow.release());  // taken back in on_completion
  ++flying_;
  if (slow_links_ > 0)
    start_unbounded(*comm, from_rank, to_rank);
  else
    comm->start();
}

void Transport::message(int from_rank, int to_rank, double bytes, double delay_s,
                        std::function<void()> done) {
  const Turn turn{Turn::Kind::signal, to_rank, from_rank};
  done = [this, from_rank, to_rank, bytes, done = std::move(done)] {
    count_bytes(from_rank, to_rank, bytes);  // what is under way when the run is over does not count
    done();
  };
  if (bytes <= 0)
    at(now() + delay_s, turn, std::move(done));
  else
    at(now() + delay_s, turn, [this, from_rank, to_rank, bytes, done = std::move(done)]() mutable {
      if (cluster_.network.between.burst_bytes > 0)
        pass_bucket(from_rank, to_rank, bytes, std::move(done));
      else
        flow(from_rank, to_rank, bytes, std::move(done));
    });
}

void Transport::pass_bucket(int from_rank, int to_rank, double bytes, std::function<void()> done) {
  const Network& network = cluster_.network;
  const int from = cluster_.endpoint_of_rank[static_cast<std::size_t>(from_rank)],
            to = cluster_.endpoint_of_rank[static_cast<std::size_t>(to_rank)];
  if (!network.has_bucket(from, to)) return flow(from_rank, to_rank, bytes, std::move(done));
  BucketLevel& bucket =
      buckets_.try_emplace(network.bucket_link(from, to), network.between.bucket()).first->second;
  const TokenBucket::Passage passage = bucket.take(now(), bytes);
  if (passage.flowing_bytes <= 0)
    return at(now() + passage.wait_s, {Turn::Kind::signal, to_rank, from_rank}, std::move(done));
  flow(from_rank, to_rank, passage.flowing_bytes, [this, &bucket, done = std::move(done)] {
    bucket.ended(now());
    done();
  });
}

}  // namespace simsgd
