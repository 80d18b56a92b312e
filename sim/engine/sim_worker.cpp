#include "sim/engine/sim_worker.hpp"

#include <simgrid/s4u.hpp>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/learn/factors.hpp"
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
  if (local_s_ > world_.transport.now()) simgrid::s4u::this_actor::sleep_until(local_s_);
  local_s_ = std::max(local_s_, world_.transport.now());
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
  if (step_ > 0) end_step();
  if (world_.ordered()) settle();
  World& world = world_;
  if (!world.stopping &&
      (local_s_ >= world.job.stop.time_s || (world.job.target.stop && world.curve.target_met()))) {
    world.stopping = true;
  }
  if (step_ >= world.job.stop.steps || (world.stopping && step_ >= world.last_step)) return false;
  ++step_;
  world.last_step = std::max(world.last_step, step_);
  mini_batches_ = 0;
  step_begin_s_ = local_s_;
  ledger_.begin_step(local_s_);
  return true;
}

void SimWorker::end_step() {
  if (outages_) write_checkpoint();
  world_.step_times.add(ledger_.end_step(local_s_));
  world_.timeline.step(rank_, step_, step_begin_s_, local_s_);
  world_.curve.completed(rank_, step_, local_s_, state_.parameters);
  if (rank_ == 0 && world_.progress) world_.progress(step_);
}

