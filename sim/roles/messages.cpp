#include "sim/roles/messages.hpp"

#include "sim/learn/precision.hpp"

namespace simsgd {

Tensor rounded_to(Executor& executor, const Tensor& values, Precision precision) {
  if (!values || precision == Precision::fp32) return values;
  return precision == Precision::fp16 ? rounded_to_fp16(executor, values) : rounded_to_bf16(executor, values);
}

Tensor contribution_of(Executor& executor, const AnyCollective& collective, Precision precision) {
  const Tensor& whole = options_of(collective).contribution;
  const auto* all_reduce = std::get_if<AllReduce>(&collective);
  if (!all_reduce || !all_reduce->entries) return rounded_to(executor, whole, precision);
  return rounded_to(executor, slice(executor, whole, all_reduce->entries->begin, all_reduce->entries->end),
                    precision);
}

}  // namespace simsgd
