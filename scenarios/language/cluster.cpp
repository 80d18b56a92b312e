// The section "cluster": the machines, and where each worker sits.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "scenarios/language/calibration_draws.hpp"
#include "scenarios/language/communication.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/random.hpp"
#include "sim/cluster/kernels.hpp"
#include "topologies/topology.hpp"

namespace simsgd {

namespace {

/// Counts that fit an int.
constexpr double kMostCounted = 2147483647;
constexpr std::int64_t kMostGpus = std::int64_t{1} << 22;  // their links must fit the memory of one machine

/// GPUs drawn without replacement.
struct RandomPlacement {
  std::optional<std::uint64_t> seed;

  void fields(Fields& f) {
    f.whole("seed", seed, "The placement is drawn with this seed").by_rule("the scenario's seed");
  }
};

Json random_placement() {
  RandomPlacement options;
  Fields fields;
  options.fields(fields);
  Json form;
  write_form({"random", "GPUs drawn without replacement from a seed", ""}, fields, form);
  return form;
}

Json placement_schema() {
  std::vector<int> numbers;
  Fields f;
  f.list("numbers", numbers,
         "GPU of each worker (node x gpus_per_node + GPU); the first `workers` entries are used",
         "Number of a GPU")
      .required()
      .distinct();
  return schema::either(
      "Which GPU each worker has: block fills node after node, round_robin deals workers to the nodes in turn",
      {schema::choice("A rule", {"block", "round_robin"}), f.schema("")["properties"]["numbers"],
       schema::either("Drawn", {random_placement()})});
}

struct ClusterSection {
  std::string name = "cluster";
  std::int64_t workers = 1;
  std::optional<std::int64_t> nodes;
  std::int64_t gpus_per_node = 1;
  std::optional<Island> island;
  Device device;
  std::optional<GpuLink> gpu_link;
  Nic nic;
  RawValue topology;
  HostCosts host;
  RawValue stack;
  PolicySection collectives;
  std::optional<CalibrationSection> calibration;
  std::vector<double> node_speed;
  std::optional<double> shared_host;
  RawValue placement{Json("block")};
  std::string source;

  void fields(Fields& f) {
    f.text("name", name, "Name of the cluster in reports");
    f.whole("workers", workers,
            "This many GPUs train, or islands of GPUs; the whole cluster is nodes x gpus_per_node")
        .required()
        .at_least(1)
        .at_most(kMostCounted);
    f.whole("nodes", nodes, "The cluster has this many nodes")
        .at_least(1)
        .at_most(kMostCounted)
        .by_rule("as many as the workers need");
    f.whole("gpus_per_node", gpus_per_node, "A node has this many GPUs").at_least(1).at_most(kMostCounted);
    f.object("island", island, "Several GPUs on fast links are one worker")
        .by_rule("none: a worker is one GPU");
    f.object("device", device, "The GPU that every worker has").required();
    f.object("gpu_link", gpu_link,
             "The link of each GPU to the others of its node, in each direction: NVLink or PCIe")
        .by_rule("none: one GPU per node");
    f.object("nic", nic, "How a node is attached to the network").required();
    f.plugin("topology", topology, topology_plugins(), "The network between the nodes").required();
    f.object(
        "host", host,
        "What the host adds to a message or a collective. A cost that is left out is unknown: it counts as 0, and the result says so");
    f.plugin(
         "stack", stack, stack_plugins(),
         "The communication library that training goes through: how it takes operations, and what it adds to them")
        .by_rule("none: operations begin as they are handed over, and cost what host and collectives say");
    f.object("collectives", collectives, "How the communication library does each operation");
    f.object(
         "calibration", calibration,
         "Written by simsgd calibrate: where the cluster's numbers come from, and how far off they may be. Times then have intervals")
        .by_rule("none");
    f.list("node_speed", node_speed,
           "Relative speed of each node's GPUs, one number per node; [] is 1 for all",
           "1 is the device's own speed")
        .items_above(0);
    f.number(
         "shared_host", shared_host,
         "Workers of one node slow each other down, since one host feeds their GPUs. With g workers on a node computing takes 1 + this x (g - 1) times as long. Usually below 0.05")
        .at_least(0)
        .at_most(10)
        .by_rule("0: nothing");
    f.raw("placement", placement, placement_schema);
    f.text("source", source, "Where the numbers come from");
  }

