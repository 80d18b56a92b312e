// Policies as files write them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/reject.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/plugin.hpp"
#include "sim/stacks/policy.hpp"
#include "sim/stacks/stack.hpp"

namespace simsgd {

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
           "A worker spends this once in each operation, in addition to the host's launch");
    f.time("step_latency", way.costs.step_latency_s, "Each message takes this longer");
    f.number(
         "bandwidth_share", way.costs.bandwidth_share,
         "Share of a link's bandwidth that the payload reaches: flags that travel with it, channels too few")
        .above(0)
        .at_most(1);
    f.time("between_latency", way.costs.between_latency_s,
           "Each message between nodes takes this much longer, in addition to step_latency");
    f.flag(
        "pipelined", way.costs.pipelined,
        "Whether ranks of a ring pass blocks on without waiting for the slowest hop of a step. A block then meets the latency of each hop once; else every step takes that of its slowest hop");
    f.whole(
         "nics", way.costs.nics,
         "NICs of a node over which each message between nodes is spread, no more than have a GPU of the group")
        .at_least(1);
    f.number("between_share", between_share, "Messages between nodes have this bandwidth_share")
        .above(0)
        .at_most(1)
        .by_rule("as bandwidth_share");
    f.bytes(
        "piece", way.costs.piece_bytes,
        "The network passes on pieces of this size, so a double_binary_tree waits only for its first piece from node to node");
    f.time("floor", way.costs.floor_s, "Minimum time of an operation, whatever its size");
    f.number("payload", way.costs.payload_s_per_byte,
             "A worker spends this once for each byte of the whole vector, on copies and reductions")
        .at_least(0);
    f.number("part", way.costs.part_s_per_byte,
             "A worker spends this once for each byte of its own part of the vector, beside payload")
        .at_least(0);
    f.time(
        "filled_message", way.costs.filled_message_s,
        "The threads of a kernel take this for a message of filled_bytes or more, and in proportion for a smaller one, where the links take less");
    f.time(
        "filled_launch", way.costs.filled_launch_s,
        "A worker spends this once in each operation; where its messages are below filled_bytes, in proportion to them");
    f.bytes("filled_bytes", way.costs.filled_bytes, "Messages of this size fill the kernel's threads");
    f.time("rank_latency", way.costs.rank_s,
           "The operation takes this longer for each worker that takes part");
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
         "Measured times. They are interpolated on logarithmic scales; a size outside their range is refused",
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
  void fields(Fields& f) { f.object("by", machine, "What NCCL knows of the machine").required(); }
};

Json chosen_schema(CollectiveOp op) {
  EstimateSection section;
  Fields f;
  section.fields(f);
  Json schema = object_of("chosen", list_of(op, "Entries that NCCL chooses among"),
                          "The one that NCCL estimates to take least, whatever it takes here");
  schema["properties"].update(f.schema("")["properties"]);
  schema["required"].push_back("by");
  return schema;
}

CollectiveWay read_way(CollectiveOp op, const Json& json) {
  WaySection section{op};
  Fields f(DrawUnit::seconds, Fields::Purpose::read);
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
      reject(fmt::format("{}", i), "takes any size, so that the next entry is never used",
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
  return {{"description", fmt::format("How {} is done", op_name(op))},
          {"oneOf",
           {name, list_of(op, "By size: the first entry whose \"up_to\" is at least the size"),
            object_of("fastest",
                      list_of(op, "Entries, of which any that holds for the size and the group may be taken"),
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
