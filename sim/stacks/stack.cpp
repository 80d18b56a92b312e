#include "sim/stacks/stack.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace simsgd {

namespace {

/// A cost of the host that a stack may say in its own words.
struct HostCost {
  const char *of_stack, *of_host;
  bool said, given;
};

std::vector<HostCost> host_costs(const StackCosts& said, const HostCosts& given) {
  return {{"launch", "launch", said.launch_s.known(), given.launch_s.known()},
          {"tensor", "tensor", said.tensor_s.known(), given.tensor_s.known()},
          {"buffer_bandwidth", "pack", said.buffer_Bps.known(), given.pack_s_per_byte.known()},
          {"staging_bandwidth", "staging_bandwidth", said.staging_Bps.known(), given.staging_Bps.known()},
          {"host_buffers", "staged", said.host_buffers.has_value(), given.staged.has_value()},
          {"host_buffers", "staging_bandwidth", said.host_buffers.has_value(), given.staging_Bps.known()},
          {"reduce", "reduce", said.reduce_s_per_byte.known(), given.reduce_s_per_byte.known()}};
}

/// Of a method's own work on the host, which is not a library's.
std::vector<std::string> given_costs(const HostCosts& given) {
  std::vector<std::string> keys;
  for (const HostCost& each : host_costs({}, given))
    if (each.given && (keys.empty() || keys.back() != each.of_host)) keys.emplace_back(each.of_host);
  if (given.scale_s_per_byte.known()) keys.emplace_back("scale");
  if (given.copy_s.known()) keys.emplace_back("copy");
  if (given.merge_s.known()) keys.emplace_back("merge");
  if (given.scatter_add_s.known()) keys.emplace_back("scatter_add");
  return keys;
}

std::string quoted_list(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", key);
  return text;
}

constexpr const char* kEmptyHost =
    "Leave out \"host\" (on the command line --set /cluster/host={}), or the stack";

void add_of_host(const Stack& stack, const HostCosts& given, std::vector<StackConflict>& found) {
  if (stack.free) {
    if (const std::vector<std::string> keys = given_costs(given); !keys.empty())
      found.push_back({"",
                       fmt::format("models only the network, but the cluster's \"host\" says what {} cost{}",
                                   quoted_list(keys), keys.size() == 1 ? "s" : ""),
                       kEmptyHost});
  }
  for (const HostCost& each : host_costs(stack.costs, given))
    if (each.said && each.given)
      found.push_back({fmt::format("/{}", each.of_stack),
                       fmt::format("is given twice: the cluster's \"host\" sets \"{}\"", each.of_host),
                       fmt::format("Leave out one of them, here or /cluster/host/{}", each.of_host)});
  if (given.overlap_s > 0)
    found.push_back(
        {"",
         "derives the overlap of communication from the layers' ready times, but the cluster's \"host\" sets \"overlap\"",
         "Set /cluster/host/overlap to 0, or leave out the stack"});
}

}  // namespace

void StackCosts::fields(Fields& f) {
  f.time("launch", launch_s, "A worker's host spends this long on each operation before the first byte moves")
      .by_rule("as the cluster's \"host\" says");
  f.time(
      "message", message_s,
      "Each message, of an operation or between two workers, takes this long in addition to the links' latency");
  f.time("tensor", tensor_s, "Time of each tensor that is copied into a buffer which several share")
      .by_rule("as the cluster's \"host\" says");
  f.bandwidth(
       "buffer_bandwidth", buffer_Bps,
       "Tensors are copied with this bandwidth into a buffer that several share, before an operation, and out of it afterwards")
      .by_rule("as the cluster's \"host\" says (\"pack\"), else a copy on the device");
  f.flag(
       "host_buffers", host_buffers,
       "Whether messages leave from the host's memory; payloads are then copied to it before an operation, and back afterwards")
      .by_rule("as the cluster's \"host\" says (\"staged\")");
  f.bandwidth("staging_bandwidth", staging_Bps, "These copies have this bandwidth, each way")
      .by_rule("the device's copy_bandwidth");
  f.number("reduce", reduce_s_per_byte, "Time to add each byte that arrived to the local sum")
      .at_least(0)
      .by_rule("as the cluster's \"host\" says");
  f.number(
       "slowdown", slowdown,
       "Computing takes 1 + this times as long while an operation is in progress, in place of the device's communication_slowdown")
      .at_least(0)
      .by_rule("as the device says");
}

Stack make_stack(const Json& object, const StackContext& context) {
  Stack stack =
      find_plugin(stack_plugins(), RawValue(object).name(), "communication stack").make(object, context);
  stack.name = RawValue(object).name();
  return stack;
}

std::vector<StackConflict> conflicts(const Stack& stack, const HostCosts& given, const Json& collectives) {
  std::vector<StackConflict> found;
  add_of_host(stack, given, found);
  for (const auto& [operation, policy] : stack.collectives)
    if (collectives.contains(operation))
      found.push_back(
          {"", fmt::format("defines how {} is done, and so do the cluster's \"collectives\"", operation),
           fmt::format(
               "Leave out /cluster/collectives/{}, or override it for a run in the section \"network\"",
               operation)});
  if (!stack.free) return found;
  for (const auto& [operation, policy] : collectives.items())
    if (!policy.is_string())
      found.push_back(
          {"",
           fmt::format("models only the network, but the cluster's \"collectives\" add costs to {}",
                       operation),
           fmt::format("Name a schedule in /cluster/collectives/{}, or leave it out", operation)});
  return found;
}

void set_stack_costs(const Stack& stack, HostCosts& host) {
  if (stack.free) {
    host = HostCosts{.launch_s = 0,
                     .pack_s_per_byte = 0,
                     .staging_Bps = 0,
                     .reduce_s_per_byte = 0,
                     .overlap_s = 0,
                     .tensor_s = 0,
                     .scale_s_per_byte = 0,
                     .copy_s = 0,
                     .merge_s = 0,
                     .scatter_add_s = 0,
                     .staged = false};
    return;
  }
  const StackCosts& said = stack.costs;
  if (said.launch_s.known()) host.launch_s = said.launch_s;
  if (said.tensor_s.known()) host.tensor_s = said.tensor_s;
  if (said.buffer_Bps.known()) host.pack_s_per_byte = 1 / said.buffer_Bps;
  if (said.reduce_s_per_byte.known()) host.reduce_s_per_byte = said.reduce_s_per_byte;
  if (said.host_buffers) host.staged = said.host_buffers;
  if (said.staging_Bps.known() && host.staged.value_or(true)) host.staging_Bps = said.staging_Bps;
  host.message_s = said.message_s;
}

void set_stack(const Stack& stack, Cluster& cluster) {
  cluster.handover = stack.handover;
  Device& device = cluster.device;
  if (stack.costs.slowdown) device.communication_slowdown = *stack.costs.slowdown;
  if (!stack.free) return;
  device.communication_slowdown = 0;
  device.communication_share = 1;
}

}  // namespace simsgd
