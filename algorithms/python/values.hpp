// Values on their way between Python and C++, and functions of a Door as functions for Python.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "algorithms/python/libpython.hpp"
#include "sim/worker.hpp"

namespace simsgd::python {

/// Whatever an operation that was started will give.
using AnyHandle = std::variant<Handle<Nothing>, Handle<Tensor>, Handle<std::vector<Tensor>>, Handle<Message>,
                               Handle<RunningGradient>>;

/// A Python error is set; what called into Python passes it on.
struct PythonRaised {};

/// An object of Python as an argument: borrowed.
struct Borrowed {
  PyObject* object = nullptr;
};

void from_python(PyObject* object, Borrowed& value);
void from_python(PyObject* object, bool& value);
void from_python(PyObject* object, double& value);
void from_python(PyObject* object, long long& value);
void from_python(PyObject* object, std::string& value);
void from_python(PyObject* object, Tensor& value);  ///< None: empty
void from_python(PyObject* object, AnyHandle& value);
void from_python(PyObject* object, Stream*& value);  ///< Python's, which goes on
/// Of tuples.
template <class T>
void from_python(PyObject* object, std::vector<T>& values) {
  const std::ptrdiff_t size = api().PyTuple_Size(object);
  if (size < 0) throw PythonRaised();
  values.resize(static_cast<std::size_t>(size));
  for (std::ptrdiff_t i = 0; i < size; ++i)
    from_python(api().PyTuple_GetItem(object, i), values[static_cast<std::size_t>(i)]);
}

Ref none();
inline Ref to_python(Ref value) { return value; }
Ref to_python(bool value);
Ref to_python(double value);
Ref to_python(long long value);
inline Ref to_python(int value) { return to_python(static_cast<long long>(value)); }
Ref to_python(const std::string& value);
Ref to_python(const Tensor& value);  ///< empty: None
Ref to_python(const AnyHandle& value);
Ref to_python(const Stream& value);
Ref to_python(const Message& value);  ///< values, numbers, from
Ref tuple(std::vector<Ref> items);
template <class T>
Ref to_python(const std::vector<T>& values) {
  std::vector<Ref> items;
  for (const T& value : values) items.push_back(to_python(value));
  return tuple(std::move(items));
}

/// Sets the Python error for the C++ exception that is under way.
void raise_current();

class Door;
Door& door_of(PyObject* capsule);

/// A member function of Door, or a function, as one that Python calls with the same arguments.
template <auto method>
struct Bound;
template <class Result, class... Arguments, Result (Door::*method)(Arguments...)>
struct Bound<method> {
  static PyObject* call(PyObject*, PyObject* arguments) {
    try {
      std::tuple<std::decay_t<Arguments>...> values;
      take(arguments, values, std::index_sequence_for<Arguments...>());
      Door& door = door_of(api().PyTuple_GetItem(arguments, 0));
      return std::apply(
          [&](auto&... each) {
            if constexpr (std::is_void_v<Result>) {
              (door.*method)(each...);
              return none().release();
            } else {
              return to_python((door.*method)(each...)).release();
            }
          },
          values);
    } catch (const PythonRaised&) {
    } catch (...) {
      raise_current();
    }
    return nullptr;
  }
  template <class Values, std::size_t... i>
  static void take([[maybe_unused]] PyObject* arguments, [[maybe_unused]] Values& values,
                   std::index_sequence<i...>) {
    (from_python(api().PyTuple_GetItem(arguments, static_cast<std::ptrdiff_t>(i) + 1), std::get<i>(values)),
     ...);
  }
};

}  // namespace simsgd::python
