#include "cli/graphs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/mixing.hpp"
#include "cli/plugin_options.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

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

}  // namespace simsgd
