#include "algorithms/python/door.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "algorithms/python/watchdog.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::python {

namespace {

constexpr const char* kDoor = "simsgd.door";
constexpr int kMostInAStep = 4096;  // a step without an end fills the memory

/// Python calls it with the capsule of a door first.
template <auto method>
constexpr Function function(const char* name) {
  return {name, Bound<method>::call};
}

#define SIMSGD_DOOR(name) function<&Door::name>("_" #name)
const std::array kFunctions = {SIMSGD_DOOR(step),
                               SIMSGD_DOOR(now),
                               SIMSGD_DOOR(slower),
                               SIMSGD_DOOR(model_bytes),
                               SIMSGD_DOOR(learning_rate),
                               SIMSGD_DOOR(parameters),
                               SIMSGD_DOOR(set),
                               SIMSGD_DOOR(state_names),
                               SIMSGD_DOOR(state),
                               SIMSGD_DOOR(restore),
                               SIMSGD_DOOR(tensor),
                               SIMSGD_DOOR(view),
                               SIMSGD_DOOR(combine),
                               SIMSGD_DOOR(concatenate),
                               SIMSGD_DOOR(with_entries),
                               SIMSGD_DOOR(slice),
                               SIMSGD_DOOR(neighbours),
                               SIMSGD_DOOR(graph),
                               SIMSGD_DOOR(layers),
                               SIMSGD_DOOR(workload),
                               SIMSGD_DOOR(group),
                               SIMSGD_DOOR(done),
                               SIMSGD_DOOR(event),
                               SIMSGD_DOOR(signal),
                               SIMSGD_DOOR(timer),
                               SIMSGD_DOOR(serve),
                               SIMSGD_DOOR(post),
                               SIMSGD_DOOR(then),
                               SIMSGD_DOOR(start_gradient),
                               SIMSGD_DOOR(cancel),
                               SIMSGD_DOOR(take),
                               SIMSGD_DOOR(number),
                               SIMSGD_DOOR(staleness),
                               SIMSGD_DOOR(table),
                               SIMSGD_DOOR(kernel_s),
                               SIMSGD_DOOR(predict),
                               SIMSGD_DOOR(random),
                               SIMSGD_DOOR(uniform),
                               SIMSGD_DOOR(below),
                               SIMSGD_DOOR(normal),
                               SIMSGD_DOOR(normals),
                               SIMSGD_DOOR(next_step),
                               SIMSGD_DOOR(gradient),
                               SIMSGD_DOOR(apply),
                               SIMSGD_DOOR(collective),
                               SIMSGD_DOOR(send),
                               SIMSGD_DOOR(receive),
                               SIMSGD_DOOR(start),
                               SIMSGD_DOOR(wait),
                               SIMSGD_DOOR(wait_any),
                               SIMSGD_DOOR(spend),
                               SIMSGD_DOOR(spend_on),
                               SIMSGD_DOOR(fragment),
                               SIMSGD_DOOR(own_part),
                               SIMSGD_DOOR(set_own_part),
                               SIMSGD_DOOR(rounded),
                               SIMSGD_DOOR(wait_avoiding),
                               SIMSGD_DOOR(call_service),
                               SIMSGD_DOOR(sparsifier),
                               SIMSGD_DOOR(choose),
                               SIMSGD_DOOR(merge),
                               SIMSGD_DOOR(keep),
                               SIMSGD_DOOR(dense),
                               SIMSGD_DOOR(note_merges),
                               SIMSGD_DOOR(kfac),
                               SIMSGD_DOOR(kfac_costs),
                               SIMSGD_DOOR(kfac_layers),
                               SIMSGD_DOOR(kfac_average),
                               SIMSGD_DOOR(kfac_invert),
                               SIMSGD_DOOR(kfac_set_inverses),
                               SIMSGD_DOOR(kfac_precondition),
                               SIMSGD_DOOR(keep_shard),
                               SIMSGD_DOOR(recover_by),
                               SIMSGD_DOOR(hear),
                               SIMSGD_DOOR(flood),
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
    throw RunError("This is a bug in SimSGD: this Python cannot run door.py");
  return names;
}

}  // namespace

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
  if (!result) throw RunError("This is a bug in SimSGD: a call into Python failed");
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
  present_ = worker_.background().make_event();
  drive(called(of_door("begin"), {to_python(number), own_}));
}

Ref Door::called(PyObject* function, const std::vector<Ref>& arguments) const {
  try {
    return call(function, arguments);
  } catch (const RunError& error) {
    fail(error.what());
  }
}

void Door::drive(const Ref& generator) {
  static PyObject* const advance = of_door("advance");
  static PyObject* const asked = of_door("ASKED");
  static PyObject* const ended = of_door("ENDED");
  for (Ref value = none();;) {
    come_to_the_present();
    python_begins();
    const Ref got(api().PyObject_CallFunctionObjArgs(advance, generator.get(), value.get(),
                                                     static_cast<PyObject*>(nullptr)));
    python_ends();
    if (got.get() == asked && !asked_.name.empty()) {
      const Asked now = taken();
      for (; unpaid_updates_ > 0; --unpaid_updates_)
        worker_.compute().update(worker_.replica().parameters(), share_);
      value = now.run();
      continue;
    }
    if (got.get() == ended) {
      for (; unpaid_updates_ > 0; --unpaid_updates_)
        worker_.compute().update(worker_.replica().parameters(), share_);
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
    if (got.get() != asked) from_python(got.get(), text);
    fail(text);
  }
}

void Door::ask(Asked asked) {
  const auto is_one_of = [&asked](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), asked.name) != names.end();
  };
  if (is_one_of({"next_step", "receive", "wait_any"})) computed_ = 0;
  if (is_one_of({"gradient", "start_gradient", "spend", "spend_on"}) && ++computed_ > kMostInAStep)
    throw RunError(fmt::format(
        "The method computed {} times in one step. Ask for each step: while (yield w.next_step())",
        kMostInAStep));
  if (!asked_.name.empty() && !asked_.may_be_left)
    throw RunError(fmt::format("{} was asked for and not yielded before {}. Write `yield w.{}(...)`.",
                               asked_.name, asked.name, asked_.name));
  if (parts_.posts) listen();
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
  Ref result = called(function.get(), arguments);
  if (asked_.name.empty() || asked_.may_be_left) asked_ = std::move(mine);
  return result;
}

}  // namespace simsgd::python
