#include "sim/engine/sim_roles.hpp"

#include "sim/base/check.hpp"
#include "sim/base/instants.hpp"
#include "sim/roles/messages.hpp"

namespace simsgd {

namespace {

void check_peer(int peer, int rank, int workers) {
  CHECK(peer >= 0 && peer < workers && peer != rank, "a message to or from nobody, or oneself");
}

}  // namespace

// Messages
// -----------------------------------------------------------------------------------------------------------

Handle<Nothing> SimMessages::begin_send(int to, int tag, Message message) {
  check_peer(to, rank_, world_.job.workers());
  clock_.settle();
  world_.observers.tell(Topic::time, &Observer::sent, rank_, message.traffic, message.bytes);
  return world_.mailroom.send(rank_, to, tag, std::move(message));
}

Handle<Message> SimMessages::start_receive(int from, int tag) {
  check_peer(from, rank_, world_.job.workers());
  clock_.settle();
  return world_.mailroom.receive(from, rank_, tag);
}

// Collectives
// -----------------------------------------------------------------------------------------------------------

SimCollectives::SimCollectives(int rank, World& world, SimClock& clock)
    : Collectives(clock), rank_(rank), world_(world), clock_(clock) {
  if (world.job.cluster.handover.blocking) clock.before_waiting([this] { release(); });
}

void SimCollectives::begin(AnyCollective&& collective, CollectiveSlot slot) {
  if (world_.job.cluster.handover.blocking && !clock_.is_in_background())
    held_.push_back({std::move(collective), std::move(slot)});
  else
    begin_now(std::move(collective), std::move(slot));
}

void SimCollectives::begin_now(AnyCollective&& collective, CollectiveSlot slot) {
  if (clock_.is_slowed_by_communication()) {
    const Negotiator::Expected expected = world_.negotiator.expect(rank_, clock_.now(), collective);
    clock_.communicates({.channel = world_.negotiator.ledger_channel(collective),
                         .at_s = clock_.now(),
                         .seconds = expected.seconds,
                         .traffic = options_of(collective).traffic,
                         .begin_s = expected.begin_s});
  }
  world_.negotiator.start(rank_, clock_.now(), std::move(collective), std::move(slot));
}

void SimCollectives::release() {
  for (Held& each : std::exchange(held_, {})) begin_now(std::move(each.collective), std::move(each.slot));
}

// Background
// -----------------------------------------------------------------------------------------------------------

void SimBackground::serve(int tag, std::function<void(const Message&)> handler) {
  clock_.serves();
  clock_.settle();
  handlers_[tag] = std::move(handler);
}

void SimBackground::begin_post(int to, int tag, Message message) {
  check_peer(to, rank_, world_.job.workers());
  clock_.settle();
  message.from = rank_;
  world_.observers.tell(Topic::time, &Observer::sent, rank_, message.traffic, message.bytes);
  SimBackground* receiver = others_[static_cast<std::size_t>(to)];
  world_.mailroom.post(rank_, to, std::move(message),
                       [receiver, tag](const Message& arrived) { receiver->deliver(tag, arrived); });
}

void SimBackground::deliver(int tag, const Message& message) {
  const auto handler = handlers_.find(tag);
  CHECK(handler != handlers_.end(), "a message was posted to a rank that does not serve its tag");
  clock_.in_background([&] { handler->second(message); });
}

void SimBackground::then(Awaited handle, std::function<void()> action) {
  clock_.serves();
  CHECK(handle.pending() != nullptr, "an action after nothing");
  const auto schedule = [this, action = std::move(action)](double end_s) {
    world_.transport.at(end_s, {Turn::Kind::signal, rank_}, [this, action] { clock_.in_background(action); });
  };
  if (handle.pending()->known())
    schedule(handle.pending()->end_s);
  else
    handle.pending()->on_known.push_back(schedule);
}

bool SimBackground::hear(int tag, std::function<void(std::uint64_t)> heard) {
  if (!world_.flooding.by_recurrence()) return false;
  clock_.serves();
  clock_.settle();
  world_.flooding.hear(rank_, tag, [this, heard = std::move(heard)](std::uint64_t number) {
    clock_.in_background([&] { heard(number); });
  });
  return true;
}

void SimBackground::flood(int tag, std::uint64_t number) {
  clock_.settle();
  world_.flooding.flood(rank_, tag, number);
}

Handle<Nothing> SimBackground::start_timer(double seconds) {
  const Handle<Nothing> timer = make_event();
  timer.pending()->end_s = clock_.now() + seconds;
  return timer;
}

void SimBackground::signal(const Handle<Nothing>& event) {
  clock_.settle();
  Pending& pending = *event.pending();
  if (!pending.known()) pending.complete(world_.transport.now());
}

// Preemption
// -----------------------------------------------------------------------------------------------------------

Handle<RunningGradient> SimPreemption::start(const GradientOptions& options) {
  CHECK(!running_, "a worker computes one gradient at a time");
  clock_.finish_beside();
  clock_.settle();
  const StepCost cost = compute_.next_cost(options.part.count);
  running_ = Handle<RunningGradient>::make();
  part_ = options.part;
  seconds_ = compute_.seconds_of(options.part, cost);
  const Crashes* crashes = compute_.crashes();
  outages_ = crashes ? crashes->during(clock_.now(), seconds_) : std::vector<Crashes::Outage>();
  const bool goes_back = !outages_.empty() && crashes->recovery() == Recovery::rejoin;
  running_.pending()->result.gradient =
      compute_.submit(options, goes_back ? compute_.checkpoint().parameters : replica_.parameters());
  const double begin_s = (outages_.empty() ? clock_.now() : outages_.back().ready_s) + cost.delay_s;
  const double end_s = begin_s + seconds_ - cost.delay_s;
  clock_.works_on({begin_s, end_s, cost.straggle > 1 ? 1 - 1 / cost.straggle : 0, "micro-batch"});
  running_.pending()->complete(end_s);
  return running_;
}

void SimPreemption::cancel(const Handle<RunningGradient>& gradient) {
  CHECK(running_ && gradient == running_, "only a running gradient can be cancelled");
  clock_.settle();
  running_ = {};
  clock_.works_on({});
  for (const Crashes::Outage& outage : std::exchange(outages_, {})) {
    if (outage.crash_s > clock_.now()) break;
    clock_.outage(outage.ready_s, [&] { compute_.restart(outage); });
  }
}

Tensor SimPreemption::take(const Handle<RunningGradient>& gradient) {
  CHECK(running_ && gradient == running_, "a gradient that is not this worker's");
  running_ = {};
  clock_.works_on({});
  compute_.use(part_, gradient.result().gradient);
  for (const Crashes::Outage& outage : std::exchange(outages_, {})) compute_.restart(outage);
  if (compute_.crashes()) compute_.crashes()->computed(seconds_);
  return gradient.result().gradient;
}

void SimPreemption::record_outages_until(double over_s) {
  for (const Crashes::Outage& outage : std::exchange(outages_, {}))
    if (not_after(outage.crash_s, over_s)) compute_.crashes()->record(outage);
}

}  // namespace simsgd
