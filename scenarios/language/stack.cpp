#include "scenarios/language/stack.hpp"

#include <nlohmann/json.hpp>

namespace simsgd {

namespace {

/// Of a link's object, what a stack looks at.
struct StackLink {
  double bandwidth_Bps = 0;
  double goodput = 1;
  void fields(Fields& f) {
    f.bandwidth("bandwidth", bandwidth_Bps, "Bytes per second");
    f.number("goodput", goodput, "Share of it that payloads get");
  }
};

double bandwidth_of(const Json& cluster, const char* key) {
  Json link = cluster.value(key, Json::object());
  StackLink read;
  if (link.is_object()) take_options(read, link);
  return read.bandwidth_Bps * read.goodput;
}

int count_of(const Json& cluster, const char* key, int otherwise) {
  const auto found = cluster.find(key);
  return found != cluster.end() && found->is_number_integer() ? found->get<int>() : otherwise;
}

StackContext context_of(const Json& cluster) {
  const int per_node = count_of(cluster, "gpus_per_node", 1);
  return {.gpu_link_Bps = bandwidth_of(cluster, "gpu_link"),
          .nic_Bps = bandwidth_of(cluster, "nic"),
          .workers = count_of(cluster, "workers", count_of(cluster, "nodes", 0) * per_node),
          .gpus_per_node = per_node,
          .nics = count_of(cluster.value("nic", Json::object()), "count", 1),
          .compute_capability = count_of(cluster.value("device", Json::object()), "compute_capability", 0)};
}

}  // namespace

std::optional<Stack> build_stack(const Reader& reader, const HostCosts& given, bool& right) {
  const std::string at = "/cluster/stack";
  if (!reader.has(at)) return std::nullopt;
  const Json& cluster = reader.value("/cluster");
  auto stack = reader.attempt(at, [&] { return make_stack(reader.value(at), context_of(cluster)); });
  right = right && stack.has_value();
  if (!stack) return std::nullopt;
  for (const StackConflict& each : conflicts(*stack, given, cluster.value("collectives", Json::object()))) {
    reader.error(at + each.key, each.problem, each.remedy);
    right = false;
  }
  return stack;
}

Json stack_collectives(const Json& cluster) {
  Json all = Json::object();
  if (!cluster.is_object() || !cluster.contains("stack")) return all;
  try {
    for (auto& [operation, policy] : make_stack(cluster["stack"], context_of(cluster)).collectives)
      all[operation] = std::move(policy);
  } catch (const ParameterError&) {
    return Json::object();  // is reported where the cluster is built
  }
  return all;
}

void complete_stack(Json& cluster) {
  if (!cluster.contains("stack")) return;
  const StackContext context = context_of(cluster);
  Json& stack = cluster["stack"];
  find_plugin(stack_plugins(), RawValue(stack).name(), "communication stack").complete(stack, context);
}

}  // namespace simsgd
