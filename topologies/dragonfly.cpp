// Dragonfly: groups of routers, nodes on every router, cables between every two groups.
//   In a group the routers form a grid of rows x columns; those of a row are joined all to all, and those of
//   a column. rows = 1 gives the canonical dragonfly (Kim, Dally, Scott, Abts, ISCA 2008, doi
//   10.1109/ISCA.2008.19). The defaults are Cray Aries (Faanes et al., SC'12, doi 10.1109/SC.2012.39).
//   Every two groups are joined by `global_links` cables. Cable j of group a to group b sits on router
//   floor((j (groups - 1) + p) routers / (global_links (groups - 1))), p = b's place among a's peers: every
//   router has the same number of cables up to one, and those of a pair are on different routers.
// Minimal routing: at most one cable between groups, the one with the fewest hops to and from it; among
// equals the first one counted from (destination node) mod global_links, which spreads destinations. Rows
// before columns. Adaptive and non-minimal routing are not modelled: a real Aries spreads hot spots better.
// A route costs O(global_links) comparisons. Nodes fill routers, then groups, in order. Tests:
// tests/topologies/dragonfly.cpp.
#include <algorithm>
#include <optional>

#include "topologies/topology.hpp"

namespace simsgd::topologies {

namespace {

constexpr int kAriesGlobalPorts = 10;  // per router; Faanes et al., SC'12

/// Place of the pair i < j in the list of all pairs of n things.
constexpr int pair_index(int i, int j, int n) { return i * (2 * n - i - 1) / 2 + (j - i - 1); }
template <class Integer>
constexpr Integer pairs(Integer n) {
  return n * (n - 1) / 2;
}

struct Shape {
  int nodes_per_router, rows, columns, groups, global_links;

  int routers() const { return rows * columns; }
  int router_of(int node) const { return node / nodes_per_router; }  ///< among all groups
  /// Router in group `group` that cable `j` to group `peer` is plugged into.
  int gateway(int group, int peer, int j) const {
    const std::int64_t place = static_cast<std::int64_t>(j) * (groups - 1) + (peer < group ? peer : peer - 1);
    return static_cast<int>(place * routers() / (static_cast<std::int64_t>(global_links) * (groups - 1)));
  }
};

/// A router in the grid of its group.
struct Place {
  int row = 0, column = 0;
};

int hops(Place a, Place b) { return (a.row != b.row) + (a.column != b.column); }

class Dragonfly {
 public:
  explicit Dragonfly(const Shape& shape) : shape_(shape) {
    for (int group = 0; group < shape_.groups; ++group)
      for (int peer = 0; peer < shape_.groups; ++peer)
        for (int j = 0; j < shape_.global_links; ++j)
          gateways_.push_back(group == peer ? Place{} : place_of(shape_.gateway(group, peer, j)));
  }

  /// Numbers of the cables; a cable's two directions are 2 * cable and 2 * cable + 1.
  int cables_per_group() const {
    return shape_.rows * pairs(shape_.columns) + shape_.columns * pairs(shape_.rows);
  }
  int row_cable(int row, int i, int j) const {
    return row * pairs(shape_.columns) + pair_index(i, j, shape_.columns);
  }
  int column_cable(int column, int i, int j) const {
    return shape_.rows * pairs(shape_.columns) + column * pairs(shape_.rows) + pair_index(i, j, shape_.rows);
  }
  int global_cable(int a, int b, int j) const {
    return shape_.groups * cables_per_group() + pair_index(a, b, shape_.groups) * shape_.global_links + j;
  }

  /// The directions crossed between two routers, both numbered among all groups.
  void route(int from, int to, int spread, LinkId first, std::vector<LinkId>& path) const {
    const int from_group = from / shape_.routers(), to_group = to / shape_.routers();
    const Place start = place_of(from % shape_.routers()), end = place_of(to % shape_.routers());
    if (from_group == to_group) return cross_group(from_group, start, end, first, path);
    const Place* out = gateways(from_group, to_group);
    const Place* in = gateways(to_group, from_group);
    const int j = nearest_cable(start, out, in, end, spread);
    cross_group(from_group, start, out[j], first, path);
    const bool forward = from_group < to_group;
    const int cable = forward ? global_cable(from_group, to_group, j) : global_cable(to_group, from_group, j);
    path.push_back(first + 2 * cable + !forward);
    cross_group(to_group, in[j], end, first, path);
  }

