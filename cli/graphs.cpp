#include "cli/graphs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/mixing.hpp"
#include "scenarios/language/json_source.hpp"
#include "sim/base/errors.hpp"
#include "topologies/graph_registry.hpp"

namespace simsgd {

namespace {

constexpr int kExampleWorkers[] = {16, 8};

/// "/key=value": a value is JSON where it parses, else text.
void set_parameter(const PluginInfo& plugin, const std::string& text, Json& parameters) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals).substr(text.starts_with("/") ? 1 : 0);
  std::vector<std::string> known;
  for (const auto& property : plugin.properties.items()) known.push_back(property.key());
  if (equals == std::string::npos || std::find(known.begin(), known.end(), key) == known.end())
    throw ConfigError(
        InputError{"--set", "", "sets no parameter of the graph \"" + plugin.name + "\"", text,
                   known.empty() ? "It has none" : "Write /key=value, where the key is " + one_of(known)});
  const std::string value = text.substr(equals + 1);
  const Json json = Json::parse(value, nullptr, false);
  parameters[key] = json.is_discarded() ? Json(value) : json;
}

GraphRequest request_of(const PluginInfo& plugin, const GraphOptions& options, int workers) {
  Json parameters = {{"name", plugin.name}};
  for (const std::string& each : options.set) set_parameter(plugin, each, parameters);
  for (const std::string& key : plugin.required)
    if (!parameters.contains(key))
      throw ConfigError(InputError{"--set", "", "is missing for the graph \"" + plugin.name + "\"", "",
                                   "Write --set /" + key + "=VALUE"});
  return {.workers = workers,
          .seed = options.seed,
          .parameters = Parameters(parameters),
          .find_file = [](const std::string& name) { return name; }};
}

LogicalGraph made(const PluginInfo& plugin, const GraphOptions& options, int workers) {
  try {
    return make_graph(request_of(plugin, options, workers));
  } catch (const ParameterError& error) {
    throw ConfigError(InputError{fmt::format("graph of {} workers", workers), error.key, error.problem,
                                 plugin.name, error.remedy});
  } catch (const Json::exception&) {
    throw ConfigError(InputError{"--set", "", "does not fit the graph's parameters",
                                 fmt::format("{}", fmt::join(options.set, " ")),
                                 "See `simsgd list graphs " + plugin.name + "`"});
  }
}

}  // namespace

LogicalGraph graph_of(const PluginInfo& plugin, const GraphOptions& options) {
  if (options.workers > 0) return made(plugin, options, options.workers);
  const std::optional<LogicalGraph> example = example_of(plugin, options);
  return example ? *example : made(plugin, options, kExampleWorkers[0]);
}

std::optional<LogicalGraph> example_of(const PluginInfo& plugin, const GraphOptions& options) {
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

}  // namespace simsgd
