#include "sim/message_precision.hpp"

#include "sim/learn/precision.hpp"

namespace simsgd {

Values rounded_to(Executor& executor, const Values& values, Precision precision) {
  if (!values || precision == Precision::fp32) return values;
  return precision == Precision::fp16 ? rounded_to_fp16(executor, values) : rounded_to_bf16(executor, values);
}

Values contribution_of(Executor& executor, const Collective& collective, Precision precision) {
  const Values& whole = collective.contribution;
  if (!collective.entries) return rounded_to(executor, whole, precision);
  return rounded_to(executor, slice(executor, whole, collective.entries->begin, collective.entries->end),
                    precision);
}

}  // namespace simsgd
