#include "analysis/sweeps/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "analysis/sweeps/adaptive_seeds.hpp"
#include "analysis/sweeps/child_pool.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using OrderedJson = nlohmann::ordered_json;

namespace {

// Whether the files in the directory are those of the run: result.json is written last.
bool has_artifacts(const fs::path& directory, RunRow run) {
  std::ifstream file(directory / "result.json");
  OrderedJson document = OrderedJson::parse(file, nullptr, false);
  if (!document.is_object()) return false;
  document["context"] = run.document["context"] = nullptr;
  return document == run.document;
}

class Sweep {
 public:
  Sweep(const Study& study, const SweepSettings& settings, const SweepListener& listener)
      : study_(study),
        settings_(settings),
        listener_(listener),
        all_(sweep_points(study)),
        rounds_(study.seed_rule, all_) {}

  void run() {
    // Everything is looked at before anything is made, so that bad input leaves no file behind.
    const std::vector<PointEstimate> estimates =
        examine(study_, points_to_run(all_, settings_, *open_sink_to_look(settings_.database)),
                settings_.jobs, settings_.interrupted)
            .estimates;
    sink_ = open_sink(settings_.database, settings_.shard);
    sink_->put(sweep_row(study_, all_));
    if (!settings_.force) rounds_.look(all_, *sink_);
    const std::vector<SweepPoint> pending = points_to_run(all_, settings_, *sink_);
    for (const SweepPoint& point : pending) waiting_.insert(point.position);
    next_round();
    for (const SweepPoint& point : all_) {
      if (!settings_.shard.has(point.unit)) continue;
      undelivered_.push_back(point.position);
      ++uses_[point.key];
    }
    const auto needed = static_cast<std::size_t>(
        std::count_if(undelivered_.begin(), undelivered_.end(),
                      [this](std::size_t i) { return rounds_.of(i) == SeedRounds::State::needed; }));
    if (listener_.begin)
      listener_.begin({needed, to_run_.size(), memory_at_once_bytes(estimates, settings_.jobs)});
    run_points();
    CHECK(undelivered_.empty(), "every point was run or found");
  }

 private:
  void run_points() {
    begin_ = Clock::now();
    do {
      deliver();
      run_round();
    } while (next_round());
    deliver();
  }

  /// The points that are needed by now and have not run. False where there are none.
  bool next_round() {
    rounds_.decide(all_);
    begun_ += to_run_.size();
    to_run_.clear();
    for (const SweepPoint& point : all_) {
      if (rounds_.of(point.position) != SeedRounds::State::needed || waiting_.erase(point.position) == 0)
        continue;
      to_run_.push_back(point);
      ++unfinished_[point.key];
    }
    return !to_run_.empty();
  }

  void run_round() {
    run_in_children(
        to_run_.size(),
        {.jobs = settings_.jobs,
         .timeout_s = settings_.timeout_s,
         .memory_bytes = settings_.memory_bytes,
         .interrupted = settings_.interrupted,
         .tick = [this] { report(nullptr, RunStatus::ok); }},
        [this](std::size_t i) { return work(to_run_[i]); },
        [this](std::size_t i, const ChildEnd& end) { ended(to_run_[i], end); });
  }

  /// In the child.
  std::string work(const SweepPoint& point) const {
    const Scenario scenario = load_point(study_, point.point);
    SimulationOptions options;
    options.threads = settings_.threads;
    const RunOutcome outcome = settings_.run(scenario, options);
    if (!settings_.artifacts.empty()) write_run(outcome, artifact_directory(settings_.artifacts, point));
    return outcome.document.dump();
  }

