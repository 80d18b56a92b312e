#include "sim/engine/sim_worker.hpp"

#include <simgrid/s4u.hpp>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/instants.hpp"
#include "sim/message_precision.hpp"

namespace simsgd {

namespace {
// Collectives are booked from channel 1 on.
constexpr std::int32_t kMessageChannel = 0;

bool occupies_device(Activity activity) {
  return activity == Activity::compute || activity == Activity::selection || activity == Activity::factor ||
         activity == Activity::inverse;
}
}  // namespace

struct SimWorker::Sleeper {
  simgrid::s4u::SemaphorePtr semaphore = simgrid::s4u::Semaphore::create(0);
};

SimWorker::SimWorker(int rank, World& world)
    : rank_(rank),
      world_(world),
      slowdown_(world.job.cluster.device.communication_slowdown),
      sleeper_(std::make_unique<Sleeper>()) {
  state_.parameters = world.initial_model;
  completed_.model = state_.parameters;
  checkpoint_ = state_;
  if (world.job.failures.any())
    outages_ = std::make_unique<Outages>(world.job.failures, world.job.seed, rank);
}

SimWorker::~SimWorker() = default;

std::size_t SimWorker::model_size() const {
  return world_.job.learner ? world_.job.learner->parameters() : 0;
}

// Time
// -----------------------------------------------------------------------------------------------------------

double SimWorker::now() const { return in_background_ ? world_.transport.now() : local_s_; }

void SimWorker::settle() {
  if (in_background_) return;  // handlers are called by events: they are on time
  world_.transport.check_instant(local_s_);
  if (before(world_.transport.now(), local_s_)) {
    bool there = false;
    world_.transport.wake_at(local_s_, rank_, [&] {
      there = true;
      wake();
    });
    while (!there) sleeper_->semaphore->acquire();  // others may wake it, too
  }
  local_s_ = std::max<double>(local_s_, world_.transport.now());
}

void SimWorker::block() {
  CHECK(!in_background_, "a background handler tried to wait");
  blocked_ = true;
  sleeper_->semaphore->acquire();
  blocked_ = false;
}

void SimWorker::wake() { sleeper_->semaphore->release(); }

bool SimWorker::next_step() {
  finish_backward();
  if (step_ > 0 && outages_) write_checkpoint();
  world_.transport.check_instant(local_s_);
  if (world_.end.in_time_order()) settle();
  if (step_ > 0) end_step();
  if (world_.end.over_s()) block();  // until the run is taken down, at this instant
  if (!world_.end.goes_on(step_, local_s_)) return false;
  ++step_;
  world_.end.begun(step_);
  step_samples_ = 0;
  mini_batches_ = 0;
  step_begin_s_ = local_s_;
  ledger_.begin_step(local_s_);
  return true;
}

void SimWorker::end_step() {
  world_.step_times.add(ledger_.end_step(local_s_));
  world_.timeline.step(rank_, step_, step_begin_s_, local_s_);
  completed_ = {step_, state_.parameters};
  world_.curve.completed(rank_, step_, local_s_, state_.parameters);
  if (rank_ == 0 && world_.progress) world_.progress(step_);
  world_.end.completed(step_samples_, local_s_);
  if (!world_.job.target.stop) return;
  if (const std::optional<double> met_s = world_.curve.target_met_s()) world_.end.end(*met_s);
}

void SimWorker::use_samples(double share_of_batch) {
  const double samples = share_of_batch * world_.job.workload.batch;
  step_samples_ += samples;
  ledger_.used_samples(samples);
  world_.end.used(samples);
}

void SimWorker::spend(Activity activity, double seconds) {
  CHECK(seconds >= 0, "time was to be spent backwards");
  finish_backward();
  const double from = local_s_;
  if (occupies_device(activity)) {
    if (outages_) outages_->computed(seconds);
    ledger_.book(activity, work(seconds));
  } else {
    local_s_ += seconds;
    ledger_.book(activity, local_s_ - from);
  }
  if (world_.timeline.records(rank_)) {
    const std::string name = work_.empty() ? activity_name(activity) : std::exchange(work_, {});
    world_.timeline.compute(rank_, name.c_str(), from, local_s_);
  }
  if (serves_) settle();
}

// Messages and collectives
// ---------------------------------------------------------------------------------------

Handle SimWorker::start_send(int to, int tag, Message message) {
  CHECK(to >= 0 && to < size() && to != rank_, "a message to nobody, or to oneself");
  settle();
  message.values = rounded_to(world_.executor, message.values, world_.job.network.precision);
  ledger_.sent(message.traffic, message.bytes);
  std::shared_ptr<SimPending> pending = world_.mailroom.send(rank_, to, tag, std::move(message));
  pending->channel = kMessageChannel;
  return pending;
}

Handle SimWorker::start_receive(int from, int tag) {
  CHECK(from >= 0 && from < size() && from != rank_, "a message from nobody, or from oneself");
  settle();
  std::shared_ptr<SimPending> pending = world_.mailroom.receive(from, rank_, tag);
  pending->channel = kMessageChannel;
  return pending;
}

Handle SimWorker::start(Collective collective) {
  const Precision precision = world_.job.network.precision;
  if (collective.op != Collective::Op::all_reduce || precision != Precision::fp32) {
    collective.contribution = contribution_of(world_.executor, collective, precision);
    collective.entries.reset();
  }
  if (slowdown_.active())
    slowdown_.started({.channel = world_.collectives.ledger_channel(collective.group, collective.channel),
                       .at_s = now(),
                       .seconds = world_.collectives.predict(rank_, collective),
                       .traffic = collective.traffic});
  return world_.collectives.start(rank_, now(), std::move(collective));
}

// Completion
// -----------------------------------------------------------------------------------------------------

SimPending& SimWorker::pending_of(const Handle& handle) {
  CHECK(handle != nullptr, "waiting for nothing");
  return static_cast<SimPending&>(*handle);
}

void SimWorker::wait(const Handle& handle) {
  SimPending& pending = pending_of(handle);
  while (!pending.known()) {
    pending.waiter = this;
    block();
    pending.waiter = nullptr;
  }
  const double from = local_s_;
  local_s_ = std::max<double>(local_s_, pending.end_s);
  book_wait(pending, from, local_s_);
  if (serves_) settle();
}

std::size_t SimWorker::wait_any(std::span<const Handle> handles) {
  CHECK(!handles.empty(), "waiting for any of nothing");
  const double from = local_s_;
  settle();
  while (true) {
    double earliest = SimPending::kUnknown;
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const SimPending& pending = pending_of(handles[i]);
      if (not_after(pending.end_s, world_.transport.now())) {
        local_s_ = std::max<double>({local_s_, pending.end_s, world_.transport.now()});
        book_wait(pending, from, local_s_);
        return i;
      }
      earliest = std::min(earliest, pending.end_s);
    }
    for (const Handle& handle : handles) pending_of(handle).waiter = this;
    if (earliest != SimPending::kUnknown)
      world_.transport.at(earliest, {Turn::Kind::completion, rank_}, [this] { wake(); });
    block();
    for (const Handle& handle : handles) pending_of(handle).waiter = nullptr;
  }
}