 private:
  Place place_of(int router) const { return {router / shape_.columns, router % shape_.columns}; }

  /// Where the cables of `group` to `peer` are plugged in, one after another.
  const Place* gateways(int group, int peer) const {
    return gateways_.data() + static_cast<std::ptrdiff_t>(group * shape_.groups + peer) * shape_.global_links;
  }

  int nearest_cable(Place start, const Place* out, const Place* in, Place end, int spread) const {
    int best = spread, fewest = 5;  // more than two hops on either side
    for (int i = 0, j = spread; i < shape_.global_links && fewest > 0; ++i) {
      const int length = hops(start, out[j]) + hops(in[j], end);
      if (length < fewest) {
        fewest = length;
        best = j;
      }
      if (++j == shape_.global_links) j = 0;
    }
    return best;
  }

  void cross_group(int group, Place from, Place to, LinkId first, std::vector<LinkId>& path) const {
    const LinkId base = first + 2 * group * cables_per_group();
    const auto [column, to_column] = std::minmax(from.column, to.column);
    const auto [row, to_row] = std::minmax(from.row, to.row);
    if (column != to_column)
      path.push_back(base + 2 * row_cable(from.row, column, to_column) + (from.column > to.column));
    if (row != to_row) path.push_back(base + 2 * column_cable(to.column, row, to_row) + (from.row > to.row));
  }

  Shape shape_;
  std::vector<Place> gateways_;  ///< [group][peer][cable]
};

struct Cables {
  double row_Bps, column_Bps, global_Bps, latency_s;
};

void add_between(Network& network, int first_switch, int a, int b, const Link& like) {
  const std::string here = "router" + std::to_string(a), there = "router" + std::to_string(b);
  network.add_cable(
      {here + ">" + there, like.bandwidth_Bps, like.latency_s, first_switch + a, first_switch + b},
      there + ">" + here);
}

/// In the order of the cables' numbers.
void add_cables(Network& network, const Shape& shape, const Cables& cables, int first_switch) {
  const Link row{"", cables.row_Bps, cables.latency_s}, column{"", cables.column_Bps, cables.latency_s};
  const Link global{"", cables.global_Bps, cables.latency_s};
  for (int group = 0; group < shape.groups; ++group) {
    const int base = group * shape.routers();
    for (int r = 0; r < shape.rows; ++r)
      for (int i = 0; i < shape.columns; ++i)
        for (int j = i + 1; j < shape.columns; ++j)
          add_between(network, first_switch, base + r * shape.columns + i, base + r * shape.columns + j, row);
    for (int c = 0; c < shape.columns; ++c)
      for (int i = 0; i < shape.rows; ++i)
        for (int j = i + 1; j < shape.rows; ++j)
          add_between(network, first_switch, base + i * shape.columns + c, base + j * shape.columns + c,
                      column);
  }
  for (int a = 0; a < shape.groups; ++a)
    for (int b = a + 1; b < shape.groups; ++b)
      for (int j = 0; j < shape.global_links; ++j)
        add_between(network, first_switch, a * shape.routers() + shape.gateway(a, b, j),
                    b * shape.routers() + shape.gateway(b, a, j), global);
}

/// Cables inside the grids of routers, and between groups.
std::int64_t cables_of(const Shape& shape) {
  const std::int64_t rows = shape.rows, columns = shape.columns, groups = shape.groups;
  return groups * (rows * pairs(columns) + columns * pairs(rows)) + pairs(groups) * shape.global_links;
}

struct DragonflyOptions {
  int nodes_per_router = 4, rows = 6, columns = 16;
  std::optional<int> groups, global_links;
  double row_Bps = 5.25e9, column_Bps = 15.75e9, global_Bps = 4.7e9;
  double switch_latency_s = 0;

