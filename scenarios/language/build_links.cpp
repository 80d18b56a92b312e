// Slow and jittery links: what "network" says of links that differ from what the cluster says.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/language/build.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

/// The links between a node and the network.
std::vector<LinkId> cables_of(const Cluster& cluster, int node) {
  const int interior = cluster.network.endpoints + node;
  const int first_switch = cluster.network.endpoints + cluster.nodes;
  std::vector<LinkId> found;
  for (std::size_t id = 0; id < cluster.network.links.size(); ++id) {
    const Link& link = cluster.network.links[id];
    if ((link.from_vertex == interior && link.to_vertex >= first_switch) ||
        (link.to_vertex == interior && link.from_vertex >= first_switch))
      found.push_back(static_cast<LinkId>(id));
  }
  return found;
}

std::vector<LinkId> links_of_nodes(const Cluster& cluster, const std::vector<int>& nodes) {
  std::vector<LinkId> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string key = fmt::format("nodes/{}", i);
    if (nodes[i] >= cluster.nodes)
      Parameters::reject(key, fmt::format("is no node of the cluster, which has {}", cluster.nodes),
                         fmt::format("Write numbers from 0 to {}", cluster.nodes - 1));
    const std::vector<LinkId> cables = cables_of(cluster, nodes[i]);
    if (cables.empty())
      Parameters::reject(key, "has no cables that the topology tells apart", "Name them in \"links\"");
    found.insert(found.end(), cables.begin(), cables.end());
  }
  return found;
}

std::vector<LinkId> links_by_name(const Network& network, const std::vector<std::string>& names) {
  std::vector<LinkId> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto link = std::find_if(network.links.begin(), network.links.end(),
                                   [&](const Link& each) { return each.name == names[i]; });
    if (link != network.links.end()) {
      found.push_back(static_cast<LinkId>(link - network.links.begin()));
      continue;
    }
    std::vector<std::string> valid;
    for (const Link& each : network.links) valid.push_back(each.name);
    const std::string guess = nearest(names[i], valid);
    Parameters::reject(fmt::format("links/{}", i), "is no link of the network",
                       guess.empty() ? fmt::format("Links have names such as \"{}\"", valid.front())
                                     : fmt::format("Did you mean \"{}\"?", guess));
  }
  return found;
}

std::vector<LinkId> selected(const Cluster& cluster, const Parameters& entry) {
  std::vector<LinkId> all;
  if (!entry.has("nodes") && !entry.has("links"))
    for (std::size_t id = 0; id < cluster.network.links.size(); ++id) all.push_back(static_cast<LinkId>(id));
  if (entry.has("nodes")) all = links_of_nodes(cluster, entry.json()["nodes"].get<std::vector<int>>());
  if (entry.has("links"))
    for (const LinkId id :
         links_by_name(cluster.network, entry.json()["links"].get<std::vector<std::string>>()))
      all.push_back(id);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

void build_slow_links(const Reader& reader, Cluster& cluster) {
  if (!reader.usable("/network")) return;
  for (std::size_t i = 0; i < reader.value("/network/slow_links").size(); ++i) {
    const std::string pointer = child("/network/slow_links", i);
    reader.attempt(pointer, [&] {
      const Parameters entry = reader.parameters(pointer);
      for (const LinkId id : selected(cluster, entry)) {
        Link& link = cluster.network.links[static_cast<std::size_t>(id)];
        link.bandwidth_Bps *= entry.number("bandwidth_factor");
        link.latency_s += entry.quantity("extra_latency", Dimension::time_s);
        link.jitter_factor = entry.number("jitter_factor", link.jitter_factor);
      }
      return true;
    });
  }
}

}  // namespace simsgd
