#include "algorithms/python/values.hpp"

#include <exception>

namespace simsgd::python {

namespace {

constexpr const char* kTensor = "simsgd.tensor";
constexpr const char* kHandle = "simsgd.handle";
constexpr const char* kStream = "simsgd.stream";

/// Python sets its error where a value is of the wrong type; -1 is a value too.
template <class Value>
Value checked(Value value) {
  if (value == static_cast<Value>(-1) && api().PyErr_Occurred() != nullptr) throw PythonRaised();
  return value;
}

template <class Value>
void free_capsule(PyObject* capsule, const char* name) {
  delete static_cast<Value*>(api().PyCapsule_GetPointer(capsule, name));
}

template <class Value>
Value& in_capsule(PyObject* capsule, const char* name) {
  void* const value = capsule == nullptr ? nullptr : api().PyCapsule_GetPointer(capsule, name);
  if (value == nullptr) throw PythonRaised();
  return *static_cast<Value*>(value);
}

}  // namespace

void from_python(PyObject* object, Borrowed& value) {
  if (object == nullptr) throw PythonRaised();
  value.object = object;
}
void from_python(PyObject* object, bool& value) {
  if (object == nullptr) throw PythonRaised();
  value = checked(api().PyObject_IsTrue(object)) != 0;
}
void from_python(PyObject* object, double& value) {
  if (object == nullptr) throw PythonRaised();
  value = checked(api().PyFloat_AsDouble(object));
}
void from_python(PyObject* object, long long& value) {
  if (object == nullptr) throw PythonRaised();
  value = checked(api().PyLong_AsLongLong(object));
}
void from_python(PyObject* object, std::string& value) {
  if (object == nullptr) throw PythonRaised();
  const Ref bytes(api().PyUnicode_AsUTF8String(object));
  if (!bytes) throw PythonRaised();
  value = api().PyBytes_AsString(bytes.get());
}
void from_python(PyObject* object, Tensor& value) {
  if (object == api().none)
    value = {};
  else
    value = in_capsule<Tensor>(object, kTensor);
}
void from_python(PyObject* object, AnyHandle& value) { value = in_capsule<AnyHandle>(object, kHandle); }
void from_python(PyObject* object, Stream*& value) { value = &in_capsule<Stream>(object, kStream); }

Ref none() { return Ref::borrowed(api().none); }
Ref to_python(bool value) { return Ref(api().PyBool_FromLong(value ? 1 : 0)); }
Ref to_python(double value) { return Ref(api().PyFloat_FromDouble(value)); }
Ref to_python(long long value) { return Ref(api().PyLong_FromLongLong(value)); }
Ref to_python(const std::string& value) {
  return Ref(api().PyUnicode_FromStringAndSize(value.data(), static_cast<std::ptrdiff_t>(value.size())));
}
Ref to_python(const Tensor& value) {
  if (!value) return none();
  return Ref(api().PyCapsule_New(new Tensor(value), kTensor,
                                 [](PyObject* capsule) { free_capsule<Tensor>(capsule, kTensor); }));
}
Ref to_python(const AnyHandle& value) {
  return Ref(api().PyCapsule_New(new AnyHandle(value), kHandle,
                                 [](PyObject* capsule) { free_capsule<AnyHandle>(capsule, kHandle); }));
}
Ref to_python(const Stream& value) {
  return Ref(api().PyCapsule_New(new Stream(value), kStream,
                                 [](PyObject* capsule) { free_capsule<Stream>(capsule, kStream); }));
}
Ref to_python(const Message& value) {
  return tuple({to_python(value.values), to_python(value.numbers), to_python(value.from)});
}

Ref tuple(std::vector<Ref> items) {
  Ref all(api().PyTuple_New(static_cast<std::ptrdiff_t>(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i)
    api().PyTuple_SetItem(all.get(), static_cast<std::ptrdiff_t>(i), items[i].release());
  return all;
}

void raise_current() {
  try {
    throw;
  } catch (const std::exception& error) {
    api().PyErr_SetString(*api().RuntimeError, error.what());
  }
}

}  // namespace simsgd::python
