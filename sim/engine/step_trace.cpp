#include "sim/engine/step_trace.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>

#include "sim/engine/sim_roles.hpp"

namespace simsgd {

namespace {

using StepAction = StepTrace::Action;
using StepKind = StepAction::Kind;

constexpr std::uint64_t kSteps = 3;  // the first, and two that have to be alike

struct Untraceable {};

// What is taken down: the actions since a step began, and the operations of all steps. Until the step ends,
// actions name operations by their place here.
struct Script {
  StepTrace::Actions actions;
  std::vector<AnyCollective> operations;
  std::vector<std::shared_ptr<Pending>> pending;  // of each: the handles that the method may still hold
  std::vector<GroupId> groups;
  std::size_t marks = 0;
  std::uint64_t step = 0;
  // What happens when an operation ends is done once something waits for it.
  struct Following {
    std::size_t operation;
    std::function<void()> action;
  };
  std::vector<Following> following;
  std::optional<std::size_t> ends;               // the operation at whose end all is done now
  std::map<const Pending*, std::size_t> events;  // by the operation at whose end they are signalled

  void put(const StepAction& action) { actions.push_back(action); }
  std::size_t place_of(Awaited handle) const {
    const auto found = std::find_if(pending.rbegin(), pending.rend(),
                                    [&](const auto& each) { return each.get() == handle.pending(); });
    if (found == pending.rend()) throw Untraceable();
    return static_cast<std::size_t>(pending.rend() - found) - 1;
  }
  void start(AnyCollective&& operation, std::shared_ptr<Pending> handle) {
    if (ends) {
      const auto after = std::find_if(actions.begin(), actions.end(), [&](const StepAction& each) {
        return each.starts() && each.index == *ends;
      });
      if (after == actions.end()) throw Untraceable();
      actions.insert(after + 1, {.kind = StepKind::start_after, .index = operations.size(), .index2 = *ends});
    } else {
      put({.kind = StepKind::start, .index = operations.size()});
    }
    operations.push_back(std::move(operation));
    pending.push_back(std::move(handle));
  }
  void wait(Awaited handle) {
    const auto event = events.find(handle.pending());
    if (event == events.end()) return put({.kind = StepKind::wait, .index = place_of(handle)});
    for (const Following& each : std::exchange(following, {})) {
      ends = each.operation;
      each.action();
    }
    ends.reset();
    if (event->second == SIZE_MAX) throw Untraceable();
    put({.kind = StepKind::wait_idly, .index = event->second});
    events.erase(event);
  }
};

/// The job at nominal speed, where nobody is late: what the tracing worker needs of it.
Job nominal_job(const Job& job) {
  Job nominal;
  nominal.seed = job.seed;
  nominal.cluster.gpus_per_node = job.cluster.gpus_per_node;
  nominal.cluster.device = job.cluster.device;
  nominal.cluster.endpoint_of_rank = job.cluster.endpoint_of_rank;
  nominal.workload = job.workload;
  nominal.workload.compute_factor = Workload().compute_factor;
  nominal.optimizer = job.optimizer;
  nominal.network.coding = job.coding();
  return nominal;
}

// The clock stands for marks: an instant is the number of the mark that was put there.
class TraceMachine final : public Machine, public Observer {
 public:
  TraceMachine(Script& script, const PassTimes& times, const Workload& workload)
      : script_(script), batch_(workload.batch), instants_s_(times.tensor_ready_s) {
    double end_s = 0;
    for (auto layer = workload.layers.rbegin(); layer != workload.layers.rend(); ++layer)
      instants_s_.push_back(end_s += layer->backward_s);
    for (double& each : instants_s_) each = std::min(each, times.backward_s);
    instants_s_.push_back(times.backward_s);
  }

  double now() const override {
    begin();
    if (delays_) script_.put({.kind = StepKind::delay});
    delays_ = false;
    script_.put({.kind = StepKind::mark, .index = script_.marks});
    return static_cast<double>(script_.marks++);
  }
  void compute(double seconds, double) override {
    if (in_backward_) {
      const double until_s = instant_s(seconds);
      if (until_s != done_s_) script_.put({.kind = StepKind::compute_until, .seconds = until_s});
      done_s_ = until_s;
    } else if (seconds != 0) {
      script_.put({.kind = StepKind::compute, .seconds = seconds});
    }
  }
  void spend(Activity activity, double seconds, const char* label) override {
    may_begin_ = false;
    script_.put({.kind = StepKind::spend, .activity = activity, .seconds = seconds, .label = label});
  }
  bool evaluates() const override { return false; }
  void evaluate(const Tensor&, Activity, double) override { throw Untraceable(); }
  double backward_overlap_s() const override {
    script_.put({.kind = StepKind::backward});
    in_backward_ = true;
    done_s_ = 0;
    return 0;
  }
  void compute_beside(double, double) override {
    script_.put({.kind = StepKind::backward_end});
    in_backward_ = false;
  }
  void finish_beside() override { may_begin_ = true; }
  void outage(double, const std::function<void()>&) override { throw Untraceable(); }
  void catch_up() override {}

