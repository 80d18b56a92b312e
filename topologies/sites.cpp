// Sites: data centres with a fast network each, and slow links between every two of them. A site's NICs are
// on one non-blocking switch. A message to another site crosses {up of the sender's NIC, uplink of its site,
// the link between the two sites, uplink of the other site, down of the receiver's NIC}; a link has a channel
// for each direction, an uplink exists where it has a bandwidth.
//   TCP: a stream has at most its window on the way (RFC 7323, section 1.1), so one node sends at most
//   streams * tcp_window / (2 one-way latency) bytes a second to another
// Tests: tests/topologies/sites.cpp.
#include <fmt/format.h>

#include <limits>
#include <map>
#include <optional>

#include "topologies/topology.hpp"

namespace simsgd::topologies {

namespace {

constexpr double kBytesPerGB = 1e9;

struct Site {
  std::string name;
  std::optional<int> nodes;
  std::optional<double> uplink_Bps;
  double price_usd_per_GB = 0;

  void fields(Fields& f) {
    f.text("name", name, "Name of the site, as `links` has it").least_characters(1).required();
    count_field(f, "nodes", nodes, "The site has this many nodes; those of the first site come first")
        .by_rule("what others leave, in equal shares");
    f.bandwidth(
         "uplink", uplink_Bps,
         "Everything that the site sends to other sites shares this bandwidth; so does everything it receives")
        .by_rule("no limit");
    f.number("price_usd_per_GB", price_usd_per_GB,
             "Price of 10^9 bytes that leave the site; cost_usd includes it")
        .at_least(0);
  }
};

/// Between two sites, both ways.
struct SiteLink {
  std::vector<std::string> between;
  double bandwidth_Bps = 0, latency_s = 0;

  void fields(Fields& f) {
    f.list("between", between, "The two sites that the link joins", "The name of a site")
        .least_items(2)
        .required();
    f.bandwidth("bandwidth", bandwidth_Bps, "The link has this bandwidth, in each direction").required();
    f.time("latency", latency_s,
           "A message takes this long from site to site, one way, in addition to the NIC's latency")
        .required();
  }
};

struct SitesOptions {
  std::vector<Site> sites;
  std::vector<SiteLink> links;
  std::optional<double> bandwidth_Bps, tcp_window_bytes;
  double latency_s = 0;
  int streams = 1;

