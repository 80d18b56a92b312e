#include "algorithms/python/door.hpp"

#include <fmt/format.h>

#include <array>

#include "algorithms/python/watchdog.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::python {

namespace {

constexpr const char* kDoor = "simsgd.door";

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

Awaited awaited(const AnyHandle& handle) {
  return std::visit([](const auto& each) { return Awaited(each); }, handle);
}

/// Python calls it with the capsule of a door first.
template <auto method>
constexpr Function function(const char* name) {
  return {name, Bound<method>::call};
}

#define SIMSGD_DOOR(name) function<&Door::name>("_" #name)
const std::array kFunctions = {SIMSGD_DOOR(step),          SIMSGD_DOOR(now),
                               SIMSGD_DOOR(slower),        SIMSGD_DOOR(model_bytes),
                               SIMSGD_DOOR(learning_rate), SIMSGD_DOOR(parameters),
                               SIMSGD_DOOR(set),           SIMSGD_DOOR(tensor),
                               SIMSGD_DOOR(view),          SIMSGD_DOOR(combine),
                               SIMSGD_DOOR(slice),         SIMSGD_DOOR(neighbours),
                               SIMSGD_DOOR(layers),        SIMSGD_DOOR(group),
                               SIMSGD_DOOR(done),          SIMSGD_DOOR(event),
                               SIMSGD_DOOR(signal),        SIMSGD_DOOR(timer),
                               SIMSGD_DOOR(serve),         SIMSGD_DOOR(post),
                               SIMSGD_DOOR(then),          SIMSGD_DOOR(start_gradient),
                               SIMSGD_DOOR(cancel),        SIMSGD_DOOR(take),
                               SIMSGD_DOOR(number),        SIMSGD_DOOR(staleness),
                               SIMSGD_DOOR(table),         SIMSGD_DOOR(kernel_s),
                               SIMSGD_DOOR(predict),       SIMSGD_DOOR(next_step),
                               SIMSGD_DOOR(gradient),      SIMSGD_DOOR(apply),
                               SIMSGD_DOOR(collective),    SIMSGD_DOOR(send),
                               SIMSGD_DOOR(receive),       SIMSGD_DOOR(start),
                               SIMSGD_DOOR(wait),          SIMSGD_DOOR(wait_any),
                               SIMSGD_DOOR(spend),         SIMSGD_DOOR(spend_on),
                               SIMSGD_DOOR(fragment),      SIMSGD_DOOR(own_part),
                               SIMSGD_DOOR(set_own_part),  SIMSGD_DOOR(rounded),
                               SIMSGD_DOOR(wait_avoiding), SIMSGD_DOOR(call_service),
                               SIMSGD_DOOR(sparsifier),    SIMSGD_DOOR(choose),
                               SIMSGD_DOOR(merge),         SIMSGD_DOOR(keep),
                               SIMSGD_DOOR(dense),         SIMSGD_DOOR(note_merges),
                               SIMSGD_DOOR(keep_shard),    SIMSGD_DOOR(recover_by),
                               SIMSGD_DOOR(hear),          SIMSGD_DOOR(flood),
                               SIMSGD_DOOR(exchange)};
#undef SIMSGD_DOOR

/// The names that door.py defines.
PyObject* load_door() {
  PyObject* const names = api().PyModule_GetDict(api().PyImport_AddModule("simsgd_door"));
  PyObject* const builtins = api().PyModule_GetDict(api().PyImport_AddModule("builtins"));
  api().PyDict_SetItemString(names, "__builtins__", builtins);
  for (const Function& each : kFunctions)
    api().PyDict_SetItemString(names, each.name, Ref(api().PyCFunction_NewEx(&each, nullptr, nullptr)).get());
  constexpr int kFileInput = 257;
  const Ref code(api().Py_CompileString(door_source(), "door.py", kFileInput));
  if (!code || !Ref(api().PyEval_EvalCode(code.get(), names, names)))
    throw RunError("SimSGD failed, which is a defect of SimSGD: this Python does not run door.py");
  return names;
}

bool same(const Ref& a, PyObject* b) { return a.get() == b; }

}  // namespace

Traffic traffic_of(const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kTraffics; ++i) {
    names.push_back(traffic_name(static_cast<Traffic>(i)));
    if (names.back() == name) return static_cast<Traffic>(i);
  }
  throw RunError(fmt::format("There is no traffic \"{}\"; there is {}.", name, one_of(names)));
}

Door& door_of(PyObject* capsule) {
  void* const door = api().PyCapsule_GetPointer(capsule, kDoor);
  if (door == nullptr) throw PythonRaised();
  return *static_cast<Door*>(door);
}

PyObject* of_door(const char* name) {
  static PyObject* const names = load_door();  // an interpreter belongs to the process
  return api().PyDict_GetItemString(names, name);
}