  // What Compute tells.
  void gradient_used(int, std::uint64_t, const Tensor&, double samples) override {
    if (samples != batch_) throw Untraceable();
    begin();
    script_.put({.kind = StepKind::used});
  }
  void span(int, const char* name, double from_s, double to_s) override {
    script_.put({.kind = StepKind::span,
                 .index = static_cast<std::size_t>(from_s),
                 .index2 = static_cast<std::size_t>(to_s),
                 .label = name});
  }

 private:
  /// A gradient begins where the device has to be free, and nothing is spent then.
  void begin() const {
    if (!may_begin_) return;
    may_begin_ = false;
    delays_ = true;
    script_.put({.kind = StepKind::begin});
  }
  /// Of the backward pass: the one that is so long after the last.
  double instant_s(double seconds) const {
    const auto found = std::find_if(instants_s_.begin(), instants_s_.end(),
                                    [&](double each) { return each - done_s_ == seconds; });
    if (found == instants_s_.end()) throw Untraceable();
    return *found;
  }

  Script& script_;
  double batch_;
  std::vector<double> instants_s_;
  // Also changed where the machine is only asked.
  mutable bool may_begin_ = false, delays_ = false, in_backward_ = false;
  mutable double done_s_ = 0;
};

class TraceCollectives final : public Collectives {
 public:
  TraceCollectives(Completion& completion, World& world, Script& script)
      : Collectives(completion), world_(world), script_(script) {}
  GroupId group(const std::vector<int>& ranks) override {
    const GroupId group = world_.groups.intern(ranks);
    if (group != kWorld) script_.groups.push_back(group);
    return group;
  }

 protected:
  double predicted(const AnyCollective& collective) override {
    return world_.negotiator.predict(0, collective);
  }
  std::size_t members(GroupId group) const override { return world_.groups.ranks(group).size(); }
  void begin(AnyCollective&& collective, CollectiveSlot slot) override {
    script_.start(std::move(collective), std::move(slot.pending));
  }

 private:
  World& world_;
  Script& script_;
};

class NoMessages final : public Messages {
 public:
  using Messages::Messages;
  Handle<Message> start_receive(int, int) override { throw Untraceable(); }

 protected:
  Handle<Nothing> begin_send(int, int, Message) override { throw Untraceable(); }
};

class TraceBackground final : public Background {
 public:
  explicit TraceBackground(Script& script) : script_(script) {}
  void then(Awaited handle, std::function<void()> action) override {
    script_.following.push_back({script_.place_of(handle), std::move(action)});
  }
  Handle<Nothing> make_event() override {
    const Handle<Nothing> event = Handle<Nothing>::make();
    script_.events[event.pending().get()] = SIZE_MAX;
    return event;
  }
  void signal(const Handle<Nothing>& event) override {
    if (!script_.ends) throw Untraceable();
    script_.events[event.pending().get()] = *script_.ends;
  }
  void serve(int, std::function<void(const Message&)>) override { throw Untraceable(); }
  bool hear(int, std::function<void(std::uint64_t)>) override { throw Untraceable(); }
  void flood(int, std::uint64_t) override { throw Untraceable(); }
  Handle<Nothing> start_timer(double) override { throw Untraceable(); }

 protected:
  void begin_post(int, int, Message) override { throw Untraceable(); }

 private:
  Script& script_;
};

/// What is said before the first step.
class Sayings final : public Observer {
 public:
  Sayings(StepTrace& trace, const Script& script) : trace_(trace), script_(script) {}
  void staleness(int, double) override { throw Untraceable(); }
  void table(int, const RecordTable& table) override {
    if (script_.step > 0) throw Untraceable();
    trace_.tables.push_back(table);
  }
  void number(int, const std::string& name, double value) override {
    if (script_.step > 0) throw Untraceable();
    trace_.numbers[name] = value;
  }

 private:
  StepTrace& trace_;
  const Script& script_;
};

class TraceWorker final : public Worker {
 public:
  TraceWorker(const Job& nominal, World& world, int rank, std::uint64_t steps, StepTrace& trace)
      : Worker(nominal, rank, world.executor),
        steps_(steps),
        machine_(script_, world.times, nominal.workload),
        sayings_(trace, script_),
        replica_(world.executor, nominal.optimizer, {},
                 [this](const Tensor& parameters, double share) { compute_.update(parameters, share); }),
        compute_(nominal, world.times, rank, world.executor, machine_, replica_, observers_),
        messages_(*this),
        collectives_(*this, world, script_),
        background_(script_),
        recorder_(rank, observers_) {
    observers_.attach(machine_, {Topic::drawing, Topic::steps});
    observers_.attach(sayings_, {Topic::said});
    compose({&replica_, &compute_, &messages_, &collectives_, &recorder_, &background_});
  }

