// Of the door: what a method asks for and waits for; it is done when the generator has yielded.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/python/door.hpp"
#include "sim/base/errors.hpp"
#include "sim/record.hpp"

namespace simsgd::python {

namespace {

/// Its place in `kinds`, by name.
template <class Kind, class NameOf>
Kind named(const char* what, std::size_t kinds, const std::string& name, NameOf name_of) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kinds; ++i) {
    names.emplace_back(name_of(static_cast<Kind>(i)));
    if (names.back() == name) return static_cast<Kind>(i);
  }
  throw RunError(fmt::format("Unknown {} \"{}\". Choose {}.", what, name, one_of(names)));
}

AnyCollective collective_of(const std::string& kind, double scale, int root) {
  if (kind == "all_reduce") {
    AllReduce operation;
    operation.scale = scale;
    return operation;
  }
  if (kind == "reduce_scatter") {
    ReduceScatter operation;
    operation.scale = scale;
    return operation;
  }
  if (kind == "all_gather") return AllGather{};
  if (kind == "all_to_all") return AllToAll{};
  if (kind == "barrier") return Barrier{};
  if (kind == "broadcast") {
    Broadcast operation;
    operation.root = root;
    return operation;
  }
  Reduce operation;
  operation.scale = scale;
  operation.root = root;
  return operation;
}

AnyHandle started(Collectives& collectives, const AnyCollective& collective) {
  return std::visit([&](const auto& operation) { return AnyHandle(collectives.start(operation)); },
                    collective);
}

}  // namespace

Traffic traffic_of(const std::string& name) {
  return named<Traffic>("traffic", kTraffics, name, [](Traffic each) { return traffic_name(each); });
}
Activity activity_of(const std::string& name) {
  return named<Activity>("activity", kActivities, name, [](Activity each) { return activity_name(each); });
}

Traffic Door::traffic(const std::string& name) const {
  const Traffic found = traffic_of(name);
  if (parts_.sends && found != Traffic::control &&
      std::find(parts_.sends->begin(), parts_.sends->end(), found) == parts_.sends->end())
    throw RunError(fmt::format("The method sends {}, which its `sends` does not list. Add it there.", name));
  return found;
}
Activity Door::activity(const std::string& name) const {
  const Activity found = activity_of(name);
  if (parts_.activities && !activities()[static_cast<std::size_t>(found)].of_every_method &&
      std::find(parts_.activities->begin(), parts_.activities->end(), found) == parts_.activities->end())
    throw RunError(fmt::format(
        "The method spends time on {}, which its `activities` does not list. Add it there.", name));
  return found;
}

Awaited awaited(const AnyHandle& handle) {
  return std::visit([](const auto& each) { return Awaited(each); }, handle);
}

void Door::next_step() {
  ask({.name = "next_step", .run = [this] { return to_python(worker_.next_step()); }});
}

MicroBatch Door::micro_batch(long long index, long long count) {
  if (count < 1 || index < 0 || index >= count)
    throw RunError(
        fmt::format("A part of a mini-batch is (i, n) with i from 0 to n - 1, not ({}, {}).", index, count));
  return {static_cast<int>(index), static_cast<int>(count)};
}

LayerHook Door::hook(Borrowed function) {
  if (function.object == api().none) return {};
  return [this, held = Ref::borrowed(function.object)](const LayerPass& pass) {
    come_to_the_present();
    const Ref begun = called(of_door("begin_hook"), {held, to_python(pass.layer), to_python(pass.micro_batch),
                                                     to_python(pass.last)});
    if (begun.get() != api().none) drive(begun);
  };
}

