#include "sim/engine/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/instants.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

Transport::Transport(const Cluster& cluster, MakeTimeKeeper make_time)
    : cluster_(cluster),
      link_bytes_(cluster.network.links.size(), 0.0),
      time_(make_time(cluster, {[this] { serve(); }, [this](std::uint32_t number) { flow_ended(number); }})) {
  for (const Link& link : cluster.network.links) least_Bps_ = std::min(least_Bps_, link.bandwidth_Bps);
}

// Time
// -----------------------------------------------------------------------------------------------------------

double Transport::now() const {
  const double clock_s = time_->clock_s();
  return before(instant_s_, clock_s) ? clock_s : instant_s_;
}

void Transport::check_instant(double time_s) const {
  if (time_s <= kLastInstant_s) return;
  throw RunError(fmt::format(
      "The simulated time overflows: an activity that begins at {:.6g} s would last until {:.6g} s, and a run can last {:g} s. Look for a delay, latency or bandwidth of the wrong magnitude.",
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
  const double now_s = now();
  agenda_.put(std::max(time_s, now_s), turn, std::move(action), now_s);
  arm();
}

// Signals that have to wait go on at the next number after the clock, which is not negative.
void Transport::arm() {
  const double clock_s = time_->clock_s();
  time_->arm(agenda_.more_due() ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(clock_s) + 1)
                                : std::max(agenda_.next_s(), clock_s));
}

// Signals wait until the workers that were woken have done what they do at this instant, and until it is
// known which flows end at it: both come after what is served. Who looks on waits for what comes of signals
// too.
void Transport::serve() {
  const double next_s = agenda_.next_s();
  CHECK(next_s != std::numeric_limits<double>::infinity(), "a timer without anything on the agenda");
  double clock_s = time_->clock_s();
  const bool flows_may_end = before(instant_s_, next_s) && flying_ > 0;
  if (flows_may_end) wait_s_ = clock_s;
  instant_s_ = before(instant_s_, next_s) ? next_s : instant_s_;
  const Turn::Kind latest = clock_s <= wait_s_     ? Turn::Kind::completion
                            : clock_s <= served_s_ ? Turn::Kind::signal
                                                   : Turn::Kind::after;
  agenda_.take(instant_s_, latest, batch_);
  if (flows_may_end && batch_.actions.empty() && time_->tick(instant_s_)) {  // none does
    clock_s = time_->clock_s();
    agenda_.take(instant_s_, Turn::Kind::after, batch_);
  }
  if (batch_.kind == Turn::Kind::completion) wait_s_ = clock_s;
  if (batch_.kind != Turn::Kind::after && !batch_.actions.empty()) served_s_ = clock_s;
  to_serve_ = batch_.actions.size();
  for (const Agenda::Action& action : batch_.actions) {
    --to_serve_;
    action();
  }
  if (agenda_.next_s() != std::numeric_limits<double>::infinity()) arm();
}

// Messages
// -----------------------------------------------------------------------------------------------------------

PathCost Transport::path(int from_rank, int to_rank, double bytes) const {
  return cluster_.network.sized_cost(cluster_.endpoint_of_rank[static_cast<std::size_t>(from_rank)],
                                     cluster_.endpoint_of_rank[static_cast<std::size_t>(to_rank)], bytes);
}

void Transport::message(int from_rank, int to_rank, double bytes, double delay_s,
                        std::function<void()> done) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(messages_.size()));
    messages_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  Sent& message = messages_[number];
  message.from_rank = from_rank;
  message.to_rank = to_rank;
  message.bytes = bytes;
  message.done = std::move(done);
  message.path.clear();
  message.bucket = nullptr;
  if (bytes <= 0)
    at(now() + delay_s, message.turn(), [this, number] { arrived(number); });
  else
    at(now() + delay_s, message.turn(), [this, number] { begin(number); });
}

void Transport::begin(std::uint32_t number) {
  Sent& message = messages_[number];
  cluster_.network.route(cluster_.endpoint_of_rank[static_cast<std::size_t>(message.from_rank)],
                         cluster_.endpoint_of_rank[static_cast<std::size_t>(message.to_rank)], message.path);
  double bytes = message.bytes;
  if (pass_bucket(number, bytes)) start_flow(number, bytes);
}

// Leaves the bytes that flow; false: none does, and its arrival is on the agenda.
bool Transport::pass_bucket(std::uint32_t number, double& bytes) {
  const Network& network = cluster_.network;
  Sent& message = messages_[number];
  const int from = cluster_.endpoint_of_rank[static_cast<std::size_t>(message.from_rank)],
            to = cluster_.endpoint_of_rank[static_cast<std::size_t>(message.to_rank)];
  if (!network.has_bucket(from, to)) return true;
  BucketLevel& bucket =
      buckets_.try_emplace(network.bucket_link(from, to), network.between.bucket()).first->second;
  const TokenBucket::Passage passage = bucket.take(now(), bytes);
  bytes = passage.flowing_bytes;
  if (bytes > 0) {
    message.bucket = &bucket;
    return true;
  }
  at(now() + passage.wait_s, message.turn(), [this, number] { arrived(number); });
  return false;
}

void Transport::start_flow(std::uint32_t number, double bytes) {
  const Sent& message = messages_[number];
  if (bytes > kLargestFlow_bytes)
    throw RunError(
        fmt::format("A message of {:.6g} bytes is larger than {:g} bytes, the most that can be simulated.",
                    bytes, kLargestFlow_bytes));
  if (bytes / least_Bps_ > kLastInstant_s / 2)
    check_instant(now() + bytes * path(message.from_rank, message.to_rank, bytes).beta_s_per_byte);
  ++flying_;
  time_->start({number, message.from_rank, message.to_rank, message.path, whole_units(bytes)});
}

double Transport::whole_units(double bytes) {
  return static_cast<double>(std::llround(bytes * kUnitsPerByte)) / kUnitsPerByte;
}

bool Transport::is_quiet_until(double time_s) const {
  return flying_ == 0 && to_serve_ == 0 && !slowed_ && before(time_s, agenda_.next_s()) &&
         time_->fibers_wait();
}

void Transport::have_passed(std::uint64_t events, const std::vector<std::pair<LinkId, double>>& bytes) {
  events_ += events;
  for (const auto& [link, carried] : bytes) link_bytes_[static_cast<std::size_t>(link)] += carried;
}

void Transport::flow_ended(std::uint32_t number) {
  --flying_;
  at(now(), messages_[number].turn(), [this, number] { arrived(number); });
}

void Transport::arrived(std::uint32_t number) {
  Sent& message = messages_[number];
  // What is under way when the run is over does not count.
  for (const LinkId id : message.path) link_bytes_[static_cast<std::size_t>(id)] += message.bytes;
  if (message.bucket) message.bucket->ended(now());
  const std::function<void()> done = std::move(message.done);
  free_.push_back(number);
  done();
}

}  // namespace simsgd
