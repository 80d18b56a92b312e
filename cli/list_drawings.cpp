// Logical graphs and physical networks, as `simsgd list` shows and draws them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/mixing.hpp"
#include "cli/list.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

/// Whether what a plug-in requires may be left out, because a file gives it.
enum class Absent : bool { refused, allowed };

/// A value is JSON where it parses, else text.
void set_option(const std::string& kind, const PluginInfo& info, const Json& form, const std::string& text,
                Json& object) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals).substr(text.starts_with("/") ? 1 : 0);
  std::vector<std::string> known;
  for (const auto& property : form["properties"].items())
    if (property.key() != "name") known.push_back(property.key());
  if (equals == std::string::npos || std::ranges::find(known, key) == known.end())
    throw ConfigError(InputError{
        "--set", "", "does not set a parameter of the " + kind + " \"" + info.name + "\"", text,
        known.empty() ? "It has no parameters" : "Write /key=value, where the key is " + one_of(known)});
  const std::string value = text.substr(equals + 1);
  const Json json = Json::parse(value, nullptr, false);
  object[key] = json.is_discarded() ? Json(value) : json;
}

/// A plug-in's object as a scenario would write it: each of `set` is "/key=value". Throws ConfigError for a
/// key that it does not have, and where a required one is missing. `kind`: what messages call it, such as
/// "graph".
template <class P>
Json object_of(const std::string& kind, const P& plugin, const std::vector<std::string>& set,
               Absent missing = Absent::refused) {
  Json form;
  plugin.form(form);
  const PluginInfo& info = plugin.info;
  Json object = {{"name", info.name}};
  for (const std::string& each : set) set_option(kind, info, form, each, object);
  for (const Json& key : form["required"])
    if (missing == Absent::refused && !object.contains(key))
      throw ConfigError(InputError{"--set", "", "is missing for the " + kind + " \"" + info.name + "\"", "",
                                   "Write --set /" + key.get<std::string>() + "=VALUE"});
  return object;
}

constexpr int kExampleWorkers[] = {16, 8};

LogicalGraph made(const GraphPlugin& plugin, const GraphOptions& options, int workers) {
  const Json object = object_of("graph", plugin, options.set);
  try {
    return make_graph({.workers = workers, .seed = options.seed}, object);
  } catch (const ParameterError& error) {
    throw ConfigError(InputError{fmt::format("graph of {} workers", workers), error.key, error.problem,
                                 plugin.info.name, error.remedy});
  }
}

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
  const Json object = object_of("topology", plugin, options.set, Absent::allowed);
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

LogicalGraph graph_of(const GraphPlugin& plugin, const GraphOptions& options) {
  if (options.workers > 0) return made(plugin, options, options.workers);
  const std::optional<LogicalGraph> example = example_of(plugin, options);
  return example ? *example : made(plugin, options, kExampleWorkers[0]);
}

std::optional<LogicalGraph> example_of(const GraphPlugin& plugin, const GraphOptions& options) {
  for (const int workers : kExampleWorkers) {
    try {
      return made(plugin, options, options.workers > 0 ? options.workers : workers);
    } catch (const ConfigError&) {
      continue;
    }
  }
  return std::nullopt;
}

Json graph_facts(const LogicalGraph& graph) {
  int least = graph.max_degree();
  for (int worker = 0; worker < graph.workers; ++worker) least = std::min(least, graph.degree(worker));
  Json facts = {{"workers", graph.workers},
                {"edges", graph.edges.size()},
                {"degree_min", least},
                {"degree_max", graph.max_degree()},
                {"matchings", graph.matchings.size()}};
  if (graph.workers < 2) return facts;
  if (!graph.laplacian_eigenvalues.empty()) {
    const double alpha = best_laplacian_alpha(graph);
    facts["laplacian_second"] = graph.algebraic_connectivity();
    facts["laplacian_last"] = graph.laplacian_eigenvalues.back();
    facts["alpha"] = alpha;
    facts["spectral_gap_laplacian"] = alpha * graph.algebraic_connectivity();
  }
  if (graph.workers <= kMostForEigenvalues)
    facts["spectral_gap_metropolis"] = spectral_gap(graph, metropolis_weights(graph));
  return facts;
}

std::vector<std::string> graph_lines(const Json& facts) {
  const auto degrees =
      facts["degree_min"] == facts["degree_max"]
          ? fmt::format("{}", facts["degree_max"].get<int>())
          : fmt::format("{} to {}", facts["degree_min"].get<int>(), facts["degree_max"].get<int>());
  std::vector<std::string> lines = {fmt::format("With {} workers: {} edges, degree {}, {} matchings",
                                                facts["workers"].get<int>(), facts["edges"].get<int>(),
                                                degrees, facts["matchings"].get<int>())};
  if (facts.contains("spectral_gap_metropolis"))
    lines.push_back(fmt::format("  Spectral gap with Metropolis weights: {:.6g}",
                                facts["spectral_gap_metropolis"].get<double>()));
  if (facts.contains("alpha")) {
    lines.push_back(fmt::format("  Laplacian eigenvalues: second {:.6g}, last {:.6g}",
                                facts["laplacian_second"].get<double>(),
                                facts["laplacian_last"].get<double>()));
    lines.push_back(fmt::format("  Spectral gap of I - alpha L with the best alpha, {:.6g}: {:.6g}",
                                facts["alpha"].get<double>(), facts["spectral_gap_laplacian"].get<double>()));
  }
  return lines;
}

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
