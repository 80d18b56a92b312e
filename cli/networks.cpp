#include "cli/networks.hpp"

#include <fmt/format.h>

#include <optional>

#include "cli/plugin_options.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

constexpr int kExampleNodes = 16;

/// Two rails, so that a drawing shows them.
NodeShape example_shape(int nodes) {
  NodeShape shape;
  shape.nodes = nodes;
  shape.gpus_per_node = shape.nics = 2;
  shape.gpu_link_Bps = 100e9;
  shape.nic_Bps = 1e9;
  shape.nic_latency_s = 2e-6;
  shape.find_file = scenario_path;
  return shape;
}

std::string drawn_cluster(const TopologyPlugin& plugin, const NetworkOptions& options) {
  Overrides overrides;
  const Json object = object_of("topology", plugin, options.set, Missing::allowed);
  for (const auto& [key, value] : object.items())
    if (key != "name") overrides.set.emplace_back("/cluster/topology/" + key, value.dump());
  const std::optional<int> workers = options.workers > 0 ? std::optional(options.workers) : std::nullopt;
  const Network network = load_cluster(options.cluster, workers, overrides).cluster.network;
  if (network.topology != plugin.info.name)
    throw ConfigError(InputError{"NAME", "", "is not the topology of " + options.cluster, plugin.info.name,
                                 "Write " + network.topology});
  return to_dot(network);
}

}  // namespace

std::string drawn_network(const TopologyPlugin& plugin, const NetworkOptions& options) {
  if (!options.cluster.empty()) return drawn_cluster(plugin, options);
  // A switch tree has no default for the one number that it is made of.
  std::vector<std::string> set = options.set;
  if (plugin.info.name == "switch_tree" && set.empty()) set = {"/ports=8"};
  const int nodes = options.workers > 0 ? options.workers : kExampleNodes;
  try {
    return to_dot(plugin.make(object_of("topology", plugin, set), example_shape(nodes)));
  } catch (const ParameterError& error) {
    throw ConfigError(InputError{fmt::format("network of {} nodes", nodes), error.key, error.problem,
                                 plugin.info.name, error.remedy});
  }
}

}  // namespace simsgd
