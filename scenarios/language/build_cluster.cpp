#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "scenarios/language/build.hpp"
#include "sim/base/random.hpp"
#include "topologies/registry.hpp"

namespace simsgd {

namespace {

constexpr std::int64_t kMostGpus = std::int64_t{1} << 22;  // their links must fit the memory of one machine

/// Numbers that an fp32 vector's pass reads and writes, per entry: 4 bytes each.
constexpr double kCopyPasses = 2;        // read, write
constexpr double kAccumulatePasses = 5;  // copy into one vector; read it and the residual, write the sum

Cost cost(const Parameters& section, const std::string& key) {
  return section.has(key) ? Cost(section.number(key)) : Cost();
}
Cost cost(const Parameters& section, const std::string& key, Dimension dimension) {
  return section.has(key) ? Cost(section.quantity(key, dimension)) : Cost();
}

/// What a kernel takes per byte of a vector that it passes over so often; unknown where its rate is.
Cost passes_s_per_byte(const Device& device, double passes) {
  return device.vector_efficiency.known() && device.memory_Bps > 0 ? Cost(passes / device.vector_Bps())
                                                                   : Cost();
}

InverseKernel read_inverse(const Parameters& inverse) {
  InverseKernel kernel{.times = {}, .overhead_s = cost(inverse, "overhead", Dimension::time_s)};
  const Json table = inverse.json().value("times", Json::array());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Parameters row(table[i]);
    kernel.times.push_back(
        {static_cast<double>(row.integer("dimension")), row.quantity("time", Dimension::time_s)});
    if (i > 0 && kernel.times[i].dimension <= kernel.times[i - 1].dimension)
      Parameters::reject(child("inverse/times", i) + "/dimension", "is not above the one before it",
                         "List the measurements by ascending dimension");
  }
  return kernel;
}

Device read_device(const Parameters& device) {
  const Parameters gemm = device.object("gemm");
  return {
      .name = device.text("name"),
      .peak_flops = device.quantity("peak_flops", Dimension::rate_flops),
      .efficiency = device.number("efficiency"),
      .memory_bytes = device.quantity("memory", Dimension::bytes),
      .memory_Bps = device.quantity("memory_bandwidth", Dimension::rate_Bps),
      .launch_s = cost(device, "launch", Dimension::time_s),
      .vector_efficiency = cost(device.object("vector_pass"), "efficiency"),
      .copy_Bps = cost(device, "copy_bandwidth", Dimension::rate_Bps),
      .communication_slowdown = cost(device, "communication_slowdown"),
      .gemm = {.efficiency = cost(gemm, "efficiency"), .gather_s = cost(gemm, "gather", Dimension::time_s)},
      .inverse = read_inverse(device.object("inverse")),
      .selection_s = cost(device, "selection", Dimension::time_s),
      .price_usd_per_h = device.number("price_usd_per_h"),
      .busy_W = device.quantity("busy_power", Dimension::power_W),
      .idle_W = device.quantity("idle_power", Dimension::power_W),
      .source = device.text("source")};
}

HostCosts read_host(const Parameters& host, const Device& device) {
  Cost staging_Bps = cost(host, "staging_bandwidth", Dimension::rate_Bps);
  if (!staging_Bps.known() && host.has("staged"))
    staging_Bps = host.flag("staged", false) ? device.copy_Bps : Cost(0);
  return {
      .launch_s = cost(host, "launch", Dimension::time_s),
      .pack_s_per_byte = host.has("pack") ? cost(host, "pack") : passes_s_per_byte(device, kCopyPasses),
      .staging_Bps = staging_Bps,
      .reduce_s_per_byte = cost(host, "reduce"),
      .overlap_s = host.quantity("overlap", Dimension::time_s),
      .tensor_s = cost(host, "tensor", Dimension::time_s),
      .scale_s_per_byte = host.has("scale") ? cost(host, "scale") : passes_s_per_byte(device, kCopyPasses)};
}

SparsificationCosts read_sparsification(const Parameters& costs, const Device& device) {
  constexpr double kBytesPerEntry = 4;
  return {.accumulate_s = costs.has("accumulate")
                              ? cost(costs, "accumulate", Dimension::time_s)
                              : passes_s_per_byte(device, kAccumulatePasses * kBytesPerEntry),
          .copy_s = cost(costs, "copy", Dimension::time_s),
          .merge_s = cost(costs, "merge", Dimension::time_s),
          .add_s = cost(costs, "add", Dimension::time_s)};
}

/// Without a gpu_link there is one GPU per node, and its links inside the node are never used.
NodeShape read_shape(const Parameters& cluster) {
  const Parameters nic = cluster.object("nic");
  NodeShape shape;
  shape.nodes = static_cast<int>(cluster.integer("nodes"));
  shape.gpus_per_node = static_cast<int>(cluster.integer("gpus_per_node"));
  shape.nic_Bps = nic.quantity("bandwidth", Dimension::rate_Bps);
  shape.nic_latency_s = nic.quantity("latency", Dimension::time_s);
  shape.nics = static_cast<int>(nic.integer("count"));
  const Parameters link = cluster.object("gpu_link");
  shape.gpu_link_Bps = link.quantity("bandwidth", Dimension::rate_Bps, shape.nic_Bps);
  shape.gpu_link_latency_s = link.quantity("latency", Dimension::time_s, 0);
  return shape;
}

bool check_counts(const Reader& reader, const Parameters& cluster) {
  const std::int64_t nodes = cluster.integer("nodes"), per_node = cluster.integer("gpus_per_node");
  const std::int64_t workers = cluster.integer("workers");
  const std::int64_t gpus = nodes * per_node;
  bool right = true;
  const auto wrong = [&](const std::string& pointer, const std::string& problem, const std::string& remedy) {
    reader.error(pointer, problem, remedy);
    right = false;
  };
  if (gpus > kMostGpus)
    wrong("/cluster/nodes", fmt::format("makes a cluster of {} GPUs", gpus),
          fmt::format("Use at most {}", kMostGpus));
  const std::int64_t nics = cluster.object("nic").integer("count");
  if (nics > kMostGpus / std::max<std::int64_t>(1, std::min(nodes, kMostGpus)))
    wrong("/cluster/nic/count", fmt::format("makes {} NICs on {} nodes", nics * nodes, nodes),
          fmt::format("Use at most {} in all", kMostGpus));
  if (workers > gpus)
    wrong("/cluster/workers",
          fmt::format("is more than the {} GPU{} of the cluster ({} node{} x {})", gpus, gpus == 1 ? "" : "s",
                      nodes, nodes == 1 ? "" : "s", per_node),
          fmt::format("Use at most {} worker{}, or {} nodes", gpus, gpus == 1 ? "" : "s",
                      (workers + per_node - 1) / per_node));
  if (per_node > 1 && !cluster.has("gpu_link"))
    wrong("/cluster", "has several GPUs per node and no \"gpu_link\"",
          "Add \"gpu_link\": NVLink or PCIe inside a node, such as {\"bandwidth\": \"12 GB/s\"}");
  const std::size_t speeds = cluster.json()["node_speed"].size();
  if (speeds > 0 && static_cast<std::int64_t>(speeds) != nodes)
    wrong("/cluster/node_speed", fmt::format("has {} entries for {} nodes", speeds, nodes),
          "Give one speed per node, or []");
  return right;
}

std::optional<std::vector<int>> listed(const Reader& reader, const Json& list, int workers, int gpus) {
  const std::vector<int> numbers = list.get<std::vector<int>>();
  if (static_cast<int>(numbers.size()) < workers) {
    reader.error("/cluster/placement", fmt::format("names {} GPUs for {} workers", numbers.size(), workers),
                 "Name one GPU per worker");
    return std::nullopt;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < gpus) continue;
    reader.error(child("/cluster/placement", i), fmt::format("is no GPU of the cluster, which has {}", gpus),
                 fmt::format("Write numbers from 0 to {}, each once", gpus - 1));
    return std::nullopt;
  }
  return std::vector<int>(numbers.begin(), numbers.begin() + workers);
}