Ref call(PyObject* function, const std::vector<Ref>& arguments) {
  python_begins();
  const Ref result(api().PyObject_CallFunctionObjArgs(of_door("guarded"), function, tuple(arguments).get(),
                                                      static_cast<PyObject*>(nullptr)));
  python_ends();
  if (!result) throw RunError("SimSGD failed, which is a defect of SimSGD: a call into Python");
  const Ref value = Ref::borrowed(api().PyTuple_GetItem(result.get(), 1));
  if (api().PyObject_IsTrue(api().PyTuple_GetItem(result.get(), 0)) == 1) return value;
  std::string text;
  from_python(value.get(), text);
  throw RunError(text);
}

void Door::fail(const std::string& text) const {
  throw RunError(fmt::format("{} (rank {}, step {}, at {:.6g} s of simulated time)", text, worker_.rank(),
                             worker_.step(), worker_.now()));
}

void Door::run(long long number) {
  const Ref capsule(api().PyCapsule_New(this, kDoor, nullptr));
  own_ = call(of_door("Worker"), {capsule, to_python(worker_.rank()), to_python(worker_.size()),
                                  to_python(static_cast<long long>(worker_.seed()))});
  Ref generator;
  try {
    generator = call(of_door("begin"), {to_python(number), own_});
  } catch (const RunError& error) {
    fail(error.what());
  }
  drive(generator);
}

void Door::drive(const Ref& generator) {
  static PyObject* const advance = of_door("advance");
  static PyObject* const asked = of_door("ASKED");
  static PyObject* const ended = of_door("ENDED");
  for (Ref value = none();;) {
    python_begins();
    const Ref got(api().PyObject_CallFunctionObjArgs(advance, generator.get(), value.get(),
                                                     static_cast<PyObject*>(nullptr)));
    python_ends();
    if (same(got, asked) && !asked_.name.empty()) {
      const Asked now = taken();
      for (; unpaid_updates_ > 0; --unpaid_updates_)
        worker_.compute().update(worker_.replica().parameters(), 1);
      value = now.run();
      continue;
    }
    if (same(got, ended)) {
      for (; unpaid_updates_ > 0; --unpaid_updates_)
        worker_.compute().update(worker_.replica().parameters(), 1);
      if (asked_.name.empty() || asked_.may_be_left) return;
      fail(fmt::format("The method ended with {} asked for and not yielded. Write `yield w.{}(...)`.",
                       asked_.name, asked_.name));
    }
    if (!got) {
      api().PyErr_Clear();
      fail("The method has computed for longer than its yield_limit without a yield");
    }
    std::string text =
        "it yielded an operation that was done already. Ask for it where you yield it: `yield w.gradient()`";
    if (!same(got, asked)) from_python(got.get(), text);
    fail(text);
  }
}

void Door::ask(Asked asked) {
  if (!asked_.name.empty() && !asked_.may_be_left)
    throw RunError(fmt::format("{} was asked for and not yielded before {}. Write `yield w.{}(...)`.",
                               asked_.name, asked.name, asked_.name));
  asked_ = std::move(asked);
}

Door::Asked Door::taken() { return std::exchange(asked_, {}); }

Ref Door::wrapped(const Tensor& values) {
  static PyObject* const type = of_door("Tensor");
  const Ref inner = to_python(values);
  return Ref(
      api().PyObject_CallFunctionObjArgs(type, own_.get(), inner.get(), static_cast<PyObject*>(nullptr)));
}
Ref Door::wrapped(const std::vector<Tensor>& values) {
  std::vector<Ref> items;
  for (const Tensor& each : values) items.push_back(wrapped(each));
  return tuple(std::move(items));
}
Ref Door::wrapped(const Message& message) {
  return tuple({wrapped(message.values), to_python(message.numbers), to_python(message.from)});
}

Ref Door::result(const AnyHandle& handle) {
  return std::visit(
      [this](const auto& each) {
        using Result = std::decay_t<decltype(each.result())>;
        if constexpr (std::is_same_v<Result, Nothing> || std::is_same_v<Result, RunningGradient>)
          return none();
        else
          return wrapped(each.result());
      },
      handle);
}

Ref Door::call_back(const Ref& function, const std::vector<Ref>& arguments) {
  Asked mine = taken();
  Ref result = call(function.get(), arguments);
  if (asked_.name.empty() || asked_.may_be_left) asked_ = std::move(mine);
  return result;
}

// ---- at once

void Door::set(Tensor parameters) {
  if (!parameters && worker_.replica().parameters())
    throw RunError("set() was given no values, and the learner has some. Hand it a tensor.");
  worker_.replica().set(std::move(parameters));
}

Tensor Door::tensor(long long address, long long size) {
  if (size == 0) return {};
  // numpy gives an array's place as a number.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const auto* const begin = reinterpret_cast<const float*>(static_cast<std::uintptr_t>(address));
  return worker_.executor().constant({{begin, begin + size}, {}, {}});
}