  void fields(Fields& f) {
    f.objects("sites", sites, "The data centres", "One of them").least_items(1).required();
    f.objects("links", links, "Links between two sites", "One of them");
    f.bandwidth(
         "bandwidth", bandwidth_Bps,
         "Two sites that no entry of `links` joins have this bandwidth between them, in each direction")
        .by_rule("none: each two sites need an entry");
    f.time("latency", latency_s,
           "Between two sites that no entry of `links` joins a message takes this long, one way");
    f.bytes(
         "tcp_window", tcp_window_bytes,
         "Most bytes that a TCP stream between sites has on the way, which limits what one node sends to another")
        .above(0)
        .by_rule("no limit");
    f.whole("streams", streams, "Two nodes of different sites use this many TCP streams, in each direction")
        .at_least(1)
        .at_most(kLargestCount);
  }
};

/// What is wrong with one entry of a list, named by its path.
[[noreturn]] void reject_entry(std::string_view list, std::size_t i, std::string_view key,
                               const std::string& problem, const std::string& remedy) {
  reject(fmt::format("{}/{}/{}", list, i, key), problem, remedy);
}

/// The first node of each site, and after the last one the number of nodes.
std::vector<int> first_nodes(const std::vector<Site>& sites, int nodes) {
  int given = 0, open = 0;
  for (const Site& site : sites) {
    given += site.nodes.value_or(0);
    open += site.nodes ? 0 : 1;
  }
  const int left = nodes - given;
  if (open == 0 && left != 0)
    reject("sites", fmt::format("have {} nodes in total, and the cluster has {}", given, nodes),
           fmt::format("Give them {} in total, or leave out `nodes`", nodes));
  if (open > 0 && (left < open || left % open != 0))
    reject("sites",
           fmt::format("cannot share {} nodes equally among the {} sites without `nodes`", std::max(left, 0),
                       open),
           "Give each site its `nodes`");
  std::vector<int> first = {0};
  for (const Site& site : sites) first.push_back(first.back() + (site.nodes ? *site.nodes : left / open));
  return first;
}

struct Pair {
  double bandwidth_Bps = 0, latency_s = 0;
};

/// By the indices of two sites, the lower one first.
std::map<std::pair<int, int>, Pair> pairs_of(const SitesOptions& options) {
  const auto count = static_cast<int>(options.sites.size());
  std::map<std::string, int> index;
  for (int i = 0; i < count; ++i) {
    const std::string& name = options.sites[static_cast<std::size_t>(i)].name;
    if (!index.emplace(name, i).second)
      reject_entry("sites", static_cast<std::size_t>(i), "name", fmt::format("repeats the name \"{}\"", name),
                   "Give each site its own name");
  }
  std::map<std::pair<int, int>, Pair> pairs;
  for (std::size_t i = 0; i < options.links.size(); ++i) {
    const SiteLink& link = options.links[i];
    if (link.between.size() != 2)
      reject_entry("links", i, "between", fmt::format("names {} sites", link.between.size()),
                   "Name two sites");
    for (const std::string& name : link.between)
      if (!index.contains(name))
        reject_entry("links", i, "between", fmt::format("names \"{}\", which is not a site", name),
                     "Name sites of `sites`");
    const auto [from, to] = std::minmax(index[link.between[0]], index[link.between[1]]);
    if (from == to) reject_entry("links", i, "between", "joins a site to itself", "Name two sites");
    if (!pairs.emplace(std::pair(from, to), Pair{link.bandwidth_Bps, link.latency_s}).second)
      reject_entry(
          "links", i, "between",
          fmt::format("is the second link between \"{}\" and \"{}\"", link.between[0], link.between[1]),
          "Give each pair of sites one link");
  }
  for (int from = 0; from < count; ++from)
    for (int to = from + 1; to < count; ++to) {
      if (pairs.contains({from, to})) continue;
      if (!options.bandwidth_Bps)
        reject(
            "links",
            fmt::format("do not join \"{}\" and \"{}\"", options.sites[static_cast<std::size_t>(from)].name,
                        options.sites[static_cast<std::size_t>(to)].name),
            "Add that link, or give `bandwidth` and `latency` for all pairs without one");
      pairs[{from, to}] = {*options.bandwidth_Bps, options.latency_s};
    }
  return pairs;
}

/// What the routing rule needs.
struct SiteRoutes {
  std::vector<int> site_of_node, first_node, nodes;
  std::vector<LinkId> uplink;               ///< of each site, towards the others; -1: none
  std::vector<std::vector<LinkId>> link;    ///< [from site][to site]
  std::vector<std::vector<LinkId>> window;  ///< the first of each pair of nodes; -1: none