/// The GPU of each rank.
std::optional<std::vector<int>> place(const Reader& reader, const Parameters& cluster) {
  const auto nodes = static_cast<int>(cluster.integer("nodes"));
  const auto per_node = static_cast<int>(cluster.integer("gpus_per_node"));
  const auto workers = static_cast<int>(cluster.integer("workers"));
  const Json& placement = cluster.json()["placement"];
  if (placement.is_array()) return listed(reader, placement, workers, nodes * per_node);
  std::vector<int> gpu_of_rank(static_cast<std::size_t>(placement.is_object() ? nodes * per_node : workers));
  std::iota(gpu_of_rank.begin(), gpu_of_rank.end(), 0);
  if (placement == "round_robin")
    for (int& gpu : gpu_of_rank) gpu = gpu % nodes * per_node + gpu / nodes;
  if (placement.is_object()) {
    Stream stream({.seed = reader.seed(), .purpose = Purpose::placement, .entity = 0, .step = 0});
    for (std::size_t i = 0; i < static_cast<std::size_t>(workers); ++i)
      std::swap(gpu_of_rank[i],
                gpu_of_rank[i + stream.below(static_cast<std::uint32_t>(gpu_of_rank.size() - i))]);
    gpu_of_rank.resize(static_cast<std::size_t>(workers));
  }
  return gpu_of_rank;
}

Network make_network(const Parameters& topology, const NodeShape& shape) {
  for (const TopologyPlugin& plugin : topology_plugins())
    if (plugin.info.name == topology.text("name")) return plugin.make(shape, topology);
  Parameters::reject("name", "is no topology", "Choose one of `simsgd list topologies`");
}

}  // namespace

std::optional<Cluster> build_cluster(const Reader& reader) {
  if (!reader.usable("/cluster")) return std::nullopt;
  const Parameters section = reader.parameters("/cluster");
  if (!check_counts(reader, section)) return std::nullopt;
  const auto gpu_of_rank = place(reader, section);
  auto network = reader.attempt(
      "/cluster/topology", [&] { return make_network(section.object("topology"), read_shape(section)); });
  auto device = reader.attempt("/cluster/device", [&] { return read_device(section.object("device")); });
  if (!gpu_of_rank || !network || !device) return std::nullopt;
  const HostCosts host = read_host(section.object("host"), *device);
  const SparsificationCosts sparsification = read_sparsification(section.object("sparsification"), *device);
  return Cluster{.name = section.text("name"),
                 .nodes = static_cast<int>(section.integer("nodes")),
                 .gpus_per_node = static_cast<int>(section.integer("gpus_per_node")),
                 .device = std::move(*device),
                 .host = host,
                 .sparsification = sparsification,
                 .network = std::move(*network),
                 .node_speed = section.json()["node_speed"].get<std::vector<double>>(),
                 .endpoint_of_rank = *gpu_of_rank};
}

}  // namespace simsgd
