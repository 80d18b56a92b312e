// Jobs of a few workers on a star of 0.1 ms and 1 GB/s, through a communication stack.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/stacks/policy.hpp"
#include "sim/stacks/stack.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::stacks {

inline constexpr double kAlpha_s = 1e-4, kBps = 1e9;
inline constexpr Fidelity kFidelities[] = {Fidelity::closed, Fidelity::steps, Fidelity::flows,
                                           Fidelity::messages};

// As a scenario's cluster with that stack, and no host costs of its own.
inline void use_stack(Job& job, const Json& json) {
  const Stack stack = make_stack(
      json, {.gpu_link_Bps = 0, .nic_Bps = kBps, .workers = job.cluster.workers(), .gpus_per_node = 1});
  set_stack_costs(stack, job.cluster.host);
  job.cluster.host.complete(job.cluster.device);
  set_stack(stack, job.cluster);
  for (const auto& [name, policy] : stack.collectives)
    for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::broadcast,
                                  CollectiveOp::reduce_scatter, CollectiveOp::barrier})
      if (op_name(op) == name) job.network.collectives[op] = read_policy(op, policy);
}

inline AllReduce sum_of_bytes(double bytes) {
  AllReduce operation;
  operation.bytes = bytes;
  return operation;
}

}  // namespace simsgd::test::stacks