  void between(int from_node, int to_node, std::vector<LinkId>& path) const {
    const auto from = static_cast<std::size_t>(site_of_node[static_cast<std::size_t>(from_node)]);
    const auto to = static_cast<std::size_t>(site_of_node[static_cast<std::size_t>(to_node)]);
    if (from == to) return;
    if (uplink[from] >= 0) path.push_back(uplink[from]);
    if (window[from][to] >= 0)
      path.push_back(window[from][to] + (from_node - first_node[from]) * nodes[to] + to_node -
                     first_node[to]);
    path.push_back(link[from][to]);
    if (uplink[to] >= 0) path.push_back(uplink[to] + 1);
  }
};

/// One link for each node of a site and each of another one, where the window is narrower than their way.
LinkId add_windows(Network& network, const SitesOptions& options, const NodeShape& shape,
                   const SiteRoutes& routes, std::size_t from, std::size_t to, const Pair& pair) {
  if (!options.tcp_window_bytes) return -1;
  const double round_trip_s = 2 * (shape.nic_latency_s + pair.latency_s);
  const double window_Bps = round_trip_s > 0 ? options.streams * *options.tcp_window_bytes / round_trip_s
                                             : std::numeric_limits<double>::infinity();
  if (window_Bps >= std::min(shape.nic_Bps, pair.bandwidth_Bps)) return -1;
  check_cables("tcp_window", static_cast<std::int64_t>(routes.nodes[from]) * routes.nodes[to]);
  const auto first = static_cast<LinkId>(network.links.size());
  for (int a = 0; a < routes.nodes[from]; ++a)
    for (int b = 0; b < routes.nodes[to]; ++b)
      network.add_link(
          {fmt::format("node{}.tcp.node{}", routes.first_node[from] + a, routes.first_node[to] + b),
           window_Bps, 0});
  return first;
}

Network make_sites(const SitesOptions& options, const NodeShape& shape) {
  const auto pairs = pairs_of(options);
  const std::vector<int> first = first_nodes(options.sites, shape.nodes);
  const std::size_t count = options.sites.size();
  SiteRoutes routes;
  routes.first_node.assign(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < count; ++i) {
    routes.nodes.push_back(first[i + 1] - first[i]);
    routes.site_of_node.insert(routes.site_of_node.end(), static_cast<std::size_t>(routes.nodes[i]),
                               static_cast<int>(i));
  }
  routes.uplink.assign(count, -1);
  routes.link.assign(count, std::vector<LinkId>(count, -1));
  routes.window = routes.link;

  Network network;
  network.topology = "sites";
  // A switch for each site, and behind an uplink a second one, its gate to the others.
  std::vector<int> gate(count);
  int switches = static_cast<int>(count);
  for (std::size_t i = 0; i < count; ++i)
    gate[i] = options.sites[i].uplink_Bps ? switches++ : static_cast<int>(i);
  const NodeLinks nodes(network, shape, switches,
                        [&](int node) { return routes.site_of_node[static_cast<std::size_t>(node)]; });
  const int first_switch = NodeLinks::first_switch(shape);
  for (std::size_t i = 0; i < count; ++i)
    if (const Site& site = options.sites[i]; site.uplink_Bps)
      routes.uplink[i] = network.add_cable({site.name + ".uplink", *site.uplink_Bps, 0,
                                            first_switch + static_cast<int>(i), first_switch + gate[i]},
                                           site.name + ".downlink");
  for (const auto& [ends, pair] : pairs) {
    const auto a = static_cast<std::size_t>(ends.first), b = static_cast<std::size_t>(ends.second);
    const Site &one = options.sites[a], &other = options.sites[b];
    const LinkId id = network.add_cable({fmt::format("{}.{}", one.name, other.name), pair.bandwidth_Bps,
                                         pair.latency_s, first_switch + gate[a], first_switch + gate[b]},
                                        fmt::format("{}.{}", other.name, one.name));
    network.links[static_cast<std::size_t>(id)].price_usd_per_byte = one.price_usd_per_GB / kBytesPerGB;
    network.links[static_cast<std::size_t>(id) + 1].price_usd_per_byte = other.price_usd_per_GB / kBytesPerGB;
    routes.link[a][b] = id;
    routes.link[b][a] = id + 1;
  }
  for (const auto& [ends, pair] : pairs) {
    const auto a = static_cast<std::size_t>(ends.first), b = static_cast<std::size_t>(ends.second);
    routes.window[a][b] = add_windows(network, options, shape, routes, a, b, pair);
    routes.window[b][a] = add_windows(network, options, shape, routes, b, a, pair);
  }
  nodes.route(network, [nodes, routes = std::move(routes)](int from, int to, std::vector<LinkId>& path) {
    routes.between(nodes.node_of(from), nodes.node_of(to), path);
  });
  return network;
}

}  // namespace

std::vector<TopologyPlugin> sites() {
  return {
      {{.name = "sites",
        .summary =
            "data centres with a fast network each and slow links between them, with TCP windows and prices",
        .citation = ""},
       make_sites}};
}

}  // namespace simsgd::topologies
