// The events of a Kineto trace by what becomes of them, and how each sort is called where it is counted.
#pragma once

#include <cstddef>
#include <string_view>

namespace simsgd::kineto {

enum Kind : std::size_t {
  kKernel,
  kNccl,
  kLaunch,
  kStep,
  kMark,
  kGroupArguments,
  kOtherOperator,
  kOtherCall,
  kGpuAnnotation,
  kMemory,
  kPython,
  kOwn,
  kTrackName,
  kFlow,
  kInstant,
  kCounter,
  kHalfSpan,
  kNoTime,
  kNegative,
  kNoPhase,
  kNoStepNumber,
  kKindCount
};

/// How a sort is called; whether it was understood.
struct Counted {
  const char* text;
  bool understood = true;
};

/// Every event is counted once.
const Counted& counted(std::size_t kind);

enum class Category { kernel, runtime, host, gpu_annotation, memory, python, own, unknown };

Category category_of(std::string_view name);

}  // namespace simsgd::kineto
