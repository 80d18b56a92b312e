// Torus: routers in a grid of n dimensions, each joined to its neighbours, and the last of a line to its
// first.
//   Router of coordinates (x_0 ... x_{n-1}) has number sum_j x_j prod_{i<j} k_i; nodes fill routers in order.
//   A dimension of size k has N / k rings of k cables; of size 2 the two ways round are one cable, of size 1
//   there is none. Halving an even dimension k > 2 cuts 2 N / k cables: the bisection of the largest one.
// Dimension-order routing, the shorter way round (Dally, Seitz, IEEE Trans. Computers 36, 1987, doi
// 10.1109/TC.1987.1676939, there to avoid deadlock). Where both ways are k / 2 long, routers of even
// coordinate send upwards and those of odd downwards, so that both directions carry as many routes: k^2 / 8
// of a ring's k^2. Adaptive routing is not modelled. Tests: tests/topologies/torus.cpp.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "topologies/topology.hpp"

namespace simsgd::topologies {

namespace {

constexpr std::size_t kMostDimensions = 8;

struct Grid {
  std::array<int, kMostDimensions> size{}, stride{};
  std::array<std::int64_t, kMostDimensions> first_cable{};  ///< of a dimension, among all
  std::size_t dimensions = 0;
  std::int64_t routers = 1, cables = 0;

  int coordinate(int router, std::size_t d) const { return router / stride[d] % size[d]; }
  /// The next router of the ring, upwards.
  int next(int router, std::size_t d) const {
    return coordinate(router, d) + 1 == size[d] ? router - (size[d] - 1) * stride[d] : router + stride[d];
  }
  /// The cable from a router to the next one. A ring of two has one, that of its coordinate 0.
  std::int64_t cable(int router, std::size_t d) const {
    if (size[d] > 2) return first_cable[d] + router;
    return first_cable[d] + static_cast<std::int64_t>(router / (2 * stride[d])) * stride[d] +
           router % stride[d];
  }

  void route(int from, int to, LinkId first, std::vector<LinkId>& path) const {
    int at = from;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const int here = coordinate(at, d), goal = coordinate(to, d), k = size[d];
      const int up = goal >= here ? goal - here : goal - here + k;
      // Halfway round either way is as short.
      const bool upwards = 2 * up < k || (2 * up == k && here % 2 == 0);
      for (int hop = upwards ? up : k - up; hop > 0; --hop) {
        const int below = upwards ? at : at - (next_below(at, d) ? stride[d] : -(k - 1) * stride[d]);
        path.push_back(first + static_cast<LinkId>(2 * cable(below, d)) + !upwards);
        at = upwards ? next(at, d) : below;
      }
    }
  }

 private:
  bool next_below(int router, std::size_t d) const { return coordinate(router, d) > 0; }
};

/// As near to a cube as whole numbers come: 100 routers are 5 x 5 x 4.
std::vector<int> cubic(std::int64_t routers) {
  const auto root = [](double of, double power) {
    return std::max(1, static_cast<int>(std::ceil(std::pow(of, power) - 1e-9)));
  };
  const auto rest = [](std::int64_t all, std::int64_t taken) { return (all + taken - 1) / taken; };
  const int a = root(static_cast<double>(routers), 1.0 / 3);
  const int b = root(static_cast<double>(rest(routers, a)), 0.5);
  return {a, b, static_cast<int>(rest(routers, std::int64_t{a} * b))};
}

struct TorusOptions {
  std::optional<std::vector<int>> dimensions;
  int nodes_per_router = 1;
  std::optional<double> link_Bps;
  double switch_latency_s = 0;

  void fields(Fields& f) {
    f.list("dimensions", dimensions, "There are this many routers along each of the 1 to 8 dimensions",
           "Routers in a ring")
        .items_at_least(1)
        .items_at_most(kLargestCount)
        .by_rule("three, as near to a cube as holds the nodes");
    count_field(f, "nodes_per_router", nodes_per_router, "Each router has this many nodes");
    f.bandwidth("bandwidth", link_Bps, "A cable between routers has this bandwidth, each way")
        .by_rule("that of a NIC");
    switch_latency_field(f, switch_latency_s);
  }
  void complete(const NodeShape& shape) {
    if (!dimensions) dimensions = cubic((shape.nodes + nodes_per_router - 1) / nodes_per_router);
    if (!link_Bps) link_Bps = shape.nic_Bps;
  }
};

Grid grid_of(const TorusOptions& options, const NodeShape& shape) {
  const std::vector<int>& sizes = *options.dimensions;
  if (sizes.empty() || sizes.size() > kMostDimensions)
    reject("dimensions", fmt::format("are {}", sizes.size()), "Give from 1 to 8 of them, such as [8, 8]");
  Grid grid;
  for (const int size : sizes) {
    grid.stride[grid.dimensions] = static_cast<int>(grid.routers);
    grid.size[grid.dimensions++] = size;
    grid.routers *= size;
    check_cables("dimensions", grid.routers);
  }
  for (std::size_t d = 0; d < grid.dimensions; ++d) {
    grid.first_cable[d] = grid.cables;
    grid.cables += grid.size[d] == 1 ? 0 : grid.size[d] == 2 ? grid.routers / 2 : grid.routers;
  }
  check_cables("dimensions", grid.cables);
  if (grid.routers * options.nodes_per_router < shape.nodes)
    reject("dimensions",
           fmt::format("make {} routers with {} node{} each, too few for {} nodes", grid.routers,
                       options.nodes_per_router, options.nodes_per_router == 1 ? "" : "s", shape.nodes),
           "Give larger ones, or more nodes_per_router");
  return grid;
}

void add_rings(Network& network, const Grid& grid, const Link& like, int first_switch) {
  for (std::size_t d = 0; d < grid.dimensions; ++d) {
    for (int router = 0; router < grid.routers && grid.size[d] > 1; ++router) {
      if (grid.size[d] == 2 && grid.coordinate(router, d) == 1) continue;
      const int next = grid.next(router, d);
      network.add_cable({fmt::format("router{}>router{}", router, next), like.bandwidth_Bps, like.latency_s,
                         first_switch + router, first_switch + next},
                        fmt::format("router{}>router{}", next, router));
    }
  }
}

Network make_torus(const TorusOptions& options, const NodeShape& shape) {
  const Grid grid = grid_of(options, shape);
  Network network;
  network.topology = "torus";
  const auto router_of = [per_router = options.nodes_per_router](int node) { return node / per_router; };
  const NodeLinks nodes(network, shape, static_cast<int>(grid.routers), router_of);
  const auto first = static_cast<LinkId>(network.links.size());
  add_rings(network, grid, {"", *options.link_Bps, options.switch_latency_s}, NodeLinks::first_switch(shape));
  nodes.route(network, [=](int from, int to, std::vector<LinkId>& path) {
    grid.route(router_of(nodes.node_of(from)), router_of(nodes.node_of(to)), first, path);
  });
  return network;
}

}  // namespace

std::vector<TopologyPlugin> torus() {
  return {{{.name = "torus",
            .summary = "a grid of any dimensions with wrap-around cables, dimension-order routing",
            .citation = "Dally, Seitz, IEEE Trans. Computers 36, 1987, doi 10.1109/TC.1987.1676939"},
           make_torus}};
}

}  // namespace simsgd::topologies