void Door::gradient(long long index, long long count, Borrowed ready, Borrowed before_forward,
                    Borrowed after_forward, Borrowed before_backward, Borrowed after_backward,
                    Borrowed parameters, const std::vector<long long>& ready_at,
                    const std::string& statistics) {
  GradientOptions options;
  options.part = micro_batch(index, count);
  options.before_forward = hook(before_forward);
  options.after_forward = hook(after_forward);
  options.before_backward = hook(before_backward);
  options.after_backward = hook(after_backward);
  if (ready.object != api().none)
    options.gradient_ready = [this, held = Ref::borrowed(ready.object)](const TensorInfo& info,
                                                                        const Tensor& gradient) {
      come_to_the_present();
      const Ref begun = called(of_door("begin_hook"), {held, to_python(info.layer), to_python(info.offset),
                                                       to_python(info.parameters()), wrapped(gradient)});
      if (begun.get() != api().none) drive(begun);
    };
  if (parameters.object != api().none)
    options.parameters = [this, held = Ref::borrowed(parameters.object)] {
      come_to_the_present();
      Tensor gathered;
      from_python(call_back(held, {}).get(), gathered);
      return gathered;
    };
  const auto tensors = static_cast<long long>(worker_.workload().tensors().size());
  const std::vector<std::size_t> at(ready_at.begin(), ready_at.end());
  if (!std::is_sorted(ready_at.begin(), ready_at.end()) ||
      (!ready_at.empty() && (ready_at.front() < 0 || ready_at.back() >= tensors)))
    throw RunError(
        fmt::format("ready_at must list numbers of tensors from 0 to {}, in ascending order.", tensors - 1));
  if (!statistics.empty() && options.parameters)
    throw RunError(fmt::format("gradient() takes {} of the worker's own replica only, not with `parameters`.",
                               statistics));
  if (statistics == "factors") options.statistics = std::make_shared<FactorStatistics>();
  if (statistics == "taps") options.statistics = layer_taps();
  ask({.name = "gradient", .run = [this, options = std::move(options), at]() mutable {
         Tensor made;
         options.ready_at = at;
         if (options.statistics) options.take_statistics = [&made](const Tensor& given) { made = given; };
         const Tensor gradient = worker_.compute().gradient(options);
         return options.statistics ? wrapped(std::vector<Tensor>{gradient, made}) : wrapped(gradient);
       }});
}

Handle<RunningGradient> Door::running(const AnyHandle& gradient, const char* what) const {
  const auto* const handle = std::get_if<Handle<RunningGradient>>(&gradient);
  if (handle == nullptr || !running_ || *handle != running_)
    throw RunError(fmt::format(
        "{} takes the gradient that start_gradient() returned, and takes it once: this one was already taken or cancelled, or is something else.",
        what));
  return running_;
}

void Door::start_gradient(long long index, long long count, long long batch) {
  if (running_)
    throw RunError(
        "start_gradient() was called while another gradient is in progress. Take or cancel that one first.");
  if (batch < 0)
    throw RunError(fmt::format("`batch` is the number of a step, counted from 1, not {}.", batch));
  GradientOptions options;
  options.part = micro_batch(index, count);
  options.batch = static_cast<std::uint64_t>(batch);
  ask({.name = "start_gradient", .run = [this, options] {
         running_ = worker_.preemption().start(options);
         return to_python(AnyHandle(running_));
       }});
}

void Door::cancel(const AnyHandle& gradient) {
  (void)running(gradient, "cancel()");
  ask({.name = "cancel", .run = [this] {
         worker_.preemption().cancel(std::exchange(running_, {}));
         return none();
       }});
}

void Door::take(const AnyHandle& gradient) {
  (void)running(gradient, "take()");
  ask({.name = "take", .run = [this] {
         if (!worker_.done(running_))
           fail("take() was called before the gradient was ready. Write `yield w.wait(gradient)` first.");
         return wrapped(worker_.preemption().take(std::exchange(running_, {})));
       }});
}

void Door::apply(const Tensor& gradient) {
  Replica& replica = worker_.replica();
  if (gradient)
    replica.restore(replica.optimizer().step(worker_.executor(), worker_.step(), replica.state(), gradient));
  ++unpaid_updates_;
  ask({.name = "apply", .may_be_left = true, .run = [] { return none(); }});
}

