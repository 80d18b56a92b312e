// A physical network as a plain description: links, and a rule that names the links from one endpoint to
// another. topologies/ makes it, collectives/ costs schedules on it, engine/ turns it into a SimGrid
// platform.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/token_bucket.hpp"

namespace simsgd {

/// One direction of a cable, bus or switch port. A full-duplex cable is two links.
struct Link {
  std::string name;
  double bandwidth_Bps = 0;  ///< shared max-min fairly by the flows that cross it
  double latency_s = 0;      ///< one way
  int from_vertex = -1;      ///< vertices of Network::vertices that it joins; -1 where not known
  int to_vertex = -1;
  double jitter_factor = 1;  ///< of the network's jitter, for messages that cross it
  double price_usd_per_byte = 0;
};

using LinkId = std::int32_t;

/// Time of a lone message of m bytes: alpha_s + m * beta_s_per_byte.
struct PathCost {
  double alpha_s = 0;
  double beta_s_per_byte = 0;
  double jitter_factor = 1;  ///< of the drawn latency that jitter adds
  double wire_bytes = 0;     ///< of a message: that flow at beta
};

/// What a lone message of a class of paths takes by its size: latency + bytes / bandwidth of its segment, as
/// a library's protocols make it. Flows still share the links' own bandwidth.
struct MessageSegments {
  struct Segment {
    double up_to_bytes = std::numeric_limits<double>::infinity();
    double latency_s = 0;
    double bandwidth_Bps = 0;  ///< at most the links' own
  };
  double latency_s = 0;  ///< of the links without segments, and their bandwidth
  double bandwidth_Bps = 0;
  std::vector<Segment> segments;  ///< ascending; the last one holds for all larger messages too
  /// The sender's token bucket, which fills at the links' bandwidth.
  double burst_bytes = 0, burst_Bps = std::numeric_limits<double>::infinity();

  TokenBucket bucket() const { return {burst_bytes, burst_Bps, bandwidth_Bps}; }
  /// Seconds beyond what the links take; negative where they take longer.
  double segment_s(double bytes) const {
    if (segments.empty()) return 0;
    auto segment = segments.begin();
    while (segment + 1 != segments.end() && bytes > segment->up_to_bytes) ++segment;
    return segment->latency_s - latency_s + bytes * (1 / segment->bandwidth_Bps - 1 / bandwidth_Bps);
  }
};

/// Endpoints are GPUs, numbered node by node: endpoint = node * gpus_per_node + local GPU.
struct Network {
  std::string topology;  ///< name of the plug-in that made it
  int endpoints = 0;
  std::vector<Link> links;
  /// The graph that the links are the edges of: vertices 0 to endpoints - 1 are the GPUs, the next ones the
  /// interiors of the nodes, then the switches. A route inside a node goes from GPU to GPU; one between nodes
  /// goes from interior to interior, because the step between GPU and NIC is free. 0 where not known.
  int vertices = 0;
  int gpus_per_node = 1;
  MessageSegments inside, between;  ///< of messages inside a node, and between nodes

  /// Appends the links from endpoint `from` to endpoint `to` (from != to), in order. Must be a pure function;
  /// called for up to endpoints^2 pairs, so it should not search.
  std::function<void(int from, int to, std::vector<LinkId>& path)> route;

  /// The endpoint whose own link this is, inside its node (a node's NICs are not); -1: of none.
  int gpu_of(const Link& link) const {
    for (const int vertex : {link.from_vertex, link.to_vertex})
      if (vertex >= 0 && vertex < endpoints) return vertex;
    return -1;
  }

  /// The GPU whose computing a link feels: its own one's; with one GPU per node a NIC is that GPU's.
  int gpu_beside(const Link& link) const {
    if (const int own = gpu_of(link); own >= 0 || gpus_per_node > 1) return own;
    for (const int vertex : {link.from_vertex, link.to_vertex})  // interiors of nodes follow the GPUs
      if (vertex >= endpoints && vertex < 2 * endpoints) return vertex - endpoints;
    return -1;
  }
  /// The share of its bandwidth that such a link has meanwhile, `share` being left of a GPU's own link: of a
  /// NIC as much as that still passes on, where the cluster says what it is.
  double share_beside(const Link& link, double share) const {
    if (gpu_of(link) >= 0 || inside.bandwidth_Bps <= 0) return share;
    return std::min(1.0, share * inside.bandwidth_Bps / link.bandwidth_Bps);
  }

  /// Cost of a lone message: the sum of latencies, the bandwidth of the narrowest link, and the greatest
  /// factor of jitter.
  PathCost path_cost(int from, int to) const {
    thread_local std::vector<LinkId> path;
    path.clear();
    route(from, to, path);
    PathCost cost;
    cost.jitter_factor = 0;
    double narrowest = std::numeric_limits<double>::infinity();
    for (const LinkId id : path) {
      const Link& link = links[static_cast<std::size_t>(id)];
      cost.alpha_s += link.latency_s;
      narrowest = std::min(narrowest, link.bandwidth_Bps);
      cost.jitter_factor = std::max(cost.jitter_factor, link.jitter_factor);
    }
    cost.beta_s_per_byte = 1.0 / narrowest;
    return cost;
  }

  /// The same of a message of so many bytes, its sender's token bucket apart: what its size adds is latency,
  /// so that messages which meet share what the links have.
  PathCost sized_cost(int from, int to, double bytes) const {
    PathCost cost = path_cost(from, to);
    cost.wire_bytes = bytes;
    const MessageSegments& sized = same_node(from, to) ? inside : between;
    if (!sized.segments.empty()) cost.alpha_s = std::max(0.0, cost.alpha_s + sized.segment_s(bytes));
    return cost;
  }
  /// The same of one that meets a full bucket.
  PathCost message_cost(int from, int to, double bytes) const {
    PathCost cost = sized_cost(from, to, bytes);
    if (!has_bucket(from, to)) return cost;
    const TokenBucket::Passage passage = between.bucket().passage(bytes, between.burst_bytes);
    cost.alpha_s += passage.wait_s;
    cost.wire_bytes = passage.flowing_bytes;
    return cost;
  }
  bool has_bucket(int from, int to) const { return between.burst_bytes > 0 && !same_node(from, to); }
  /// The sender's NIC, whose bucket it is.
  LinkId bucket_link(int from, int to) const {
    thread_local std::vector<LinkId> path;
    path.clear();
    route(from, to, path);
    for (const LinkId id : path)
      if (gpu_of(links[static_cast<std::size_t>(id)]) < 0) return id;
    return path.front();
  }
  bool same_node(int from, int to) const { return from / gpus_per_node == to / gpus_per_node; }

  LinkId add_link(Link link) {
    links.push_back(std::move(link));
    return static_cast<LinkId>(links.size() - 1);
  }
  /// Both directions of a full-duplex cable. Returns the direction described; the other one is the next link,
  /// named `reverse_name`.
  LinkId add_cable(Link link, std::string reverse_name) {
    Link reverse = link;
    reverse.name = std::move(reverse_name);
    std::swap(reverse.from_vertex, reverse.to_vertex);
    const LinkId id = add_link(std::move(link));
    add_link(std::move(reverse));
    return id;
  }
};

}  // namespace simsgd