std::vector<long long> Door::view(const Tensor& values) {
  if (!values) return {0, 0};
  const std::vector<float>& numbers = worker_.executor().get(values).values;
  return {static_cast<long long>(reinterpret_cast<std::uintptr_t>(numbers.data())),
          static_cast<long long>(numbers.size())};
}

Tensor Door::combine(const std::vector<double>& weights, const std::vector<Tensor>& terms, double scale) {
  for (const Tensor& each : terms)
    if (!each) return {};
  return linear_combination(worker_.executor(), weights, terms, scale);
}

Tensor Door::slice(const Tensor& whole, long long begin, long long end) {
  if (!whole) return {};
  return simsgd::slice(worker_.executor(), whole, static_cast<std::size_t>(begin),
                       static_cast<std::size_t>(end));
}

std::vector<long long> Door::neighbours() {
  if (worker_.graph().neighbours.empty()) return {};
  const std::vector<int>& all = worker_.graph().neighbours[static_cast<std::size_t>(worker_.rank())];
  return {all.begin(), all.end()};
}

std::vector<double> Door::layers() {
  std::vector<double> all;
  for (const Layer& layer : worker_.workload().layers) all.push_back(layer.parameters());
  return all;
}

long long Door::group(std::vector<long long> ranks) {
  std::vector<int> members(ranks.begin(), ranks.end());
  const bool mine = std::find(members.begin(), members.end(), worker_.rank()) != members.end();
  if (!mine || !std::is_sorted(members.begin(), members.end()) || members.front() < 0 ||
      members.back() >= worker_.size() || std::adjacent_find(members.begin(), members.end()) != members.end())
    throw RunError(
        fmt::format("group() takes different ranks from 0 to {} in ascending order, {} among them.",
                    worker_.size() - 1, worker_.rank()));
  return worker_.collectives().group(members);
}

bool Door::done(const AnyHandle& handle) { return worker_.done(awaited(handle)); }
AnyHandle Door::event() { return worker_.background().make_event(); }
void Door::signal(AnyHandle event) {
  if (!std::holds_alternative<Handle<Nothing>>(event)) throw RunError("signal() takes what event() gave.");
  worker_.background().signal(std::get<Handle<Nothing>>(event));
}
AnyHandle Door::timer(double seconds) { return worker_.background().start_timer(seconds); }

void Door::serve(long long tag, Borrowed handler) {
  worker_.background().serve(
      static_cast<int>(tag),
      [self = shared_from_this(), function = Ref::borrowed(handler.object)](const Message& message) {
        self->call_back(function,
                        {self->wrapped(message.values), to_python(message.numbers), to_python(message.from)});
      });
}

void Door::post(long long to, long long tag, Tensor values, std::vector<double> numbers, double bytes,
                const std::string& traffic) {
  worker_.background().post(static_cast<int>(to), static_cast<int>(tag),
                            {bytes, traffic_of(traffic), std::move(values), std::move(numbers)});
}

void Door::then(const AnyHandle& handle, Borrowed action) {
  worker_.background().then(awaited(handle),
                            [self = shared_from_this(), function = Ref::borrowed(action.object)] {
                              self->call_back(function, {});
                            });
}

AnyHandle Door::start_gradient(long long index, long long count) {
  GradientOptions options;
  options.part = {static_cast<int>(index), static_cast<int>(count)};
  return worker_.preemption().start(options);
}
void Door::cancel(AnyHandle gradient) {
  worker_.preemption().cancel(std::get<Handle<RunningGradient>>(gradient));
}
Tensor Door::take(AnyHandle gradient) {
  return worker_.preemption().take(std::get<Handle<RunningGradient>>(gradient));
}

void Door::table(std::string name, std::vector<std::string> columns,
                 const std::vector<std::vector<double>>& rows) {
  RecordTable table{std::move(name), std::move(columns), {}};
  for (const std::vector<double>& row : rows) table.rows.emplace_back(row.begin(), row.end());
  worker_.record().table(table);
}

double Door::predict() {
  const Asked asked = taken();
  if (!asked.collective) throw RunError("predict() takes a collective, such as w.predict(w.all_reduce(x)).");
  return worker_.collectives().predict(*asked.collective);
}

// ---- asked for

void Door::next_step() {
  ask({.name = "next_step", .run = [this] { return to_python(worker_.next_step()); }});
}

LayerHook Door::hook(Borrowed function) {
  if (function.object == api().none) return {};
  return [this, held = Ref::borrowed(function.object)](const LayerPass& pass) {
    const Ref begun = call(of_door("begin_hook"),
                           {held, to_python(pass.layer), to_python(pass.micro_batch), to_python(pass.last)});
    if (!same(begun, api().none)) drive(begun);
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
      if (!same(begun, api().none)) drive(begun);
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