// The main thread waited for `pending`; while a gradient was being computed meanwhile, that is what it did.
void SimWorker::book_wait(const SimPending& pending, double from_s, double to_s) {
  const double after = book_running(book_tail(from_s, to_s), to_s);
  ledger_.wait(pending.channel, after, to_s);
  world_.timeline.wait(rank_, after, to_s);
}

// Books what the running gradient did in [from_s, to_s]; returns where its time ended.
double SimWorker::book_running(double from_s, double to_s) {
  if (!running_.pending || running_.pending->end_s <= from_s) return from_s;
  const double end = std::min(to_s, running_.pending->end_s);
  const double delayed = std::clamp(running_.compute_s, from_s, end);
  const double straggle = (end - delayed) * running_.straggle_share;
  ledger_.book(Activity::straggle, delayed - from_s + straggle);
  ledger_.book(Activity::compute, end - delayed - straggle);
  world_.timeline.compute(rank_, "mini-batch", from_s, end);
  return end;
}

bool SimWorker::done(const Handle& handle) {
  settle();
  return not_after(pending_of(handle).end_s, world_.transport.now());
}

Values SimWorker::result(const Handle& handle) {
  if (running_.pending && handle == running_.pending) {
    world_.curve.loss(rank_, step_, running_.pending->result);
    use_samples(1.0 / running_.options.parts);
    for (const Outages::Outage& outage : running_.outages) crash(outage);
    if (outages_) outages_->computed(running_.seconds);
    running_ = {};
  }
  return pending_of(handle).result;
}
std::vector<Values> SimWorker::gathered(const Handle& handle) { return pending_of(handle).gathered; }
Message SimWorker::message(const Handle& handle) { return pending_of(handle).message; }

// Background
// -----------------------------------------------------------------------------------------------------

void SimWorker::set_background(const std::function<void()>& action) {
  const bool outer = std::exchange(in_background_, true);
  action();
  in_background_ = outer;
}

void SimWorker::serve(int tag, std::function<void(const Message&)> handler) {
  serves_ = true;
  settle();
  handlers_[tag] = std::move(handler);
}

void SimWorker::post(int to, int tag, Message message) {
  CHECK(to >= 0 && to < size() && to != rank_, "a message to nobody, or to oneself");
  settle();
  message.values = rounded_to(world_.executor, message.values, world_.job.network.precision);
  message.from = rank_;
  ledger_.sent(message.traffic, message.bytes);
  SimWorker* receiver = (*world_.workers)[static_cast<std::size_t>(to)].get();
  world_.mailroom.post(rank_, to, std::move(message),
                       [receiver, tag](const Message& arrived) { receiver->deliver(tag, arrived); });
}

void SimWorker::deliver(int tag, const Message& message) {
  const auto handler = handlers_.find(tag);
  CHECK(handler != handlers_.end(), "a message was posted to a rank that does not serve its tag");
  set_background([&] { handler->second(message); });
}

void SimWorker::then(const Handle& handle, std::function<void()> action) {
  serves_ = true;
  SimPending& pending = pending_of(handle);
  const auto schedule = [this, action = std::move(action)](double end_s) {
    world_.transport.at(end_s, {Turn::Kind::signal, rank_}, [this, action] { set_background(action); });
  };
  if (pending.known())
    schedule(pending.end_s);
  else
    pending.on_known.push_back(schedule);
}

bool SimWorker::listen(int tag, std::function<void(std::uint64_t)> heard) {
  if (!world_.news.by_recurrence()) return false;
  serves_ = true;
  settle();
  world_.news.listen(rank_, tag, [this, heard = std::move(heard)](std::uint64_t number) {
    set_background([&] { heard(number); });
  });
  return true;
}

void SimWorker::spread(int tag, std::uint64_t number) {
  settle();
  world_.news.spread(rank_, tag, number);
}

Handle SimWorker::make_event() { return std::make_shared<SimPending>(); }

Handle SimWorker::start_timer(double seconds) {
  auto pending = std::make_shared<SimPending>();
  pending->end_s = now() + seconds;
  return pending;
}

void SimWorker::signal(const Handle& event) {
  settle();
  SimPending& pending = pending_of(event);
  if (!pending.known()) pending.complete(world_.transport.now());
}

}  // namespace simsgd
