#include "analysis/replay/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/replay/what_if.hpp"
#include "sim/base/printable.hpp"

namespace simsgd::replay {

namespace {

constexpr double kMostEvaluations = 5e8;  // of operations, for the map of workers: some seconds

class Decomposition {
 public:
  explicit Decomposition(const Graph& graph)
      : graph_(graph), times_(recorded_times(graph, false)), equal_s_(equal_durations_s(graph)) {
    play(graph, equalised(graph, times_, equal_s_, [](const Operation&) { return false; }), played_);
    ideal_s_ = played_.step_s;
  }

  const std::vector<double>& ideal_s() const { return ideal_s_; }

  /// Steps with only what `keeps` says as recorded.
  const std::vector<double>& only(const std::function<bool(const Operation&)>& keeps) {
    play(graph_, equalised(graph_, times_, equal_s_, keeps), played_);
    return played_.step_s;
  }

  Share share(const std::string& name, const std::function<bool(const Operation&)>& keeps) {
    return {name, mean(only(keeps)) / mean(ideal_s_)};
  }

 private:
  const Graph& graph_;
  Times times_;
  std::vector<double> equal_s_;
  Played played_;
  std::vector<double> ideal_s_;
};

void decompose(ReplayReport& report) {
  const Graph& graph = report.graph;
  Decomposition parts(graph);
  report.ideal_s = parts.ideal_s();
  for (std::size_t kind = 0; kind < graph.kinds.size(); ++kind)
    report.kinds.push_back(parts.share(printable(graph.kinds[kind]), [kind](const Operation& each) {
      return static_cast<std::size_t>(each.kind) == kind;
    }));
  std::stable_sort(report.kinds.begin(), report.kinds.end(),
                   [](const Share& a, const Share& b) { return a.slowdown > b.slowdown; });
  const auto place = [&graph](const Operation& each) -> const RecordedPlace& {
    return graph.workers[static_cast<std::size_t>(each.worker)];
  };
  const double each_s = static_cast<double>(graph.operations.size());
  const auto too_many = [&](const char* what, std::size_t count) {
    if (static_cast<double>(count) * each_s <= kMostEvaluations) return false;
    report.notes.push_back(fmt::format("Left out: slow-down by {}, {} of them times {} operations", what,
                                       count, graph.operations.size()));
    return true;
  };
  if (graph.stages > 1)
    for (int stage = 0; stage < graph.stages; ++stage)
      report.stages.push_back(parts.share(fmt::format("{}", stage), [&place, stage](const Operation& each) {
        return place(each).stage == stage;
      }));
  if (graph.replicas > 1 && !too_many("replica", static_cast<std::size_t>(graph.replicas)))
    for (int replica = 0; replica < graph.replicas; ++replica)
      report.replicas.push_back(
          parts.share(fmt::format("{}", replica),
                      [&place, replica](const Operation& each) { return place(each).replica == replica; }));
  if (too_many("worker", graph.workers.size())) return;
  for (std::size_t worker = 0; worker < graph.workers.size(); ++worker) {
    std::vector<double> row = parts.only(
        [worker](const Operation& each) { return static_cast<std::size_t>(each.worker) == worker; });
    for (std::size_t s = 0; s < row.size(); ++s) row[s] /= report.ideal_s[s];
    report.worker_slowdown.push_back(std::move(row));
  }
}

std::string what_if_name(const ReplayOptions& options) {
  std::string name;
  const auto add = [&name](const std::string& part) { name += (name.empty() ? "" : ", ") + part; };
  if (!options.heal.empty())
    add(fmt::format("{} {} healed", options.heal.size() == 1 ? "worker" : "workers",
                    fmt::join(options.heal, ", ")));
  if (options.ideal) add("operations of a kind equal");
  if (options.network != 1) add(fmt::format("network {}x", options.network));
  return name;
}

void add_notes(ReplayReport& report, const ReplayOptions& options) {
  const Graph& graph = report.graph;
  for (const Synchronisation& each : graph.synchronisations) {
    std::set<int> stages;
    for (const std::int32_t worker : each.workers)
      stages.insert(graph.workers[static_cast<std::size_t>(worker)].stage);
    report.notes.push_back(
        fmt::format("Something that is not recorded holds {} workers (stages {}) together before {}: taken "
                    "as a collective",
                    each.workers.size(), fmt::join(stages, ", "), printable(each.kind)));
  }
  if (options.network != 1 && !graph.synchronisations.empty())
    report.notes.push_back("A faster network leaves what is not recorded as it was");
  if (options.network != 1)
    report.notes.push_back("Assumed: messages and collectives are all transfer, without latency");
  if (options.workers == 0) return;
  report.notes.push_back(fmt::format(
      "More workers: {} draws; each new replica is one of {} recorded ones, each of its steps one of {}; a "
      "worker's batch stays",
      options.draws, graph.replicas, graph.steps.size()));
  report.notes.push_back(
      "Assumed: collectives over replicas take (n - 1) / n of a fixed time, as a ring without latency");
  if (!report.sizes.empty() && report.sizes.back().steps < graph.steps.size())
    report.notes.push_back(fmt::format("{} workers: {} of {} steps, for memory", report.sizes.back().workers,
                                       report.sizes.back().steps, graph.steps.size()));
}

}  // namespace

Times changed_times(const Graph& graph, const ReplayOptions& options, bool gaps) {
  Times times = recorded_times(graph, gaps);
  if (!options.heal.empty()) times = healed(graph, std::move(times), options.heal, "--heal");
  if (options.ideal) times = ideal(graph, std::move(times));
  if (options.network != 1) times = faster_network(graph, std::move(times), options.network);
  return times;
}

std::string worker_text(const Graph& graph, std::size_t worker) {
  const RecordedPlace& place = graph.workers[worker];
  std::string text = fmt::format("{} (", worker);
  if (graph.stages > 1) text += fmt::format("stage {}, ", place.stage);
  if (graph.tensors > 1) text += fmt::format("slice {}, ", place.tensor);
  return text + fmt::format("replica {})", place.replica);
}

ReplayReport replay_job(RecordedJob job, const ReplayOptions& options) {
  ReplayReport report;
  report.job = std::move(job);
  report.graph = make_graph(report.job);
  const Graph& graph = report.graph;
  report.operations = report.job.operations.size();
  if (options.workers == 0) std::vector<RecordedOperation>().swap(report.job.operations);
  if (options.workers > 0)  // before anything that takes long
    sizes_up_to(graph, options.workers, "--workers");
  for (const Step& step : graph.steps) report.recorded_s.push_back(step.recorded_s);
  report.replayed_s = play(graph, recorded_times(graph, true)).step_s;
  report.without_gaps_s = play(graph, recorded_times(graph, false)).step_s;
  if (const std::string name = what_if_name(options); !name.empty())
    report.what_if = WhatIf{name, play(graph, changed_times(graph, options, true)).step_s,
                            play(graph, changed_times(graph, options, false)).step_s};
  decompose(report);
  if (options.workers > 0)
    for (const int workers : sizes_up_to(graph, options.workers, "--workers"))
      report.sizes.push_back(
          resize(report.job, graph, workers, {options.draws, options.seed, options.network}, "--workers"));
  add_notes(report, options);
  return report;
}

}  // namespace simsgd::replay