  RunRow row(const SweepPoint& point, const ChildEnd& end) const {
    RunRow run;
    run.key = point.key;
    if (end.kind == ChildEnd::Kind::answered) {
      run.document = OrderedJson::parse(end.text);
      run.scenario = run.document.at("scenario");
      run.context = run.document.at("context");
      return run;
    }
    run.status = end.kind == ChildEnd::Kind::timed_out ? RunStatus::timeout : RunStatus::failed;
    run.error = end.kind == ChildEnd::Kind::threw ? end.text : "The process " + end.text + ".";
    run.scenario = OrderedJson::parse(load_point(study_, point.point).resolved.dump());
    RunContext context = with_machine(build_context());
    context.wall_time_s = end.wall_s;
    run.context = to_json(context);
    return run;
  }

  void ended(const SweepPoint& point, const ChildEnd& end) {
    const RunRow run = row(point, end);
    sink_->put(run);
    rounds_.ended(run);
    if (run.status != RunStatus::ok) failed_[point.key] = run;
    ++ended_;
    if (--unfinished_[point.key] == 0) unfinished_.erase(point.key);
    report(&point, run.status);
    deliver();
  }

  /// The points that are next in order and done.
  void deliver() {
    while (!undelivered_.empty()) {
      const SweepPoint& point = all_[undelivered_.front()];
      if (rounds_.of(point.position) == SeedRounds::State::undecided) return;
      if (rounds_.of(point.position) == SeedRounds::State::dropped) {
        undelivered_.pop_front();
        if (--uses_[point.key] == 0) sink_->forget(point.key);
        continue;
      }
      if (unfinished_.contains(point.key)) return;
      // A sink keeps an earlier result where a run fails that was forced.
      const auto failure = failed_.find(point.key);
      std::optional<RunRow> run = failure == failed_.end() ? sink_->run(point.key) : failure->second;
      CHECK(run.has_value(), "a run that ended is in the sink");
      undelivered_.pop_front();
      if (--uses_[point.key] == 0) sink_->forget(point.key);
      listener_.result({point, std::move(*run)});
    }
  }

  void report(const SweepPoint* last, RunStatus status) const {
    if (!listener_.progress) return;
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    listener_.progress({begun_ + to_run_.size(), ended_, elapsed_s, last, status});
  }

  const Study& study_;
  const SweepSettings& settings_;
  const SweepListener& listener_;
  std::vector<SweepPoint> all_, to_run_;  // to_run_: in this round
  SeedRounds rounds_;
  std::set<std::size_t> waiting_;  // positions without a result, needed or not
  std::size_t begun_ = 0;          // runs of earlier rounds
  std::unique_ptr<RunSink> sink_;
  std::deque<std::size_t> undelivered_;    // positions, in order
  std::map<std::string, int> uses_;        // of a key, by undelivered points
  std::map<std::string, int> unfinished_;  // keys that will be run, by points that have not ended
  std::map<std::string, RunRow> failed_;   // now
  std::size_t ended_ = 0;
  Clock::time_point begin_;
};

}  // namespace

fs::path artifact_directory(const fs::path& artifacts, const SweepPoint& point) {
  return artifacts / point.slug;
}

std::vector<SweepPoint> points_to_run(const std::vector<SweepPoint>& points, const SweepSettings& settings,
                                      const RunSink& sink) {
  std::vector<SweepPoint> pending;
  for (const SweepPoint& point : points) {
    if (!settings.shard.has(point.unit)) continue;
    const bool stored = !settings.force && sink.status(point.key) == RunStatus::ok;
    const bool done =
        stored && (settings.artifacts.empty() ||
                   has_artifacts(artifact_directory(settings.artifacts, point), sink.run(point.key).value()));
    if (!done) pending.push_back(point);
  }
  return pending;
}

double memory_at_once_bytes(const std::vector<PointEstimate>& estimates, int jobs) {
  std::vector<double> sizes;
  for (const PointEstimate& each : estimates) sizes.push_back(each.memory_bytes);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.resize(std::min(sizes.size(), static_cast<std::size_t>(std::max(1, jobs))));
  return std::accumulate(sizes.begin(), sizes.end(), 0.0);
}

void run_sweep(const Study& study, const SweepSettings& settings, const SweepListener& listener) {
  Sweep(study, settings, listener).run();
}

}  // namespace simsgd
