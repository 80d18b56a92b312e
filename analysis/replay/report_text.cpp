// The summary of a replay.
// The document of a replay, and its table of workers and steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "analysis/faces/table.hpp"
#include "analysis/replay/report.hpp"
#include "results/text_table.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::replay {

namespace {

constexpr std::size_t kMostListed = 10;

std::string ratio(double value) { return fmt::format("{:.4f}", value); }

std::string heading(const ReplayReport& report) {
  const Graph& graph = report.graph;
  std::string shape;
  if (graph.stages > 1 || graph.tensors > 1) {
    shape = fmt::format(" ({} replicas x {} stages", graph.replicas, graph.stages);
    if (graph.tensors > 1) shape += fmt::format(" x {} slices", graph.tensors);
    shape += ")";
  }
  return fmt::format("{}: {} steps of {} workers{}, {} operations\n\n", printable(report.job.file),
                     graph.steps.size(), graph.workers.size(), shape,
                     grouped(static_cast<double>(report.operations), 0));
}

std::string steps_text(const ReplayReport& report) {
  const double recorded_s = mean(report.recorded_s), ideal_s = mean(report.ideal_s);
  double error_s = 0;
  for (std::size_t s = 0; s < report.recorded_s.size(); ++s)
    error_s = std::max(error_s, std::fabs(report.replayed_s[s] - report.recorded_s[s]));
  Table table;
  table.header = {"", "mean step", "without gaps", "slow-down", "without gaps"};
  const CommonUnit unit = common_time_unit({ideal_s / 10});
  const auto row = [&](const std::string& name, const std::vector<double>& with,
                       const std::vector<double>& without) {
    table.rows.push_back({name, unit.show(mean(with)) + " " + unit.name,
                          unit.show(mean(without)) + " " + unit.name, ratio(mean(with) / ideal_s),
                          ratio(mean(without) / ideal_s)});
  };
  row("as recorded", report.recorded_s, report.without_gaps_s);
  if (report.what_if) row(report.what_if->name, report.what_if->step_s, report.what_if->without_gaps_s);
  table.rows.push_back(
      {"ideal: operations of a kind equal", "", unit.show(ideal_s) + " " + unit.name, "", ratio(1)});
  std::string text = text_rows(table);
  text += fmt::format("\nSlow-down {}: {} from gaps (launch delays, host), {} from unequal operations\n",
                      ratio(recorded_s / ideal_s), ratio(report.launch_slowdown()),
                      ratio(report.blocking_slowdown()));
  if (report.what_if)
    text += fmt::format("With {}: steps {:+.2f} %, {:+.2f} % without gaps\n", report.what_if->name,
                        100 * (mean(report.what_if->step_s) / recorded_s - 1),
                        100 * (mean(report.what_if->without_gaps_s) / mean(report.without_gaps_s) - 1));
  return text + fmt::format("Replayed with its gaps, every step is within {:.3f} us of the recording\n",
                            error_s * 1e6);
}

void list(std::string& text, const std::string& title, std::vector<Share> shares) {
  if (shares.empty()) return;
  const std::size_t all = shares.size();
  if (all > kMostListed) {
    std::ranges::stable_sort(shares, [](const Share& a, const Share& b) { return a.slowdown > b.slowdown; });
    shares.resize(kMostListed);
  }
  Table table;
  for (const Share& each : shares) table.rows.push_back({"  " + each.name, ratio(each.slowdown)});
  text += fmt::format("\n{}{}\n{}", title,
                      all > kMostListed ? fmt::format(", the {} greatest of {}", kMostListed, all) : "",
                      text_rows(table));
}

std::vector<Share> worker_shares(const ReplayReport& report) {
  std::vector<Share> shares;
  for (std::size_t w = 0; w < report.worker_slowdown.size(); ++w) {
    double kept_s = 0;
    for (std::size_t s = 0; s < report.ideal_s.size(); ++s)
      kept_s += report.worker_slowdown[w][s] * report.ideal_s[s];
    shares.push_back({worker_text(report.graph, w),
                      kept_s / std::accumulate(report.ideal_s.begin(), report.ideal_s.end(), 0.0)});
  }
  return shares;
}

std::vector<Share> step_shares(const ReplayReport& report) {
  std::vector<Share> shares;
  for (std::size_t s = 0; s < report.ideal_s.size(); ++s)
    shares.push_back(
        {fmt::format("{}", report.graph.steps[s].number), report.without_gaps_s[s] / report.ideal_s[s]});
  return shares;
}

std::string sizes_text(const ReplayReport& report) {
  if (report.sizes.empty()) return "";
  Table table;
  table.header = {"workers", "mean step", "5 % to 95 % of draws", "slow-down", "ideal", "efficiency"};
  const CommonUnit unit = common_time_unit({report.sizes.front().ideal_s / 10});
  const double first_s = mean(report.sizes.front().step_s);
  for (const ResizedJob& each : report.sizes)
    table.rows.push_back({fmt::format("{}", each.workers), unit.show(mean(each.step_s)) + " " + unit.name,
                          fmt::format("{} to {} {}", unit.show(quantile(each.step_s, 0.05)),
                                      unit.show(quantile(each.step_s, 0.95)), unit.name),
                          ratio(mean(each.without_gaps_s) / each.ideal_s),
                          unit.show(each.ideal_s) + " " + unit.name,
                          fmt::format("{:.1f} %", 100 * first_s / mean(each.step_s))});
  return "\nWith more workers, and stragglers drawn from the recorded ones\n" + text_rows(table);
}

std::string listed(const std::vector<std::string>& each) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(each.size(), kMostListed));
  std::string text = fmt::format("{}", fmt::join(each.begin(), each.begin() + shown, ", "));
  return each.size() > kMostListed ? text + fmt::format(" and {} more", each.size() - kMostListed) : text;
}

