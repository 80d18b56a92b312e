#include "algorithms/python/libpython.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "sim/base/errors.hpp"

namespace simsgd::python {

namespace {

constexpr int kOldest = 9, kNewest = 13;

std::vector<std::string> candidates() {
  if (const char* own = std::getenv("SIMSGD_LIBPYTHON")) return {own};
  std::vector<std::string> names;
  for (int minor = kNewest; minor >= kOldest; --minor)
    names.push_back(fmt::format("libpython3.{}.so.1.0", minor));
  return names;
}

/// Extension modules such as numpy's look its symbols up in the whole program.
void* open_library() {
  std::string tried;
  for (const std::string& name : candidates()) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
    tried += (tried.empty() ? "" : ", ") + name;
  }
  throw RunError(fmt::format(
      "A method in Python needs Python's library, version 3.{} to 3.{}, which was not found (looked for {}). Install it (Debian: libpython3.11), or set SIMSGD_LIBPYTHON to its path.",
      kOldest, kNewest, tried));
}

template <class Symbol>
void find(void* library, const char* name, Symbol& symbol) {
  symbol = reinterpret_cast<Symbol>(dlsym(library, name));
  if (symbol == nullptr)
    throw RunError(
        fmt::format("This Python library lacks {}. Use version 3.{} to 3.{}.", name, kOldest, kNewest));
}

Api opened() {
  Api api{};
  void* const library = open_library();
#define SIMSGD_FIND(name) find(library, #name, api.name)
  SIMSGD_FIND(Py_InitializeEx);
  SIMSGD_FIND(Py_GetVersion);
  SIMSGD_FIND(Py_IncRef);
  SIMSGD_FIND(Py_DecRef);
  SIMSGD_FIND(PyImport_AddModule);
  SIMSGD_FIND(PyModule_GetDict);
  SIMSGD_FIND(Py_CompileString);
  SIMSGD_FIND(PyEval_EvalCode);
  SIMSGD_FIND(PyDict_GetItemString);
  SIMSGD_FIND(PyDict_SetItemString);
  SIMSGD_FIND(PyCFunction_NewEx);
  SIMSGD_FIND(PyObject_CallObject);
  SIMSGD_FIND(PyObject_CallFunctionObjArgs);
  SIMSGD_FIND(PyObject_IsTrue);
  SIMSGD_FIND(PyCapsule_New);
  SIMSGD_FIND(PyCapsule_GetPointer);
  SIMSGD_FIND(PyLong_FromLongLong);
  SIMSGD_FIND(PyLong_AsLongLong);
  SIMSGD_FIND(PyFloat_FromDouble);
  SIMSGD_FIND(PyFloat_AsDouble);
  SIMSGD_FIND(PyBool_FromLong);
  SIMSGD_FIND(PyUnicode_FromStringAndSize);
  SIMSGD_FIND(PyUnicode_AsUTF8String);
  SIMSGD_FIND(PyBytes_AsString);
  SIMSGD_FIND(PyTuple_New);
  SIMSGD_FIND(PyTuple_SetItem);
  SIMSGD_FIND(PyTuple_GetItem);
  SIMSGD_FIND(PyTuple_Size);
  SIMSGD_FIND(PyErr_Occurred);
  SIMSGD_FIND(PyErr_SetString);
  SIMSGD_FIND(PyErr_Clear);
  SIMSGD_FIND(Py_AddPendingCall);
#undef SIMSGD_FIND
  find(library, "_Py_NoneStruct", api.none);
  find(library, "PyExc_RuntimeError", api.RuntimeError);
  find(library, "PyExc_TimeoutError", api.TimeoutError);
  const std::string version = api.Py_GetVersion();
  const int minor = version.starts_with("3.") ? std::atoi(version.c_str() + 2) : 0;
  if (minor < kOldest || minor > kNewest)
    throw RunError(fmt::format(
        "Methods in Python need version 3.{} to 3.{}, and this library is {}. Set SIMSGD_LIBPYTHON to another.",
        kOldest, kNewest, version.substr(0, version.find(' '))));
  setenv("PYTHONHASHSEED", "0", 1);  // the order of sets of texts is the same in every run
  api.Py_InitializeEx(0);            // signals stay the program's
  return api;
}

}  // namespace

const Api& api() {
  static const Api opened_once = opened();  // an interpreter belongs to the process
  return opened_once;
}

Ref Ref::borrowed(PyObject* object) {
  if (object != nullptr) api().Py_IncRef(object);
  return Ref(object);
}

Ref::~Ref() {
  if (object_ != nullptr) api().Py_DecRef(object_);
}

}  // namespace simsgd::python
