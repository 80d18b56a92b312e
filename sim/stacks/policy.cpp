#include "sim/stacks/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/log_interpolation.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/plugin.hpp"
#include "sim/stacks/stack.hpp"

namespace simsgd {

CollectivePolicy CollectivePolicy::of(std::string schedule) {
  CollectivePolicy policy;
  policy.ways.push_back({std::nullopt, std::nullopt, std::move(schedule), {}});
  return policy;
}

double predicted_s(const Plan& plan) {
  return plan.sharing().dedicated || plan.measured_s() ? plan.dedicated_time_s() : plan.contended_time_s();
}

namespace {

/// Of measurements of one number of workers.
std::optional<double> at_size(const MeasuredCollective* first, const MeasuredCollective* last, double bytes) {
  std::vector<LogPoint> times;
  for (; first != last; ++first) times.push_back({first->bytes, first->time_s});
  return log_interpolated(times, bytes, Outside::refused);
}

}  // namespace

std::optional<double> interpolated_s(const std::vector<MeasuredCollective>& measured, int workers,
                                     double bytes) {
  const MeasuredCollective *below = nullptr, *below_end = nullptr;
  const MeasuredCollective* end = measured.data() + measured.size();
  for (const MeasuredCollective* first = measured.data(); first != end;) {
    const MeasuredCollective* last = std::find_if(
        first, end, [&](const MeasuredCollective& each) { return each.workers != first->workers; });
    if (first->workers == workers) return at_size(first, last, bytes);
    if (first->workers > workers) {
      if (below == nullptr) return std::nullopt;
      const std::optional<double> less = at_size(below, below_end, bytes), more = at_size(first, last, bytes);
      if (!less || !more || *less <= 0 || *more <= 0) return std::nullopt;
      return log_between({static_cast<double>(below->workers), *less},
                         {static_cast<double>(first->workers), *more}, workers);
    }
    below = first;
    below_end = last;
    first = last;
  }
  return std::nullopt;
}

namespace {

[[noreturn]] void cannot(const std::string& what, const std::string& problem, const std::string& remedy) {
  throw RunError(fmt::format("{} cannot be used here: {}. {}.", what, problem, remedy));
}

double between_over_inside(const Cluster& cluster, const std::vector<int>& ranks, int per_node,
                           const LibraryCosts& costs) {
  const auto next = static_cast<std::size_t>(per_node);
  if (per_node < 2 || next >= ranks.size()) return 0;
  const auto endpoint = [&](std::size_t i) {
    return cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[i])];
  };
  const Network& network = cluster.network;
  return network.path_cost(endpoint(0), endpoint(next)).beta_s_per_byte / costs.between_share /
         (network.path_cost(endpoint(0), endpoint(1)).beta_s_per_byte / costs.bandwidth_share);
}

Plan plan_way(const CollectiveWay& way, const Cluster& cluster, const std::vector<int>& ranks,
              const PolicyRequest& request) {
  const SchedulePlugin* plugin = find_schedule(request.op, way.schedule);
  if (plugin == nullptr)
    cannot(fmt::format("The schedule {}", way.schedule),
           "no schedule of that name exists for " + op_name(request.op),
           "`simsgd list schedules` shows the schedules");
  const int per_node = ranks_per_node(cluster, ranks);
  Schedule schedule =
      plugin->make({static_cast<int>(ranks.size()), request.bytes, request.root, per_node,
                    way.costs.piece_bytes, between_over_inside(cluster, ranks, per_node, way.costs)});
  return Plan(std::move(schedule), cluster, ranks, request.bytes, request.tensors, way.costs, request.coding);
}

Plan plan_measured(const CollectivePolicy& policy, const Cluster& cluster, const std::vector<int>& ranks,
                   const PolicyRequest& request) {
  CollectiveWay way{std::nullopt, std::nullopt, default_schedule(request.op), {}};
  if (ranks.size() > 1) {
    way.costs.measured_s = interpolated_s(policy.measured, static_cast<int>(ranks.size()), request.bytes);
    if (!way.costs.measured_s)
      cannot("The table of measured times",
             fmt::format("{} of {:.6g} bytes among {} workers is outside what was measured",
                         op_name(request.op), request.bytes, ranks.size()),
             "Add a measurement of it, or describe the library by schedules");
  }
  return plan_way(way, cluster, ranks, request);
}

/// Those of a policy that may be used: by size the first, of the fastest all that take the size.
std::vector<const CollectiveWay*> candidates(const CollectivePolicy& policy, int ranks,
                                             const PolicyRequest& request) {
  std::vector<const CollectiveWay*> found;
  for (const CollectiveWay& way : policy.ways) {
    if (!way.takes(ranks, request.bytes)) continue;
    if (!request.schedule.empty() && way.schedule != request.schedule) continue;
    found.push_back(&way);
    if (policy.kind == CollectivePolicy::Kind::by_size) break;
  }
  return found;
}