void SimWorker::spend(Activity activity, double seconds) {
  CHECK(seconds >= 0, "time was to be spent backwards");
  finish_backward();
  const double from = local_s_;
  if (occupies_device(activity)) {
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

// Computing
// ------------------------------------------------------------------------------------------------------

// Of the next of the parts that this step is computed in.
SimWorker::StepCost SimWorker::cost_of_mini_batch(int parts) {
  const Job& job = world_.job;
  StepCost cost;
  cost.scale = 1.0 / job.cluster.speed_of_rank(rank_);
  if (job.workload.compute_factor.kind != Distribution::Kind::constant) {
    Stream draws({job.seed, Purpose::compute_time, static_cast<std::uint32_t>(rank_), step_});
    cost.scale *= job.workload.compute_factor.draw(draws);
  } else {
    cost.scale *= job.workload.compute_factor.quantile(0.5);
  }
  if (!job.stragglers.empty()) {
    const double nominal = job.workload.micro_batches * (world_.forward_s + world_.backward_s) * cost.scale;
    const Straggle straggle = job.stragglers.at({.seed = job.seed,
                                                 .rank = rank_,
                                                 .workers = size(),
                                                 .step = step_,
                                                 .nominal_compute_s = nominal,
                                                 .mini_batch = mini_batches_,
                                                 .mini_batches = static_cast<std::uint32_t>(parts)});
    cost.delay_s = straggle.delay_s;
    cost.straggle = straggle.factor;
  }
  ++mini_batches_;
  return cost;
}

// Advances the clock by `seconds` of computing, and by what communication beside it adds, which is booked;
// returns the rest of the time.
double SimWorker::work(double seconds) {
  const double from = local_s_;
  if (!slowdown_.felt_at(from)) {
    local_s_ += seconds;
    return local_s_ - from;
  }
  double added = 0;
  local_s_ = slowdown_.end_of(from, seconds, [&](Traffic traffic, double more_s) {
    ledger_.slowed(traffic, more_s);
    added += more_s;
  });
  return local_s_ - from - added;
}

// Advances the clock by a stretch of computing; what stragglers add to its nominal time is booked apart.
void SimWorker::compute(double nominal_s, const StepCost& cost) {
  const double spent = work(nominal_s * cost.scale * cost.straggle);
  const double nominal = cost.straggle > 1 ? std::min(spent, nominal_s * cost.scale) : spent;
  ledger_.book(Activity::compute, nominal);
  if (spent > nominal) ledger_.book(Activity::straggle, spent - nominal);
}

// Layer by layer, where somebody wants to know; the last micro-batch only.
void SimWorker::compute_forward(const ComputeOptions& options, const StepCost& cost) {
  const Workload& workload = world_.job.workload;
  const double from = local_s_;
  if (options.before_forward) {
    for (std::size_t layer = 0; layer < workload.layers.size(); ++layer) {
      options.before_forward(static_cast<int>(layer));
      compute(workload.layers[layer].forward_s, cost);
    }
  } else {
    compute(world_.forward_s, cost);
  }
  world_.timeline.compute(rank_, "forward", from, local_s_);
}

void SimWorker::compute_backward(const ComputeOptions& options, const StepCost& cost,
                                 const Values& gradient) {
  const double from = local_s_;
  const double slow = cost.scale * cost.straggle;
  const double overlap_s = std::min(world_.job.cluster.host.overlap_s, world_.backward_s * slow);
  const double stop_s = world_.backward_s - overlap_s / slow;  // nominal: where what follows begins
  double done_s = 0;                                           // nominal
  if (options.gradient_ready) {
    const std::size_t calls = options.ready_at.empty() ? world_.tensors.size() : options.ready_at.size();
    for (std::size_t call = 0; call < calls; ++call) {
      const std::size_t place = options.ready_at.empty() ? call : options.ready_at[call];
      const double ready_s = std::min(world_.tensor_ready_s[place], stop_s);
      compute(ready_s - done_s, cost);
      done_s = ready_s;
      options.gradient_ready(world_.tensors[place], gradient);
    }
  }
  compute(stop_s - done_s, cost);
  backward_end_s_ = local_s_ + overlap_s;
  backward_straggle_share_ = cost.straggle > 1 ? 1 - 1 / cost.straggle : 0;
  world_.timeline.compute(rank_, "backward", from, backward_end_s_);
}

// Nothing else is left to do until the backward pass is through.
void SimWorker::finish_backward() {
  if (backward_end_s_ <= local_s_) return;
  book_tail(local_s_, backward_end_s_);
  local_s_ = backward_end_s_;
  if (serves_) settle();
}

// Books what the end of the backward pass did in [from_s, to_s]; returns where its time ended.
double SimWorker::book_tail(double from_s, double to_s) {
  const double end = std::min(to_s, backward_end_s_);
  if (end <= from_s) return from_s;
  const double straggle = (end - from_s) * backward_straggle_share_;
  ledger_.book(Activity::straggle, straggle);
  ledger_.book(Activity::compute, end - from_s - straggle);
  return end;
}

Values SimWorker::submit_gradient(const ComputeOptions& options, const Values& model) {
  const Learner* learner = world_.job.learner.get();
  if (!learner) {
    if (options.factors) options.factors({});
    return {};
  }
  const std::uint64_t step = options.batch > 0 ? options.batch : step_;
  if (options.factors) {
    GradientAndFactors both =
        submit_gradient_and_factors(world_.executor, *learner, model,
                                    {.rank = rank_, .step = step, .part = options.part, .parts = options.parts});
    options.factors(both.factors);
    return both.gradient;
  }
  const int rank = rank_, part = options.part, parts = options.parts;
  Values gradient = world_.executor.submit({model}, [=](Tensor& out, auto in) {
    out.values.resize(in[0]->values.size());
    out.scalars = {learner->gradient(in[0]->values, learner->samples(rank, step, part, parts), out.values)};
  });
  return gradient;
}

Values SimWorker::compute_gradient(const ComputeOptions& options) {
  const Workload& workload = world_.job.workload;
  finish_backward();
  const StepCost cost = cost_of_mini_batch(options.parts);
  if (outages_) live_through(seconds_of(options, cost));
  Values gradient = submit_gradient(options, state_.parameters);
  world_.curve.loss(rank_, step_, gradient);
  ledger_.used_samples(static_cast<double>(workload.batch) / options.parts);
  if (cost.delay_s > 0) spend(Activity::straggle, cost.delay_s);
  StepCost part = cost;
  part.scale /= options.parts;
  const double earlier_s = (workload.micro_batches - 1) * (world_.forward_s + world_.backward_s);
  const double from = local_s_;
  compute(earlier_s, part);
  world_.timeline.compute(rank_, "micro-batches", from, local_s_);
  compute_forward(options, part);
  compute_backward(options, part, gradient);
  if (serves_) settle();
  return gradient;
}

Handle SimWorker::start_gradient(const ComputeOptions& options) {
  CHECK(!running_.pending, "a worker computes one gradient at a time");
  finish_backward();
  settle();
  const StepCost cost = cost_of_mini_batch(options.parts);
  running_.pending = std::make_shared<SimPending>();
  running_.seconds = seconds_of(options, cost);
  running_.start_s = running_.compute_s = local_s_;
  if (outages_) running_.outages = outages_->during(local_s_, running_.seconds);
  const bool goes_back = !running_.outages.empty() && outages_->recovery() == Recovery::rejoin;
  running_.pending->result =
      submit_gradient(options, goes_back ? checkpoint_.parameters : state_.parameters);
  if (!running_.outages.empty()) running_.compute_s = running_.outages.back().ready_s;
  running_.compute_s += cost.delay_s;
  running_.straggle_share = cost.straggle > 1 ? 1 - 1 / cost.straggle : 0;
  running_.options = options;
  running_.pending->complete(running_.compute_s + running_.seconds - cost.delay_s);
  return running_.pending;
}

void SimWorker::cancel(const Handle& gradient) {
  CHECK(running_.pending && gradient == running_.pending, "only a running gradient can be cancelled");
  settle();
  const std::vector<Outages::Outage> outages = std::move(running_.outages);
  running_ = {};
  for (const Outages::Outage& outage : outages) {
    if (outage.crash_s > local_s_) break;
    pass(outage);
  }
}

void SimWorker::apply(const Values& gradient) {
  if (!gradient) return;
  const OptimizerSpec& optimizer = world_.job.optimizer;
  state_ = sgd_step(world_.executor, optimizer, optimizer.learning_rate.at(step_), state_, gradient);
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
  local_s_ = std::max(local_s_, pending.end_s);
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
      if (pending.end_s <= world_.transport.now()) {
        local_s_ = world_.transport.now();
        book_wait(pending, from, local_s_);
        return i;
      }
      earliest = std::min(earliest, pending.end_s);
    }
    for (const Handle& handle : handles) pending_of(handle).waiter = this;
    if (earliest != SimPending::kUnknown) world_.transport.at(earliest, [this] { wake(); });
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
  return pending_of(handle).end_s <= world_.transport.now();
}

Values SimWorker::result(const Handle& handle) {
  if (running_.pending && handle == running_.pending) {
    world_.curve.loss(rank_, step_, running_.pending->result);
    ledger_.used_samples(static_cast<double>(world_.job.workload.batch) / running_.options.parts);
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
    world_.transport.at(end_s, [this, action] { set_background(action); });
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
