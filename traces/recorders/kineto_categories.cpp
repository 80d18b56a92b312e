#include "traces/recorders/kineto_categories.hpp"

namespace simsgd::kineto {

namespace {

// In the order of Kind.
constexpr Counted kKinetoCounted[kKindCount] = {
    {"events used: computing kernels"},
    {"events used: NCCL kernels"},
    {"events used: launches of kernels"},
    {"events used: steps (ProfilerStep)"},
    {"events used: operators of forward and backward passes and of the optimizer"},
    {"events used: calls of collectives (record_param_comms, nccl:...)"},
    {"events left out: other operators and annotations of the host"},
    {"events left out: other calls of the runtime"},
    {"events left out: annotations on the GPU, which lie over kernels"},
    {"events left out: copies and fills of memory"},
    {"events left out: Python functions"},
    {"events left out: the profiler's own"},
    {"events left out: names of tracks"},
    {"events left out: arrows"},
    {"events left out: instants"},
    {"events left out: counters"},
    {"events left out: begins and ends of asynchronous spans"},
    {"events without a begin or a duration", false},
    {"events of a negative duration", false},
    {"events of no known phase", false},
    {"events of steps without a number", false},
};

}  // namespace

const Counted& counted(std::size_t kind) { return kKinetoCounted[kind]; }

// New schema and old: "kernel" or "Kernel", "cpu_op" or "Operator", "cuda_runtime" or "Runtime".
Category category_of(std::string_view name) {
  const auto is = [name](std::string_view a, std::string_view b) { return name == a || name == b; };
  if (is("cpu_op", "Operator") || is("user_annotation", "CPU_op")) return Category::host;
  if (is("kernel", "Kernel")) return Category::kernel;
  if (is("cuda_runtime", "Runtime") || is("cuda_driver", "hip_runtime") || is("hip_driver", "xpu_runtime"))
    return Category::runtime;
  if (is("gpu_user_annotation", "Gpu_user_annotation")) return Category::gpu_annotation;
  if (is("gpu_memcpy", "Memcpy") || is("gpu_memset", "Memset")) return Category::memory;
  if (is("python_function", "Python")) return Category::python;
  if (is("Trace", "overhead") || is("cuda_profiler_range", "cuda_sync")) return Category::own;
  return Category::unknown;
}

}  // namespace simsgd::kineto
