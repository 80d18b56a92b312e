// What `simsgd list` knows of: the kinds, and the things of each, from the plug-ins' own tables and the
// scenario files; keys of scenario files (list.cpp); logical graphs, which depend on the number of workers,
// and physical networks, and their drawings (list_drawings.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "topologies/graphs/graph.hpp"
#include "topologies/topology.hpp"

namespace simsgd {

struct GraphOptions {
  int workers = 0;               ///< 0: 16, or as many as the graph has where it has a fixed number
  std::uint64_t seed = 1;        ///< of a graph that is drawn
  std::vector<std::string> set;  ///< "/key=value" for the graph's parameters
};

/// Throws ConfigError with the remedy where there is no such graph.
LogicalGraph graph_of(const GraphPlugin& plugin, const GraphOptions& options);
/// The same where nobody asked for a certain graph; nothing where there is none, as without a file's path.
std::optional<LogicalGraph> example_of(const GraphPlugin& plugin, const GraphOptions& options);

/// Keys: workers, edges, degree_min, degree_max, matchings; laplacian_second, laplacian_last, alpha (the best
/// one) and spectral_gap_laplacian where the eigenvalues are known; spectral_gap_metropolis.
Json graph_facts(const LogicalGraph& graph);
/// The same for people, in lines.
std::vector<std::string> graph_lines(const Json& facts);

struct NetworkOptions {
  std::string cluster;           ///< a cluster file, or a scenario with one; empty: an example
  int workers = 0;               ///< nodes of the example; 0: 16. Of a cluster: its workers; 0: as it says
  std::vector<std::string> set;  ///< "/key=value" for the topology's parameters
};

/// The network in DOT: of the example, nodes with two GPUs, two NICs of 1 GB/s and 2 us, and the parameters
/// in `set`; or of the cluster. Throws ConfigError where there is no such network.
std::string drawn_network(const TopologyPlugin& plugin, const NetworkOptions& options);

/// One thing that can be listed. `details` are lines for `list KIND NAME`.
struct ListedItem {
  std::string name, summary, citation;
  std::vector<std::string> details = {};
  Json properties = Json::object();
  Json facts{};    ///< of a graph, what --json adds; null: nothing
  Json numbers{};  ///< of a file, the same
  Json kernels{};  ///< of a device, the same
  Json uses{};     ///< of an algorithm, the same
};

struct ListedKind {
  std::string name, summary;
  /// `name` is the one that is asked for, or empty; of graphs alone it and `options` matter.
  std::function<std::vector<ListedItem>(const std::string& name, const GraphOptions& options)> items;
};

/// By name.
const std::vector<ListedKind>& listed_kinds();
/// Their names.
std::vector<std::string> list_kinds();

/// What `list KEY --json` prints: the key once for each plug-in that has it, and the objects at its place.
Json key_json(const std::string& text);

/// Keys as `list` takes them: "cluster/device/memory".
std::vector<std::string> key_names();

}  // namespace simsgd