  double now() const override { throw Untraceable(); }
  std::uint64_t step() const override { return script_.step; }
  bool next_step() override {
    compute_.finish_step();
    end_step();
    if (script_.step == steps_) return false;
    compute_.begin_step(++script_.step);
    return true;
  }
  void wait(Awaited handle) override { script_.wait(handle); }
  std::size_t wait_any(std::span<const Awaited>) override { throw Untraceable(); }
  bool done(Awaited) override { throw Untraceable(); }

  /// Before the first step, of each step, and after the last: to be taken when the method has returned.
  std::vector<StepTrace::Actions> parts() {
    end_step();
    return std::move(parts_);
  }
  std::vector<AnyCollective> operations() { return std::move(script_.operations); }
  std::vector<GroupId> groups() { return std::move(script_.groups); }
  std::size_t most_marks() const { return most_marks_; }

 private:
  void end_step() {
    if (!script_.following.empty()) throw Untraceable();
    numbers_.resize(script_.operations.size());
    for (StepAction& action : script_.actions) {
      if (action.kind == StepKind::wait || action.kind == StepKind::wait_idly)
        action.index = started_ - numbers_[action.index];
      if (action.kind == StepKind::start_after) action.index2 = started_ - numbers_[action.index2];
      if (action.starts()) numbers_[action.index] = started_++;
    }
    most_marks_ = std::max(most_marks_, script_.marks);
    script_.marks = 0;
    parts_.push_back(std::exchange(script_.actions, {}));
  }

  std::uint64_t steps_;
  Script script_;
  std::vector<std::size_t> numbers_;  // of operations by place: the order in which they are started
  std::size_t started_ = 0;
  std::vector<StepTrace::Actions> parts_;
  std::size_t most_marks_ = 0;
  TraceMachine machine_;
  Sayings sayings_;
  Observers observers_;
  Replica replica_;
  Compute compute_;
  NoMessages messages_;
  TraceCollectives collectives_;
  TraceBackground background_;
  Recorder recorder_;
};

auto said_of(const AnyCollective& each) {
  const CollectiveOptions& options = options_of(each);
  return std::tuple(op_of(each), options.bytes, options.traffic, options.tensors, options.group,
                    options.channel, options.schedule, root_of(each), options.times);
}

bool alike(const AnyCollective& a, const AnyCollective& b) {
  return op_of(a) != CollectiveOp::custom && said_of(a) == said_of(b);
}

bool alike(const std::vector<AnyCollective>& operations, const StepTrace::Actions& a,
           const StepTrace::Actions& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const StepAction& one, const StepAction& other) {
                      if (!one.starts()) return one == other;
                      return one.kind == other.kind && one.index2 == other.index2 &&
                             alike(operations[one.index], operations[other.index]);
                    });
}

std::size_t longest_wait(const StepTrace::Actions& actions) {
  std::size_t longest = 0;
  for (const StepAction& action : actions)
    if (action.kind == StepKind::wait || action.kind == StepKind::wait_idly)
      longest = std::max(longest, action.index);
    else if (action.kind == StepKind::start_after)
      longest = std::max(longest, action.index2);
  return longest;
}

// Each operation once, however often it is started.
void put_operations(const std::vector<AnyCollective>& all, StepTrace& trace) {
  std::map<decltype(said_of(all.front())), std::size_t> places;
  for (StepTrace::Actions* actions : {&trace.steps.first, &trace.steps.others, &trace.steps.after})
    for (StepAction& action : *actions) {
      if (!action.starts()) continue;
      const AnyCollective& operation = all[action.index];
      const auto [place, fresh] = places.try_emplace(said_of(operation), trace.operations.size());
      action.index = place->second;
      if (!fresh && op_of(operation) != CollectiveOp::custom) continue;
      action.index = trace.operations.size();
      trace.operations.push_back(operation);
    }
}

}  // namespace

std::optional<StepTrace> trace_steps(World& world) {
  StepTrace trace;
  const Job nominal = nominal_job(world.job);
  TraceWorker worker(nominal, world, 0, kSteps, trace);
  std::vector<StepTrace::Actions> parts;
  try {
    world.job.algorithm->run(worker);
    parts = worker.parts();
    trace.groups.push_back(worker.groups());
    for (int rank = 1; rank < nominal.workers() && !trace.groups.front().empty(); ++rank) {
      StepTrace unused;
      TraceWorker other(nominal, world, rank, 0, unused);
      world.job.algorithm->run(other);
      trace.groups.push_back(other.groups());
    }
  } catch (const Untraceable&) {
    return std::nullopt;
  }
  const std::vector<AnyCollective> operations = worker.operations();
  if (parts.size() != kSteps + 2 || !parts[0].empty() || !alike(operations, parts[2], parts[3]))
    return std::nullopt;
  trace.steps = {std::move(parts[1]), std::move(parts[2]), std::move(parts[4])};
  put_operations(operations, trace);
  trace.marks = worker.most_marks();
  for (const StepTrace::Actions* actions : {&trace.steps.first, &trace.steps.others, &trace.steps.after})
    trace.longest_wait = std::max(trace.longest_wait, longest_wait(*actions));
  return trace;
}

}  // namespace simsgd
