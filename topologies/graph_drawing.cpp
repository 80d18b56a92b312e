#include <fmt/format.h>

#include "topologies/graph_registry.hpp"

namespace simsgd {

std::string to_dot(const LogicalGraph& graph) {
  std::string text = fmt::format("graph \"{}\" {{\n  layout=circo;\n  node [shape=circle];\n", graph.name);
  for (int worker = 0; worker < graph.workers; ++worker) text += fmt::format("  {};\n", worker);
  for (std::size_t m = 0; m < graph.matchings.size(); ++m) {
    // Hues as far apart as they can be.
    const double hue = static_cast<double>(m) / static_cast<double>(graph.matchings.size());
    for (const auto& [a, b] : graph.matchings[m])
      text += fmt::format("  {} -- {} [color=\"{:.3f} 0.8 0.7\", matching={}];\n", a, b, hue, m);
  }
  return text + "}\n";
}

}  // namespace simsgd