/// Of several the fastest that fits the group.
Plan fastest(const std::vector<const CollectiveWay*>& ways, const Cluster& cluster,
             const std::vector<int>& ranks, const PolicyRequest& request) {
  std::optional<Plan> best;
  std::optional<ParameterError> reason;
  for (const CollectiveWay* way : ways) {
    try {
      Plan plan = plan_way(*way, cluster, ranks, request);
      if (!best || predicted_s(plan) < predicted_s(*best)) best.emplace(std::move(plan));
    } catch (const ParameterError& error) {
      reason = error;
    }
  }
  if (best) return std::move(*best);
  cannot(fmt::format("The schedule {}", ways.back()->schedule), reason->problem, reason->remedy);
}

NcclGroup group_of(const Cluster& cluster, const std::vector<int>& ranks) {
  std::vector<int> nodes;
  for (const int rank : ranks) nodes.push_back(cluster.node_of_rank(rank));
  std::sort(nodes.begin(), nodes.end());
  const auto distinct = std::unique(nodes.begin(), nodes.end()) - nodes.begin();
  return {static_cast<int>(ranks.size()), static_cast<int>(distinct)};
}

/// By ascending estimate; those that the library does not know come last.
void sort_by_estimate(const CollectivePolicy& policy, const NcclGroup& group, const PolicyRequest& request,
                      std::vector<const CollectiveWay*>& ways) {
  std::vector<std::pair<double, const CollectiveWay*>> estimated;
  for (const CollectiveWay* way : ways) {
    const auto algorithm = nccl_algorithm(way->schedule, group);
    std::optional<double> time_s;
    if (algorithm && way->protocol)
      time_s =
          nccl_estimate_s(policy.estimated, request.op, *algorithm, *way->protocol, group, request.bytes);
    estimated.emplace_back(time_s.value_or(std::numeric_limits<double>::infinity()), way);
  }
  std::stable_sort(estimated.begin(), estimated.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < ways.size(); ++i) ways[i] = estimated[i].second;
}

/// The first that fits the group.
Plan chosen(const std::vector<const CollectiveWay*>& ways, const Cluster& cluster,
            const std::vector<int>& ranks, const PolicyRequest& request) {
  for (std::size_t i = 0; i + 1 < ways.size(); ++i) try {
      return plan_way(*ways[i], cluster, ranks, request);
    } catch (const ParameterError&) {  // the next one, as the library does
    }
  return fastest({ways.back()}, cluster, ranks, request);
}

}  // namespace

Plan plan_by_policy(const CollectivePolicies& policies, const Cluster& cluster, const std::vector<int>& ranks,
                    const PolicyRequest& request) {
  const auto found = policies.find(request.op);
  const CollectiveWay otherwise{std::nullopt,
                                std::nullopt,
                                request.schedule.empty() ? default_schedule(request.op) : request.schedule,
                                {}};
  if (found == policies.end()) return fastest({&otherwise}, cluster, ranks, request);
  const CollectivePolicy& policy = found->second;
  if (policy.kind == CollectivePolicy::Kind::measured && request.schedule.empty())
    return plan_measured(policy, cluster, ranks, request);
  std::vector<const CollectiveWay*> ways = candidates(policy, static_cast<int>(ranks.size()), request);
  if (!ways.empty() && policy.kind == CollectivePolicy::Kind::chosen) {
    sort_by_estimate(policy, group_of(cluster, ranks), request, ways);
    return chosen(ways, cluster, ranks, request);
  }
  if (!ways.empty()) return fastest(ways, cluster, ranks, request);
  if (!request.schedule.empty()) return fastest({&otherwise}, cluster, ranks, request);
  cannot("The cluster's list for " + op_name(request.op),
         fmt::format("it has no entry for {:.6g} bytes among {} workers", request.bytes, ranks.size()),
         "Add an entry without \"up_to\" and \"workers\", which matches every operation");
}

std::string policy_text(const CollectivePolicies& policies, CollectiveOp op) {
  const auto found = policies.find(op);
  if (found == policies.end()) return default_schedule(op);
  const CollectivePolicy& policy = found->second;
  if (policy.kind == CollectivePolicy::Kind::measured) return "measured times";
  std::vector<std::string> names;
  for (const CollectiveWay& way : policy.ways)
    if (std::find(names.begin(), names.end(), way.schedule) == names.end()) names.push_back(way.schedule);
  if (names.size() == 1) return names.front();
  switch (policy.kind) {
    case CollectivePolicy::Kind::fastest:
      return "the fastest of " + one_of(names);
    case CollectivePolicy::Kind::chosen:
      return "NCCL's choice of " + one_of(names);
    default:
      return one_of(names) + ", by size";
  }
}