std::string slow_text(const ReplayReport& report, const SlowPart& part) {
  std::vector<std::string> names, numbers;
  for (const int worker : part.workers) {
    names.push_back(worker_text(report.graph, static_cast<std::size_t>(worker)));
    numbers.push_back(fmt::format("{}", worker));
  }
  const auto [least, most] = std::minmax_element(part.ratios.begin(), part.ratios.end());
  const std::string times =
      *most - *least < 0.005 ? fmt::format("{:.2f}", *most) : fmt::format("{:.2f} to {:.2f}", *least, *most);
  const bool one = names.size() == 1;
  std::string text;
  if (part.stage >= 0)
    text =
        fmt::format("Stage {} is slow: it computes {} times as long as the other stages", part.stage, times);
  else
    text = fmt::format("{} {} {} slow: {} {} times as long as {} peers", one ? "Worker" : "Workers",
                       listed(names), one ? "is" : "are",
                       part.gaps ? (one ? "its operations and the gaps before them take"
                                        : "their operations and the gaps before them take")
                                 : (one ? "it computes" : "they compute"),
                       times, one ? "its" : "their");
  const double was_s = mean(report.replayed_s), is_s = mean(part.healed_s);
  const CommonUnit unit = common_time_unit({is_s / 10});
  return text + fmt::format("; {} (--heal {}), a step takes {} {} instead of {} {} ({:+.1f} %).",
                            part.stage >= 0 ? "with as little to compute as they" : "healed",
                            fmt::join(numbers, ","), unit.show(is_s), unit.name, unit.show(was_s), unit.name,
                            100 * (is_s / was_s - 1));
}

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

std::string conclusion(const ReplayReport& report) {
  if (report.graph.workers.size() == 1) return "Nobody can be called slow: there is only one worker.";
  std::string text;
  for (const SlowPart& part : report.slow) text += (text.empty() ? "" : " ") + slow_text(report, part);
  return text.empty() ? "Nobody is slow: no worker takes 5 % longer than its peers, no stage than the others."
                      : text;
}

std::string replay_text(const ReplayReport& report) {
  std::string text = heading(report) + steps_text(report);
  text += "\nSlow-down from a single cause, everything else equal";
  list(text, "Kind of operation", report.kinds);
  list(text, "Stage", report.stages);
  list(text, "Replica", report.replicas);
  list(text, "Worker", worker_shares(report));
  list(text, "Step, whole", step_shares(report));
  text += sizes_text(report);
  if (!report.notes.empty()) text += "\n";
  for (const std::string& note : report.notes) text += "Note: " + note + "\n";
  return text + "\n" + conclusion(report) + "\n";
}

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
