// Of the door: what a method asks for and waits for; it is done when the generator has yielded.
#include <fmt/format.h>

#include "algorithms/python/door.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::python {

namespace {

Activity activity_of(const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kActivities; ++i) {
    names.push_back(activity_name(static_cast<Activity>(i)));
    if (names.back() == name) return static_cast<Activity>(i);
  }
  throw RunError(fmt::format("There is no activity \"{}\"; there is {}.", name, one_of(names)));
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
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kTraffics; ++i) {
    names.push_back(traffic_name(static_cast<Traffic>(i)));
    if (names.back() == name) return static_cast<Traffic>(i);
  }
  throw RunError(fmt::format("There is no traffic \"{}\"; there is {}.", name, one_of(names)));
}

Awaited awaited(const AnyHandle& handle) {
  return std::visit([](const auto& each) { return Awaited(each); }, handle);
}

void Door::next_step() {
  ask({.name = "next_step", .run = [this] { return to_python(worker_.next_step()); }});
}

LayerHook Door::hook(Borrowed function) {
  if (function.object == api().none) return {};
  return [this, held = Ref::borrowed(function.object)](const LayerPass& pass) {
    const Ref begun = call(of_door("begin_hook"),
                           {held, to_python(pass.layer), to_python(pass.micro_batch), to_python(pass.last)});
    if (begun.get() != api().none) drive(begun);
  };
}

void Door::gradient(long long index, long long count, Borrowed ready, Borrowed before_forward,
                    Borrowed after_forward, Borrowed before_backward, Borrowed after_backward,
                    Borrowed parameters) {
  GradientOptions options;
  options.part = {static_cast<int>(index), static_cast<int>(count)};
  options.before_forward = hook(before_forward);
  options.after_forward = hook(after_forward);
  options.before_backward = hook(before_backward);
  options.after_backward = hook(after_backward);
  if (ready.object != api().none)
    options.gradient_ready = [this, held = Ref::borrowed(ready.object)](const TensorInfo& info,
                                                                        const Tensor& gradient) {
      const Ref begun = call(of_door("begin_hook"), {held, to_python(info.layer), to_python(info.offset),
                                                     to_python(info.parameters()), wrapped(gradient)});
      if (begun.get() != api().none) drive(begun);
    };
  if (parameters.object != api().none)
    options.parameters = [this, held = Ref::borrowed(parameters.object)] {
      Tensor gathered;
      from_python(call_back(held, {}).get(), gathered);
      return gathered;
    };
  ask({.name = "gradient",
       .run = [this, options = std::move(options)] { return wrapped(worker_.compute().gradient(options)); }});
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
                      long long root) {
  AnyCollective operation = collective_of(kind, scale, static_cast<int>(root));
  CollectiveOptions& options = options_of(operation);
  options.bytes = bytes;
  options.traffic = traffic_of(traffic);
  options.tensors = static_cast<int>(tensors);
  options.group = static_cast<GroupId>(group);
  options.channel = static_cast<ChannelId>(channel);
  options.schedule = std::move(schedule);
  options.contribution = std::move(values);
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

void Door::send(long long to, long long tag, Tensor values, std::vector<double> numbers, double bytes,
                const std::string& traffic) {
  const Message message{bytes, traffic_of(traffic), std::move(values), std::move(numbers)};
  const auto begin = [this, to, tag, message] {
    return worker_.messages().start_send(static_cast<int>(to), static_cast<int>(tag), message);
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
  const auto begin = [this, from, tag] {
    return worker_.messages().start_receive(static_cast<int>(from), static_cast<int>(tag));
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
  if (!(seconds >= 0))
    throw RunError(fmt::format("spend() takes seconds of at least 0, and not {}.", seconds));
  ask({.name = "spend", .run = [this, kind = activity_of(activity), seconds, label] {
         worker_.compute().spend(kind, seconds, label.empty() ? nullptr : label.c_str());
         return none();
       }});
}

void Door::spend_on(const std::string& activity, double seconds, const Tensor& on) {
  ask({.name = "spend_on", .run = [this, kind = activity_of(activity), seconds, on] {
         worker_.compute().spend_on(kind, seconds, on);
         return none();
       }});
}

}  // namespace simsgd::python