// Policies as files write them.

namespace {

std::vector<std::string> schedule_names(CollectiveOp op) {
  std::vector<std::string> names;
  for (const SchedulePlugin& each : schedule_plugins())
    if (each.op == op) names.push_back(each.info.name);
  return names;
}

struct WaySection {
  CollectiveOp op = CollectiveOp::all_reduce;
  CollectiveWay way{};
  std::optional<double> between_share{};

  void fields(Fields& f) {
    f.whole("workers", way.workers, "The entry holds for exactly this many workers")
        .at_least(1)
        .by_rule("any number");
    f.whole("up_to_workers", way.up_to_workers, "The entry holds for at most this many workers")
        .at_least(1)
        .by_rule("any number");
    f.bytes("up_to", way.up_to_bytes, "The entry holds for vectors up to this size").by_rule("any size");
    f.bytes("up_to_part", way.up_to_part_bytes,
            "The entry holds for parts of a worker (bytes of the vector / workers) up to this size")
        .by_rule("any size");
    f.choice("schedule", way.schedule, schedule_names(op),
             "The schedule says who sends how much to whom, in which order")
        .required();
    f.choice("protocol", way.protocol,
             {{"ll", NcclProtocol::ll}, {"ll128", NcclProtocol::ll128}, {"simple", NcclProtocol::simple}},
             "NCCL estimates the entry's time by this protocol, and may choose it")
        .by_rule("none: NCCL does not estimate it");
    f.time("launch", way.costs.launch_s,
           "A worker spends this long once in each operation, in addition to the host's launch");
    f.time("step_latency", way.costs.step_latency_s, "Each message takes this much longer");
    f.number(
         "bandwidth_share", way.costs.bandwidth_share,
         "The payload reaches this share of a link's bandwidth, because flags travel with it or channels are too few")
        .above(0)
        .at_most(1);
    f.time("between_latency", way.costs.between_latency_s,
           "Each message between nodes takes this long in addition to step_latency");
    f.flag(
        "pipelined", way.costs.pipelined,
        "Whether ranks of a ring pass blocks on without waiting for the slowest hop of a step. A block then meets the latency of each hop once; else every step takes that of its slowest hop");
    f.whole(
         "nics", way.costs.nics,
         "Each message between nodes is spread over this many NICs of a node; at most those with a GPU of the group")
        .at_least(1);
    f.number("between_share", between_share, "Messages between nodes have this bandwidth_share")
        .above(0)
        .at_most(1)
        .by_rule("as bandwidth_share");
    f.bytes(
        "piece", way.costs.piece_bytes,
        "The network passes on pieces of this size; a double_binary_tree waits only for the first piece from node to node");
    f.time("floor", way.costs.floor_s, "An operation takes at least this long, whatever its size");
    f.number("payload", way.costs.payload_s_per_byte,
             "A worker spends this long on each byte of the whole vector, for copies and reductions")
        .at_least(0);
    f.number("part", way.costs.part_s_per_byte,
             "A worker spends this long on each byte of its own part of the vector, in addition to payload")
        .at_least(0);
    f.time(
        "filled_message", way.costs.filled_message_s,
        "A message of filled_bytes or more takes the kernel's threads at least this long; a smaller one takes less, in proportion");
    f.time(
        "filled_launch", way.costs.filled_launch_s,
        "A worker spends this time once in each operation; less, in proportion, if its messages are below filled_bytes");
    f.bytes("filled_bytes", way.costs.filled_bytes,
            "A message of this size or more fills the kernel's threads");
    f.time("rank_latency", way.costs.rank_s,
           "The operation takes this much longer for each worker that takes part");
  }
};

Json way_schema(CollectiveOp op) {
  WaySection section{op};
  Fields f;
  section.fields(f);
  return f.schema("A schedule, and what the library adds to its messages");
}

struct MeasuredSection {
  std::vector<MeasuredCollective> measured;