  std::int64_t gpus() const { return *nodes * gpus_per_node; }
  std::int64_t gpus_per_worker() const { return island ? island->gpus : 1; }
  std::int64_t used_gpus() const { return workers * gpus_per_worker(); }
};

/// What the workers of a node pass on together: of two as it is given, of n so much less that each has 2/n of
/// what it would have of an even share.
double host_memory_Bps(const ClusterSection& section) {
  if (!section.gpu_link || !section.gpu_link->host_memory_Bps) return 0;
  const auto together = static_cast<double>(std::min(section.used_gpus(), section.gpus_per_node));
  return *section.gpu_link->host_memory_Bps * 2 / std::max(2.0, together);
}

/// Without a gpu_link there is one GPU per node, and its links inside the node are never used.
NodeShape shape_of(const ClusterSection& section) {
  return {.nodes = static_cast<int>(*section.nodes),
          .gpus_per_node = static_cast<int>(section.gpus_per_node),
          .gpu_link_Bps = section.gpu_link ? section.gpu_link->bandwidth_Bps : section.nic.payload_Bps(),
          .gpu_link_latency_s = section.gpu_link ? section.gpu_link->latency_s : 0,
          .nic_Bps = section.nic.payload_Bps(),
          .nic_latency_s = section.nic.latency_s,
          .nics = section.nic.count,
          .find_file = {},
          .host_memory_Bps = host_memory_Bps(section)};
}

StackContext context_of(const ClusterSection& section) {
  return {.gpu_link_Bps = section.gpu_link ? section.gpu_link->bandwidth_Bps : 0,
          .nic_Bps = section.nic.payload_Bps(),
          .workers = static_cast<int>(section.workers),
          .gpus_per_node = static_cast<int>(section.gpus_per_node),
          .nics = section.nic.count,
          .compute_capability = section.device.compute_capability.value_or(0)};
}

/// The stack, where there is one and nothing contradicts it; what does is reported, and `right` becomes
/// false.
std::optional<Stack> build_stack(const Reader& reader, const ClusterSection& section, bool& right) {
  if (!section.stack.present()) return std::nullopt;
  const std::string at = "/cluster/stack";
  auto stack = reader.attempt(at, [&] { return make_stack(section.stack.json(), context_of(section)); });
  right = right && stack.has_value();
  if (!stack) return std::nullopt;
  const Json collectives = reader.value("/cluster").value("collectives", Json::object());
  for (const StackConflict& each : conflicts(*stack, section.host, collectives)) {
    reader.error(at + each.key, each.problem, each.remedy);
    right = false;
  }
  return stack;
}

void check_inverse(const InverseKernel& inverse) {
  for (std::size_t i = 1; i < inverse.times.size(); ++i)
    if (inverse.times[i].dimension <= inverse.times[i - 1].dimension)
      reject(child("inverse/times", i) + "/dimension", "is not above the one before it",
             "List the measurements by ascending dimension");
}

void check_qr(const QrKernel& qr) {
  double above = 0;
  for (std::size_t i = 0; i < qr.times.size(); ++i) {
    const QrKernel::Time& time = qr.times[i];
    if (time.rows < time.columns)
      reject(child("qr/times", i) + "/columns", "is more than its rows", "Give the times of its transpose");
    const double flop =
        qr_flop({.m = static_cast<double>(time.rows), .n = static_cast<double>(time.columns)});
    if (!(flop > std::exchange(above, flop)))
      reject(child("qr/times", i), "takes no more FLOPs than the one before it",
             "List the measurements by ascending 2 m n^2 - 2/3 n^3, m rows and n columns");
  }
}

/// Whatever is wrong with it, the network is looked at too.
bool check_island(const Reader& reader, const ClusterSection& section) {
  const std::int64_t per_node = section.gpus_per_node, gpus = section.gpus_per_worker();
  if (per_node % gpus == 0 || gpus % per_node == 0) return true;
  reader.error("/cluster/island/gpus",
               fmt::format("neither divides the {} GPUs of a node, nor is a multiple of them", per_node),
               "Let islands be equal parts of a node, or whole nodes");
  return false;
}

bool check_counts(const Reader& reader, const ClusterSection& section) {
  const std::int64_t nodes = *section.nodes, per_node = section.gpus_per_node;
  bool right = true;
  const auto wrong = [&](const std::string& pointer, const std::string& problem, const std::string& remedy) {
    reader.error(pointer, problem, remedy);
    right = false;
  };
  if (section.gpus() > kMostGpus)
    wrong("/cluster/nodes", fmt::format("makes a cluster of {} GPUs", section.gpus()),
          fmt::format("Use at most {}", kMostGpus));
  if (section.nic.count > kMostGpus / std::max<std::int64_t>(1, std::min(nodes, kMostGpus)))
    wrong("/cluster/nic/count", fmt::format("makes {} NICs on {} nodes", section.nic.count * nodes, nodes),
          fmt::format("Use at most {} in all", kMostGpus));
  if (section.island && section.placement.json() != "block")
    wrong("/cluster/placement", "places single GPUs, but the workers are islands of GPUs",
          "Leave it out: islands lie side by side");
  if (section.island && section.used_gpus() > section.gpus())
    wrong("/cluster/workers",
          fmt::format("asks for {} islands of {} GPUs, but the cluster has {} GPUs", section.workers,
                      section.gpus_per_worker(), section.gpus()),
          "Use fewer workers, smaller islands, or more nodes");
  else if (section.workers > section.gpus())
    wrong("/cluster/workers",
          fmt::format("is more than the {} GPU{} of the cluster ({} node{} x {})", section.gpus(),
                      section.gpus() == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s", per_node),
          fmt::format("Use at most {} worker{}, or {} nodes", section.gpus(), section.gpus() == 1 ? "" : "s",
                      (section.workers + per_node - 1) / per_node));
  if (per_node > 1 && !section.gpu_link)
    wrong("/cluster", "has several GPUs per node and no \"gpu_link\"",
          "Add \"gpu_link\": NVLink or PCIe inside a node, such as {\"bandwidth\": \"12 GB/s\"}");
  const std::size_t speeds = section.node_speed.size();
  if (speeds > 0 && static_cast<std::int64_t>(speeds) != nodes)
    wrong("/cluster/node_speed", fmt::format("has {} entries for {} nodes", speeds, nodes),
          "Give one speed per node, or []");
  return right;
}

std::optional<std::vector<int>> listed(const Reader& reader, const ClusterSection& section) {
  const auto numbers = section.placement.json().get<std::vector<int>>();
  const auto workers = static_cast<std::size_t>(section.workers);
  if (numbers.size() < workers) {
    reader.error("/cluster/placement", fmt::format("names {} GPUs for {} workers", numbers.size(), workers),
                 "Name one GPU per worker");
    return std::nullopt;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < section.gpus()) continue;
    reader.error(child("/cluster/placement", i),
                 fmt::format("is not a GPU of the cluster, which has {}", section.gpus()),
                 fmt::format("Write numbers from 0 to {}, each once", section.gpus() - 1));
    return std::nullopt;
  }
  return std::vector<int>(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(workers));
}

/// The GPU of each rank.
std::optional<std::vector<int>> place(const Reader& reader, const ClusterSection& section) {
  const Json& placement = section.placement.json();
  if (placement.is_array()) return listed(reader, section);
  const auto nodes = static_cast<int>(*section.nodes), per_node = static_cast<int>(section.gpus_per_node);
  std::vector<int> gpu_of_rank(
      static_cast<std::size_t>(placement.is_object() ? section.gpus() : section.workers));
  std::iota(gpu_of_rank.begin(), gpu_of_rank.end(), 0);
  for (int& gpu : gpu_of_rank) gpu *= static_cast<int>(section.gpus_per_worker());
  if (placement == "round_robin")
    for (int& gpu : gpu_of_rank) gpu = gpu % nodes * per_node + gpu / nodes;
  if (placement.is_object()) {
    const std::uint64_t seed =
        placement.contains("seed") ? placement["seed"].get<std::uint64_t>() : reader.seed();
    Stream stream({.seed = seed, .purpose = Purpose::placement, .entity = 0, .step = 0});
    for (std::size_t i = 0; i < static_cast<std::size_t>(section.workers); ++i)
      std::swap(gpu_of_rank[i],
                gpu_of_rank[i + stream.below(static_cast<std::uint32_t>(gpu_of_rank.size() - i))]);
    gpu_of_rank.resize(static_cast<std::size_t>(section.workers));
  }
  return gpu_of_rank;
}

/// Relative speed of each node's GPUs: as it is given, less what GPUs of one node that train take from each
/// other. An island of several nodes is as fast as its slowest, and has its speed at its first.
std::vector<double> speeds_of(const ClusterSection& section, const std::vector<int>& gpu_of_rank) {
  std::vector<double> speeds = section.node_speed;
  const std::int64_t per_node = section.gpus_per_node, per_worker = section.gpus_per_worker();
  if (section.shared_host.value_or(0) > 0) {
    std::vector<int> training(static_cast<std::size_t>(*section.nodes), 0);
    for (const int first : gpu_of_rank)
      for (std::int64_t gpu = first; gpu < first + per_worker; ++gpu)
        ++training[static_cast<std::size_t>(gpu / per_node)];
    speeds.resize(training.size(), 1);
    for (std::size_t node = 0; node < speeds.size(); ++node)
      speeds[node] /= 1 + *section.shared_host * std::max(0, training[node] - 1);
  }
  if (speeds.empty() || per_worker <= per_node) return speeds;
  for (const int first : gpu_of_rank) {
    const auto node = speeds.begin() + first / per_node;
    *node = *std::min_element(node, node + per_worker / per_node);
  }
  return speeds;
}

}  // namespace

Json schema::cluster() {
  ClusterSection section;
  return schema::of(section, "The machines: GPUs, nodes, and the network between them");
}

void complete_cluster(Json& json) {
  if (json.contains("nodes")) return;
  const std::int64_t per_node = json["gpus_per_node"].get<std::int64_t>();
  const std::int64_t per_worker = json.contains("island") ? json["island"].value("gpus", std::int64_t{1}) : 1;
  json["nodes"] = (json["workers"].get<std::int64_t>() * per_worker + per_node - 1) / per_node;
}

void complete_machines(Json& cluster, Json& network) {
  const auto section = options_of<ClusterSection>(cluster);
  find_plugin(topology_plugins(), section.topology.name(), "topology")
      .complete(cluster["topology"], shape_of(section));
  if (section.stack.present())
    find_plugin(stack_plugins(), section.stack.name(), "communication stack")
        .complete(cluster["stack"], context_of(section));
  const Json standing = standing_policies(cluster);
  for (const auto& [operation, policy] : standing.items()) network.emplace(operation, policy);
}

Json standing_policies(const Json& cluster) {
  const auto section = options_of<ClusterSection>(cluster);
  std::optional<Stack> stack;
  if (section.stack.present()) stack = make_stack(section.stack.json(), context_of(section));
  return standing_policies(section.collectives, stack);
}

std::optional<Machines> build_cluster(const Reader& reader) {
  if (!reader.usable("/cluster")) return std::nullopt;
  auto section = reader.section<ClusterSection>("/cluster");
  if (section.calibration && !check_calibration(reader, *section.calibration)) return std::nullopt;
  const bool island_right = check_island(reader, section);
  if (!check_counts(reader, section)) return std::nullopt;
  auto gpu_of_rank = place(reader, section);
  const auto links = reader.attempt("/cluster", [&] {
    if (section.gpu_link) check_link("gpu_link", *section.gpu_link);
    return check_link("nic", section.nic), true;
  });
  if (!(section.nic.payload_Bps() > 0)) return std::nullopt;
  auto network = reader.attempt("/cluster/topology", [&] {
    NodeShape shape = shape_of(section);
    shape.find_file = [&](const std::string& name) {
      return reader.resolve("/cluster/topology", name).string();
    };
    return make_network(section.topology.json(), shape);
  });
  const auto kernels = reader.attempt("/cluster/device", [&] {
    return check_inverse(section.device.inverse), check_qr(section.device.qr), check_tables(section.device),
           true;
  });
  bool stack_right = true;
  std::optional<Stack> stack = build_stack(reader, section, stack_right);
  if (!island_right || !gpu_of_rank || !network || !kernels || !links || !stack_right) return std::nullopt;
  if (section.gpu_link) network->inside = segments_of(*section.gpu_link);
  network->between = segments_of(section.nic);

  section.device.complete();
  if (stack) set_stack_costs(*stack, section.host);
  section.host.complete(section.device);
  Cluster cluster{.name = std::move(section.name),
                  .nodes = static_cast<int>(*section.nodes),
                  .gpus_per_node = static_cast<int>(section.gpus_per_node),
                  .device = std::move(section.device),
                  .host = section.host,
                  .network = std::move(*network),
                  .node_speed = speeds_of(section, *gpu_of_rank),
                  .endpoint_of_rank = std::move(*gpu_of_rank),
                  .island = section.island};
  if (stack) set_stack(*stack, cluster);
  return Machines{std::move(cluster), std::move(stack)};
}

}  // namespace simsgd
