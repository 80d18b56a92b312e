#include "sim/stacks/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/log_interpolation.hpp"
#include "sim/collectives/schedules.hpp"

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
           "there is none of that name for " + op_name(request.op),
           "Use one that `simsgd list schedules` shows");
  const int per_node = ranks_per_node(cluster, ranks);
  Schedule schedule =
      plugin->make({static_cast<int>(ranks.size()), request.bytes, request.root, per_node,
                    way.costs.piece_bytes, between_over_inside(cluster, ranks, per_node, way.costs)});
  return Plan(std::move(schedule), cluster, ranks, request.bytes, request.tensors, way.costs);
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
             "Measure it too, or describe the library by schedules");
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
  cannot("What the cluster says of " + op_name(request.op),
         fmt::format("it has no entry for {:.6g} bytes among {} workers", request.bytes, ranks.size()),
         "Give an entry without \"up_to\" and \"workers\"");
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

}  // namespace simsgd