  void fields(Fields& f) {
    f.objects(
         "measured", measured,
         "Measured times. Other sizes are interpolated on logarithmic scales; a size outside the measured range is an error",
         "One measurement")
        .required()
        .least_items(1);
  }
};

Json object_of(const std::string& key, Json value, const std::string& meaning) {
  return {{"type", "object"},
          {"description", meaning},
          {"properties", {{key, std::move(value)}}},
          {"required", {key}},
          {"additionalProperties", false}};
}

Json list_of(CollectiveOp op, const std::string& meaning) {
  return {{"type", "array"}, {"items", way_schema(op)}, {"minItems", 1}, {"description", meaning}};
}

struct EstimateSection {
  NcclMachine machine;
  void fields(Fields& f) { f.object("by", machine, "What NCCL knows about the machine").required(); }
};

Json chosen_schema(CollectiveOp op) {
  EstimateSection section;
  Fields f;
  section.fields(f);
  Json schema = object_of("chosen", list_of(op, "Entries from which NCCL chooses"),
                          "The one that NCCL estimates to take least, whatever it takes here");
  schema["properties"].update(f.schema("")["properties"]);
  schema["required"].push_back("by");
  return schema;
}

CollectiveWay read_way(CollectiveOp op, const Json& json) {
  WaySection section{op};
  Fields f;
  section.fields(f);
  f.read(json);
  section.way.costs.between_share = section.between_share.value_or(section.way.costs.bandwidth_share);
  return std::move(section.way);
}

template <class T>
bool ends_before(const std::optional<T>& next, const std::optional<T>& before) {
  return next && before && *next <= *before;
}

void check_ascending(const std::vector<CollectiveWay>& ways) {
  for (std::size_t i = 0; i + 1 < ways.size(); ++i) {
    const CollectiveWay &way = ways[i], &next = ways[i + 1];
    if (way.workers != next.workers) continue;
    if (way.up_to_workers != next.up_to_workers) {
      if (!way.up_to_workers || ends_before(next.up_to_workers, way.up_to_workers))
        reject(fmt::format("{}/up_to_workers", i + 1), "is not above the one before it",
               "List them by ascending workers, then by ascending size");
      continue;
    }
    if (!way.up_to_bytes && !way.up_to_part_bytes)
      reject(fmt::format("{}", i), "takes any size, so the next entry is never used",
             "Give it \"up_to\", or leave out what follows");
    if (ends_before(next.up_to_bytes, way.up_to_bytes))
      reject(fmt::format("{}/up_to", i + 1), "is not above the one before it", "List them by ascending size");
    if (ends_before(next.up_to_part_bytes, way.up_to_part_bytes))
      reject(fmt::format("{}/up_to_part", i + 1), "is not above the one before it",
             "List them by ascending size");
  }
}

void check_ascending(const std::vector<MeasuredCollective>& times) {
  for (std::size_t i = 1; i < times.size(); ++i) {
    const MeasuredCollective &before = times[i - 1], &each = times[i];
    if (each.workers < before.workers || (each.workers == before.workers && each.bytes <= before.bytes))
      reject(fmt::format("measured/{}", i), "is not above the one before it",
             "List them by ascending workers, then by ascending bytes, each pair once");
  }
}

}  // namespace

Json policy_schema(CollectiveOp op) {
  const Json name = {
      {"type", "string"}, {"enum", schedule_names(op)}, {"description", "A schedule, nothing added to it"}};
  MeasuredSection measured;
  Fields f;
  measured.fields(f);
  return {
      {"description", fmt::format("How {} is done", op_name(op))},
      {"oneOf",
       {name, list_of(op, "By size: the first entry whose \"up_to\" is at least the size"),
        object_of(
            "fastest",
            list_of(op,
                    "Entries to choose from. The fastest one that holds for the size and the group is taken"),
            "The fastest of several, by what each would take alone"),
        chosen_schema(op), f.schema("Whole operations as they were measured")}}};
}

Json completed_policy(CollectiveOp op, Json policy) {
  const char* key = policy.is_object() && policy.contains("chosen") ? "chosen" : "fastest";
  Json& ways = policy.is_object() && policy.contains(key) ? policy[key] : policy;
  if (!ways.is_array()) return policy;
  for (Json& way : ways) {
    WaySection section{op};
    Fields f;
    section.fields(f);
    f.read(way);
    f.write_missing(way);
  }
  return policy;
}

CollectivePolicy read_policy(CollectiveOp op, const Json& json) {
  CollectivePolicy policy;
  if (json.is_string()) return CollectivePolicy::of(json.get<std::string>());
  if (json.is_array()) {
    for (const Json& each : json) policy.ways.push_back(read_way(op, each));
    check_ascending(policy.ways);
    return policy;
  }
  if (json.contains("fastest")) {
    policy.kind = CollectivePolicy::Kind::fastest;
    for (const Json& each : json["fastest"]) policy.ways.push_back(read_way(op, each));
    return policy;
  }
  if (json.contains("chosen")) {
    policy.kind = CollectivePolicy::Kind::chosen;
    for (const Json& each : json["chosen"]) policy.ways.push_back(read_way(op, each));
    policy.estimated = options_of<NcclMachine>(json["by"]);
    return policy;
  }
  policy.kind = CollectivePolicy::Kind::measured;
  policy.measured = options_of<MeasuredSection>(json).measured;
  check_ascending(policy.measured);
  return policy;
}

}  // namespace simsgd
