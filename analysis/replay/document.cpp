// The document of a replay, and its table of workers and steps.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/replay/report.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::replay {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson shares_of(const std::vector<Share>& shares) {
  OrderedJson json = OrderedJson::object();
  for (const Share& each : shares) json[each.name] = each.slowdown;
  return json;
}

OrderedJson steps_of(const ReplayReport& report) {
  OrderedJson steps = OrderedJson::array();
  for (std::size_t s = 0; s < report.graph.steps.size(); ++s) {
    OrderedJson step = {{"step", report.graph.steps[s].number},
                        {"recorded_s", report.recorded_s[s]},
                        {"replayed_s", report.replayed_s[s]},
                        {"without_gaps_s", report.without_gaps_s[s]},
                        {"ideal_s", report.ideal_s[s]}};
    if (report.what_if) {
      step["what_if_s"] = report.what_if->step_s[s];
      step["what_if_without_gaps_s"] = report.what_if->without_gaps_s[s];
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

OrderedJson workers_of(const ReplayReport& report) {
  OrderedJson workers = OrderedJson::array();
  for (std::size_t w = 0; w < report.worker_slowdown.size(); ++w) {
    const RecordedPlace& place = report.graph.workers[w];
    workers.push_back({{"worker", w},
                       {"replica", place.replica},
                       {"stage", place.stage},
                       {"slice", place.tensor},
                       {"slowdown_mean", mean(report.worker_slowdown[w])},
                       {"slowdown_by_step", report.worker_slowdown[w]}});
  }
  return workers;
}

OrderedJson sizes_of(const ReplayReport& report) {
  OrderedJson sizes = OrderedJson::array();
  for (const ResizedJob& each : report.sizes)
    sizes.push_back(
        {{"workers", each.workers},
         {"replicas", each.replicas},
         {"steps", each.steps},
         {"step_mean_s", mean(each.step_s)},
         {"interval",
          {{"level", 0.9}, {"low", quantile(each.step_s, 0.05)}, {"high", quantile(each.step_s, 0.95)}}},
         {"without_gaps_mean_s", mean(each.without_gaps_s)},
         {"ideal_s", each.ideal_s},
         {"draws_s", each.step_s}});
  return sizes;
}

OrderedJson slow_of(const ReplayReport& report) {
  OrderedJson slow = OrderedJson::array();
  for (const SlowPart& part : report.slow) {
    OrderedJson each = {{"workers", part.workers},
                        {"stage", nullptr},
                        {"by", part.gaps ? "computing and gaps" : "computing"},
                        {"ratios", part.ratios},
                        {"healed_step_mean_s", mean(part.healed_s)},
                        {"healed_change", mean(part.healed_s) / mean(report.replayed_s) - 1}};
    if (part.stage >= 0) each["stage"] = part.stage;
    slow.push_back(std::move(each));
  }
  return slow;
}

OrderedJson inferred_of(const ReplayReport& report) {
  OrderedJson inferred = OrderedJson::array();
  const double all_s = mean(report.recorded_s) * static_cast<double>(report.recorded_s.size());
  for (std::size_t i = 0; i < report.inferred.size(); ++i) {
    const Synchronisation& each = report.graph.synchronisations[i];
    inferred.push_back({{"before", each.kind},
                        {"workers", each.workers},
                        {"stages", stages_of(report.graph, each)},
                        {"share_of_step", report.inferred[i].held_s / all_s},
                        {"own_share_of_step", report.inferred[i].own_s / all_s}});
  }
  return inferred;
}

}  // namespace

OrderedJson replay_document(const ReplayReport& report) {
  const Graph& graph = report.graph;
  OrderedJson document = {{"file", report.job.file},
                          {"workers", graph.workers.size()},
                          {"replicas", graph.replicas},
                          {"stages", graph.stages},
                          {"slices", graph.tensors},
                          {"operations", report.operations},
                          {"metrics",
                           {{"step_recorded_mean_s", mean(report.recorded_s)},
                            {"step_replayed_mean_s", mean(report.replayed_s)},
                            {"step_without_gaps_mean_s", mean(report.without_gaps_s)},
                            {"step_ideal_mean_s", mean(report.ideal_s)},
                            {"launch_slowdown", report.launch_slowdown()},
                            {"blocking_slowdown", report.blocking_slowdown()}}}};
  if (report.what_if)
    document["what_if"] = {{"name", report.what_if->name},
                           {"step_mean_s", mean(report.what_if->step_s)},
                           {"step_without_gaps_mean_s", mean(report.what_if->without_gaps_s)}};
  document["slowdown"] = {{"by_kind", shares_of(report.kinds)},
                          {"by_stage", shares_of(report.stages)},
                          {"by_replica", shares_of(report.replicas)},
                          {"by_worker", workers_of(report)}};
  document["slow"] = slow_of(report);
  document["conclusion"] = conclusion(report);
  document["inferred"] = inferred_of(report);
  document["steps"] = steps_of(report);
  if (!report.sizes.empty()) document["sizes"] = sizes_of(report);
  document["understood"] = report.job.understood;
  document["ignored"] = report.job.ignored;
  document["warnings"] = graph.warnings;
  document["notes"] = report.notes;
  return document;
}

std::string heat_map_csv(const ReplayReport& report) {
  std::string text = "worker,replica,stage,slice,step,slowdown\n";
  for (std::size_t w = 0; w < report.worker_slowdown.size(); ++w)
    for (std::size_t s = 0; s < report.graph.steps.size(); ++s) {
      const RecordedPlace& place = report.graph.workers[w];
      text += fmt::format("{},{},{},{},{},{}\n", w, place.replica, place.stage, place.tensor,
                          report.graph.steps[s].number, report.worker_slowdown[w][s]);
    }
  return text;
}

}  // namespace simsgd::replay
