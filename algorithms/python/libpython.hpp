// Python's interpreter, opened when a method in Python is run. Only functions of the stable ABI (PEP 384,
// of 3.9) are used, so every version from 3.9 to 3.13 will do, and no header of Python is needed to build.
#pragma once

#include <cstddef>

struct PyObject;  // Python's; never looked into

namespace simsgd::python {

/// A function for Python, as its stable ABI lays it out (PyMethodDef).
struct Function {
  const char* name;
  PyObject* (*call)(PyObject* self, PyObject* arguments);
  int flags = 1;  // METH_VARARGS
  const char* doc = nullptr;
};

struct Api {
  void (*Py_InitializeEx)(int);
  const char* (*Py_GetVersion)();
  void (*Py_IncRef)(PyObject*);
  void (*Py_DecRef)(PyObject*);
  PyObject* (*PyImport_AddModule)(const char*);
  PyObject* (*PyModule_GetDict)(PyObject*);
  PyObject* (*Py_CompileString)(const char*, const char*, int);
  PyObject* (*PyEval_EvalCode)(PyObject*, PyObject*, PyObject*);
  PyObject* (*PyDict_GetItemString)(PyObject*, const char*);
  int (*PyDict_SetItemString)(PyObject*, const char*, PyObject*);
  PyObject* (*PyCFunction_NewEx)(const Function*, PyObject*, PyObject*);
  PyObject* (*PyObject_CallObject)(PyObject*, PyObject*);
  PyObject* (*PyObject_CallFunctionObjArgs)(PyObject*, ...);
  int (*PyObject_IsTrue)(PyObject*);
  PyObject* (*PyCapsule_New)(void*, const char*, void (*)(PyObject*));
  void* (*PyCapsule_GetPointer)(PyObject*, const char*);
  PyObject* (*PyLong_FromLongLong)(long long);
  long long (*PyLong_AsLongLong)(PyObject*);
  PyObject* (*PyFloat_FromDouble)(double);
  double (*PyFloat_AsDouble)(PyObject*);
  PyObject* (*PyBool_FromLong)(long);
  PyObject* (*PyUnicode_FromStringAndSize)(const char*, std::ptrdiff_t);
  PyObject* (*PyUnicode_AsUTF8String)(PyObject*);
  char* (*PyBytes_AsString)(PyObject*);
  PyObject* (*PyTuple_New)(std::ptrdiff_t);
  int (*PyTuple_SetItem)(PyObject*, std::ptrdiff_t, PyObject*);
  PyObject* (*PyTuple_GetItem)(PyObject*, std::ptrdiff_t);
  std::ptrdiff_t (*PyTuple_Size)(PyObject*);
  PyObject* (*PyErr_Occurred)();
  void (*PyErr_SetString)(PyObject*, const char*);
  void (*PyErr_Clear)();
  int (*Py_AddPendingCall)(int (*)(void*), void*);
  PyObject* none;           // _Py_NoneStruct
  PyObject** RuntimeError;  // PyExc_RuntimeError
  PyObject** TimeoutError;  // PyExc_TimeoutError
};

/// Opens and starts it at the first call. Throws RunError where there is no Python of these versions.
const Api& api();

/// Owns a reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref borrowed(PyObject* object);
  ~Ref();
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  Ref(const Ref& other) : Ref(borrowed(other.object_)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  PyObject* get() const { return object_; }
  PyObject* release() {
    PyObject* const object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace simsgd::python