  void fields(Fields& f) {
    count_field(f, "nodes_per_router", nodes_per_router, "Each router has this many nodes");
    count_field(f, "rows", rows, "Rows of routers in a group; with 1 all routers of a group are joined");
    count_field(f, "columns", columns, "A row has this many routers");
    count_field(f, "groups", groups, "There are this many groups of routers")
        .by_rule("as many as the nodes need");
    count_field(f, "global_links", global_links, "This many cables join two groups, at most one per router")
        .by_rule("10 per router, shared by the other groups");
    f.bandwidth("row_bandwidth", row_Bps, "Two routers of a row are joined with this bandwidth");
    f.bandwidth("column_bandwidth", column_Bps, "Two routers of a column are joined with this bandwidth");
    f.bandwidth("global_bandwidth", global_Bps, "A cable between groups has this bandwidth");
    switch_latency_field(f, switch_latency_s);
  }
  void complete(const NodeShape& shape) {
    if (!groups) groups = groups_needed(shape);
    const std::int64_t routers = static_cast<std::int64_t>(rows) * columns;
    const std::int64_t full = kAriesGlobalPorts * routers / std::max(1, *groups - 1);
    if (!global_links) global_links = static_cast<int>(std::clamp<std::int64_t>(full, 1, routers));
  }

  std::int64_t group_nodes() const { return static_cast<std::int64_t>(rows) * columns * nodes_per_router; }
  int groups_needed(const NodeShape& shape) const {
    return static_cast<int>((shape.nodes + group_nodes() - 1) / group_nodes());
  }
};

Shape shape_of(const DragonflyOptions& options, const NodeShape& nodes) {
  Shape shape{.nodes_per_router = options.nodes_per_router,
              .rows = options.rows,
              .columns = options.columns,
              .groups = 1,
              .global_links = 1};
  check_cables("columns", cables_of(shape));
  shape.groups = *options.groups;
  if (const int needed = options.groups_needed(nodes); shape.groups < needed)
    reject("groups",
           "hold " + std::to_string(options.group_nodes()) + " nodes each, too few for " +
               std::to_string(nodes.nodes) + " nodes",
           "Give at least " + std::to_string(needed));
  shape.global_links = *options.global_links;
  if (shape.global_links > shape.routers())
    reject("global_links", "is more than the routers of a group",
           "Give at most " + std::to_string(shape.routers()) + ", and a higher global_bandwidth");
  check_cables("groups", cables_of(shape));
  return shape;
}

Network make_dragonfly(const DragonflyOptions& options, const NodeShape& node_shape) {
  const Shape shape = shape_of(options, node_shape);
  const Cables cables{.row_Bps = options.row_Bps,
                      .column_Bps = options.column_Bps,
                      .global_Bps = options.global_Bps,
                      .latency_s = options.switch_latency_s};
  Network network;
  network.topology = "dragonfly";
  const NodeLinks nodes(network, node_shape, shape.groups * shape.routers(),
                        [=](int node) { return shape.router_of(node); });
  const auto first = static_cast<LinkId>(network.links.size());
  Dragonfly dragonfly(shape);
  add_cables(network, shape, cables, NodeLinks::first_switch(node_shape));
  nodes.route(network, [nodes, shape, first, dragonfly = std::move(dragonfly)](int from, int to,
                                                                               std::vector<LinkId>& path) {
    const int node = nodes.node_of(to);
    const int from_router = shape.router_of(nodes.node_of(from)), to_router = shape.router_of(node);
    if (from_router != to_router)
      dragonfly.route(from_router, to_router, node % shape.global_links, first, path);
  });
  return network;
}

}  // namespace

std::vector<TopologyPlugin> dragonfly() {
  return {
      {{.name = "dragonfly",
        .summary = "groups of routers joined pair by pair, minimal routing, Cray Aries by default",
        .citation =
            "Kim et al., ISCA 2008, doi 10.1109/ISCA.2008.19; Faanes et al., SC'12, doi 10.1109/SC.2012.39"},
       make_dragonfly}};
}

}  // namespace simsgd::topologies