void Door::collective(std::string kind, Tensor values, double scale, double bytes, long long tensors,
                      const std::string& traffic, long long group, long long channel, std::string schedule,
                      long long root, const std::vector<long long>& entries) {
  AnyCollective operation = collective_of(kind, scale, static_cast<int>(root));
  CollectiveOptions& options = options_of(operation);
  options.bytes = bytes;
  options.traffic = this->traffic(traffic);
  options.tensors = static_cast<int>(tensors);
  options.group = static_cast<GroupId>(group);
  options.channel = static_cast<ChannelId>(channel);
  options.schedule = std::move(schedule);
  options.contribution = std::move(values);
  if (auto* const all_reduce = std::get_if<AllReduce>(&operation);
      all_reduce && !entries.empty() && options.contribution) {
    const auto size = static_cast<long long>(worker_.executor().get(options.contribution).values.size());
    if (entries.size() != 2 || entries[0] < 0 || entries[0] > entries[1] || entries[1] > size)
      throw RunError(
          fmt::format("`entries` must be (begin, end) within the {} numbers of the vector.", size));
    all_reduce->entries = {static_cast<std::size_t>(entries[0]), static_cast<std::size_t>(entries[1])};
  }
  ask_collective(std::move(kind), std::move(operation));
}

void Door::ask_collective(std::string kind, AnyCollective operation) {
  ask({.name = std::move(kind),
       .run =
           [this, operation] {
             const AnyHandle handle = started(worker_.collectives(), operation);
             worker_.wait(awaited(handle));
             return result(handle);
           },
       .start = [this, operation] { return started(worker_.collectives(), operation); },
       .collective = operation});
}

int Door::peer(long long rank) const {
  if (rank < 0 || rank >= worker_.size() || rank == worker_.rank())
    throw RunError(fmt::format("A message needs two different ranks from 0 to {}, not {} and {}.",
                               worker_.size() - 1, worker_.rank(), rank));
  return static_cast<int>(rank);
}

void Door::send(long long to, long long tag, Tensor values, std::vector<double> numbers, double bytes,
                const std::string& traffic) {
  const Message message{bytes, this->traffic(traffic), std::move(values), std::move(numbers)};
  const auto begin = [this, to = peer(to), tag, message] {
    return worker_.messages().start_send(to, static_cast<int>(tag), message);
  };
  ask({.name = "send",
       .run =
           [this, begin] {
             worker_.wait(begin());
             return none();
           },
       .start = begin});
}

void Door::receive(long long from, long long tag) {
  const auto begin = [this, from = peer(from), tag] {
    return worker_.messages().start_receive(from, static_cast<int>(tag));
  };
  ask({.name = "receive",
       .run =
           [this, begin] {
             const Handle<Message> handle = begin();
             worker_.wait(handle);
             return wrapped(handle.result());
           },
       .start = begin});
}

void Door::start() {
  Asked asked = taken();
  if (!asked.start)
    throw RunError("start() takes a collective, a send or a receive: `yield w.start(w.all_reduce(x))`.");
  ask({.name = "start", .run = [begin = std::move(asked.start)] { return to_python(begin()); }});
}

void Door::wait(const AnyHandle& handle) {
  if (std::holds_alternative<Handle<RunningGradient>>(handle)) (void)running(handle, "wait()");
  ask({.name = "wait", .run = [this, handle] {
         worker_.wait(awaited(handle));
         return result(handle);
       }});
}

void Door::wait_any(const std::vector<AnyHandle>& handles) {
  if (handles.empty()) throw RunError("wait_any() was given nothing to wait for.");
  ask({.name = "wait_any", .run = [this, handles] {
         std::vector<Awaited> all;
         for (const AnyHandle& each : handles) all.push_back(awaited(each));
         return to_python(static_cast<long long>(worker_.wait_any(std::span<const Awaited>(all))));
       }});
}

void Door::spend(const std::string& activity, double seconds, const std::string& label) {
  if (!(seconds >= 0)) throw RunError(fmt::format("spend() takes at least 0 seconds, not {}.", seconds));
  ask({.name = "spend", .run = [this, kind = this->activity(activity), seconds, label] {
         worker_.compute().spend(kind, seconds, label.empty() ? nullptr : label.c_str());
         return none();
       }});
}

void Door::spend_on(const std::string& activity, double seconds, const Tensor& on) {
  ask({.name = "spend_on", .run = [this, kind = this->activity(activity), seconds, on] {
         worker_.compute().spend_on(kind, seconds, on);
         return none();
       }});
}

}  // namespace simsgd::python
