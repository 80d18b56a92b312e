// A communication stack: how a library turns an operation into messages, and what that costs. A plug-in per
// library, one file each in this folder, listed in CMakeLists.txt. It adds no mechanism of its own to
// operations: it says host costs, policies by size (policy.hpp), how operations are handed over
// (sim/cluster/cluster.hpp) and by how much communication slows computing, and set_stack writes them into
// the cluster. Algorithms see no difference. docs/stacks.md
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/collectives/operation.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// What a stack may look at of the cluster.
struct StackContext {
  double gpu_link_Bps = 0;  ///< 0: one GPU per node
  double nic_Bps = 0;
  int workers = 0, gpus_per_node = 0;  ///< 0: not known
  int nics = 1;                        ///< of a node
  int compute_capability = 0;          ///< of the device, times ten; 0: not known
  bool one_node() const { return workers > 0 && workers <= gpus_per_node; }
};

/// Costs that every library has. What is not said is as the cluster's `host` says.
struct StackCosts {
  Cost launch_s{}, tensor_s{}, buffer_Bps{}, staging_Bps{}, reduce_s_per_byte{};
  std::optional<bool> host_buffers{};
  std::optional<double> slowdown{};
  double message_s = 0;

  void fields(Fields& f);
};

/// What a stack says.
struct Stack {
  std::string name{};
  StackCosts costs{};
  /// How operations are done, by name, as a cluster's `collectives` would say it.
  std::vector<std::pair<std::string, Json>> collectives{};
  Handover handover{.single_in_place = true};
  bool free = false;  ///< the network alone: no work of hosts, nothing slows anything
};

using StackPlugin = Plugin<Stack, const StackContext&>;

const std::vector<StackPlugin>& stack_plugins();

/// The stack that `object` describes. Throws ParameterError.
Stack make_stack(const Json& object, const StackContext& context);

/// A policy with the defaults of its entries, as a document shows it.
Json completed_policy(CollectiveOp op, Json policy);

/// What the cluster says too, which is one too many: the key of the stack's object ("" for all of it), and
/// why. `given`: the cluster's host costs before they are completed; `operations`: those that its
/// `collectives` name, with whether something is added to their messages.
struct StackConflict {
  std::string key, problem, remedy;
};
std::vector<StackConflict> conflicts(const Stack& stack, const HostCosts& given, const Json& collectives);

/// Writes what the stack says into host costs that are not completed yet.
void set_stack_costs(const Stack& stack, HostCosts& host);
/// And the rest into the cluster.
void set_stack(const Stack& stack, Cluster& cluster);

}  // namespace simsgd
