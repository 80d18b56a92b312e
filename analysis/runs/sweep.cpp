#include "analysis/runs/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <fstream>
#include <numeric>
#include <set>

#include "analysis/data_sheet.hpp"
#include "analysis/parameter_draws.hpp"
#include "analysis/statistics/intervals.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using WallClock = std::chrono::steady_clock;

namespace {

// Whether the files in the directory are those of the run: result.json is written last.
bool has_artifacts(const fs::path& directory, const RunRow& run) {
  std::ifstream file(directory / "result.json");
  OrderedJson document = OrderedJson::parse(file, nullptr, false);
  if (!document.is_object() || !document.contains("scenario") || !document.contains("context")) return false;
  const std::string scenario = document["scenario"].dump();
  return ended_run(run.key, std::move(document), true).metrics == run.metrics &&
         run.read()["scenario"].dump() == scenario;
}

// Of the shard: without a result, or without the document or the files that are asked for.
bool is_to_run(const SweepPoint& point, const SweepSettings& settings, const RunSink& sink) {
  if (!settings.shard.has(point)) return false;
  const bool stored =
      sink.status(point.key) == RunStatus::ok && (!settings.documents || sink.is_whole(point.key));
  return settings.force || !stored ||
         (!settings.artifacts.empty() &&
          !has_artifacts(artifact_directory(settings.artifacts, point), sink.run(point.key).value()));
}

class Sweep {
 public:
  Sweep(const Study& study, const SweepSettings& settings, const SweepListener& listener)
      : study_(study),
        settings_(settings),
        listener_(listener),
        all_(points_to_examine(study)),
        rounds_(study.seed_rule, all_),
        loader_(study) {}

  void run() {
    // Everything is looked at before anything is made, so that bad input leaves no file behind.
    const std::unique_ptr<const RunSink> found = open_sink_to_look(settings_.database);
    const std::vector<PointEstimate> estimates = examine_points(study_, all_, settings_, *found);
    sink_ = open_sink(settings_.database, settings_.shard);
    sink_->put(result_study(study_, all_));
    if (!settings_.force) rounds_.look(all_, *sink_);
    for (const SweepPoint& point : points_to_run(all_, settings_, *found)) left_.insert(point.position);
    next_round();
    for (const SweepPoint& point : all_) {
      if (!settings_.shard.has(point)) continue;
      undelivered_.push_back(point.position);
      ++uses_[point.key];
    }
    const auto needed = static_cast<std::size_t>(
        std::count_if(undelivered_.begin(), undelivered_.end(),
                      [this](std::size_t i) { return rounds_.of(i) == SeedRounds::State::needed; }));
    if (listener_.begin)
      listener_.begin({needed, to_run_.size(), run_again(), memory_at_once_bytes(estimates, settings_.jobs)});
    run_points();
    sink_->flush();
    CHECK(undelivered_.empty(), "every point was run or found");
  }

 private:
  std::size_t run_again() const {
    if (settings_.force || !settings_.documents) return 0;
    return static_cast<std::size_t>(
        std::count_if(to_run_.begin(), to_run_.end(), [this](const SweepPoint& point) {
          return sink_->status(point.key) == RunStatus::ok && !sink_->is_whole(point.key);
        }));
  }

  void run_points() {
    begin_ = WallClock::now();
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
      if (rounds_.of(point.position) != SeedRounds::State::needed || left_.erase(point.position) == 0)
        continue;
      waiting_.push_back(to_run_.size());
      to_run_.push_back(point);
      ++unfinished_[point.key];
    }
    return !to_run_.empty();
  }

  void run_round() {
    run_in_children({.jobs = settings_.jobs,
                     .timeout_s = settings_.timeout_s,
                     .memory_bytes = settings_.memory_bytes,
                     .interrupted = settings_.interrupted,
                     .tick =
                         [this] {
                           sink_->tick();
                           report(nullptr, RunStatus::ok);
                         }},
                    {.next = [this] { return next(); },
                     .work = [this](std::size_t i) { return run_point(to_run_[i]); },
                     .ended = [this](std::size_t i, const ChildEnd& end) { ended(to_run_[i], end); },
                     .lasting = true,
                     .several = [this](std::size_t most) { claim(most); }});
  }

  /// The next point that no other process has.
  NextTask next() {
    if (waiting_.empty() && claimed_.empty() && !busy_.empty() && WallClock::now() - asked_ > kAskAgain)
      std::swap(waiting_, busy_);
    while (claimed_.empty() && !waiting_.empty()) claim(1);
    if (claimed_.empty()) return {busy_.empty() ? NextTask::Kind::none : NextTask::Kind::later, 0};
    const NextTask next{NextTask::Kind::task, claimed_.front()};
    claimed_.pop_front();
    return next;
  }

  /// Of the next points those that no other process has.
  void claim(std::size_t most) {
    std::vector<std::size_t> asked;
    std::vector<std::string> keys;
    for (; asked.size() < most && !waiting_.empty(); waiting_.pop_front()) {
      asked.push_back(waiting_.front());
      keys.push_back(to_run_[waiting_.front()].key);
    }
    if (asked.empty()) return;
    // One that has a result is here for its files.
    const bool force = settings_.force || !settings_.artifacts.empty();
    const std::vector<Turn> turns = sink_->ask(keys, force, settings_.documents);
    for (std::size_t k = 0; k < asked.size(); ++k) {
      const SweepPoint& point = to_run_[asked[k]];
      switch (turns[k]) {
        case Turn::mine:
          claimed_.push_back(asked[k]);
          break;
        case Turn::busy:
          busy_.push_back(asked[k]);
          asked_ = WallClock::now();
          break;
        case Turn::ended:
          rounds_.ended(sink_->run(point.key).value());
          note_end(point, sink_->status(point.key).value());
          break;
      }
    }
  }

  /// In a child; what it answers.
  std::string run_point(const SweepPoint& point) {
    const Scenario& scenario = loader_.load(point.point);
    SimulationOptions options;
    options.threads = settings_.threads;
    options.timeline = !settings_.artifacts.empty();
    const bool drawn = settings_.draws > 1 && is_calibrated(scenario);
    if (!settings_.run && !drawn && settings_.artifacts.empty() && !settings_.documents) {
      const Job& job = loader_.job();
      OrderedJson document = run_job(scenario, job, options, true).document;
      if (settings_.draws > 1) tell_data_sheets(scenario.resolved, job, false, document);
      return to_bytes(ended_run(std::move(document), loader_.completed_text()));
    }
    RunOutcome outcome = settings_.run ? settings_.run(scenario, options)
                                       : run_with_intervals(scenario, loader_.job(), options,
                                                            {.draws = settings_.draws, .jobs = 1});
    if (!settings_.artifacts.empty()) write_run(outcome, artifact_directory(settings_.artifacts, point));
    return to_bytes(ended_run("", std::move(outcome.document), settings_.documents));
  }

  void ended(const SweepPoint& point, const ChildEnd& end) {
    RunRow run = end.kind == ChildEnd::Kind::answered ? run_from_bytes(end.text)
                                                      : failed_run(end, loader_.load(point.point).resolved);
    run.key = point.key;
    const RunStatus status = run.status;
    rounds_.ended(run);
    // A sink keeps an earlier result where a run fails that was forced.
    if (status != RunStatus::ok) failed_[point.key] = run;
    sink_->put(std::move(run));
    note_end(point, status);
  }

  void note_end(const SweepPoint& point, RunStatus status) {
    ++ended_;
    if (--unfinished_[point.key] == 0) unfinished_.erase(point.key);
    report(&point, status);
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
      undelivered_.pop_front();
      listener_.result(result_of(point));
      if (--uses_[point.key] == 0) sink_->forget(point.key);
    }
  }

  PointResult result_of(const SweepPoint& point) const {
    const auto failure = failed_.find(point.key);
    if (failure != failed_.end())
      return {point, failure->second.status, failure->second.error, [failure] { return failure->second; }};
    const auto read = [this, &point] {
      std::optional<RunRow> run = sink_->run(point.key);
      CHECK(run.has_value(), "a run that ended is in the sink");
      return std::move(*run);
    };
    const RunStatus status = sink_->status(point.key).value();
    return {point, status, status == RunStatus::ok ? "" : read().error, read};
  }

  void report(const SweepPoint* last, RunStatus status) const {
    if (!listener_.progress) return;
    const double elapsed_s = std::chrono::duration<double>(WallClock::now() - begin_).count();
    listener_.progress({begun_ + to_run_.size(), ended_, elapsed_s, last, status});
  }

  static constexpr std::chrono::milliseconds kAskAgain{100};

  const Study& study_;
  const SweepSettings& settings_;
  const SweepListener& listener_;
  std::vector<SweepPoint> all_, to_run_;  // to_run_: in this round
  SeedRounds rounds_;
  PointLoader loader_;
  std::set<std::size_t> left_;  // positions without a result, needed or not
  std::size_t begun_ = 0;       // runs of earlier rounds
  std::unique_ptr<RunSink> sink_;
  std::deque<std::size_t> waiting_, claimed_, busy_;  // of to_run_: not begun; the same, ours; others'
  WallClock::time_point asked_;                       // for the latter
  std::deque<std::size_t> undelivered_;               // positions, in order
  std::map<std::string, int> uses_;                   // of a key, by undelivered points
  std::map<std::string, int> unfinished_;             // keys that will be run, by points that have not ended
  std::map<std::string, RunRow> failed_;              // now
  std::size_t ended_ = 0;
  WallClock::time_point begin_;
};

}  // namespace

fs::path artifact_directory(const fs::path& artifacts, const SweepPoint& point) {
  return artifacts / point.slug;
}

std::vector<SweepPoint> points_to_run(const std::vector<SweepPoint>& points, const SweepSettings& settings,
                                      const RunSink& sink) {
  std::vector<SweepPoint> pending;
  for (const SweepPoint& point : points)
    if (is_to_run(point, settings, sink)) pending.push_back(point);
  return pending;
}

double memory_at_once_bytes(const std::vector<PointEstimate>& estimates, int jobs) {
  std::vector<double> sizes;
  for (const PointEstimate& each : estimates) sizes.push_back(each.memory_bytes);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.resize(std::min(sizes.size(), static_cast<std::size_t>(std::max(1, jobs))));
  return std::accumulate(sizes.begin(), sizes.end(), 0.0);
}

std::vector<PointEstimate> examine_points(const Study& study, std::vector<SweepPoint>& points,
                                          const SweepSettings& settings, const RunSink& sink) {
  const auto runs = [&](const SweepPoint& point) { return is_to_run(point, settings, sink); };
  return examine(study, points, settings.jobs, runs, settings.interrupted, settings.ready).estimates;
}

void run_sweep(const Study& study, const SweepSettings& settings, const SweepListener& listener) {
  Sweep(study, settings, listener).run();
}

RunRow failed_run(const ChildEnd& end, const Json& scenario) {
  RunRow run;
  run.status = end.kind == ChildEnd::Kind::timed_out ? RunStatus::timeout : RunStatus::failed;
  run.error = failure_of(end);
  RunContext context = with_machine(build_context());
  context.wall_time_s = end.wall_s;
  run.document = OrderedJson{{"context", to_json(context)}, {"scenario", scenario}}.dump();
  return run;
}

namespace {

std::size_t next_look(std::size_t seeds) { return seeds + std::max<std::size_t>(1, seeds / 4); }

/// Whether the first `count` values are enough.
bool certain(const SeedRule& rule, const std::vector<std::optional<double>>& values, std::size_t count) {
  std::vector<double> known;
  for (std::size_t i = 0; i < count; ++i)
    if (values[i]) known.push_back(*values[i]);
  if (known.empty()) return true;  // nothing to become certain of
  if (known.size() < count) return false;
  const statistics::Estimate mean = statistics::student_mean(known);
  return mean.interval && mean.interval->half_width() <= rule.half_width * std::fabs(mean.value);
}

}  // namespace

int seeds_needed(const SeedRule& rule, const std::vector<std::optional<double>>& values) {
  const auto most = static_cast<std::size_t>(rule.at_most);
  std::size_t needed = std::min(most, static_cast<std::size_t>(rule.at_least));
  while (needed < most && needed <= values.size() && !certain(rule, values, needed))
    needed = std::min(most, next_look(needed));
  return static_cast<int>(needed);
}

SeedRounds::SeedRounds(const std::optional<SeedRule>& rule, const std::vector<SweepPoint>& points)
    : rule_(rule), states_(points.size(), State::needed) {
  for (const SweepPoint& each : points)
    if (each.point.optional) states_[each.position] = State::undecided;
}

void SeedRounds::look(const std::vector<SweepPoint>& points, const RunSink& sink) {
  if (!rule_) return;
  for (const SweepPoint& each : points)
    if (sink.status(each.key) == RunStatus::ok) ended(sink.run(each.key).value());
}

void SeedRounds::ended(const RunRow& run) {
  if (rule_)
    values_[run.key] = run.status == RunStatus::ok ? metric_in(run.metrics, rule_->metric) : std::nullopt;
}

void SeedRounds::decide(const std::vector<SweepPoint>& points) {
  if (!rule_) return;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    std::vector<std::optional<double>> values;
    bool unbroken = true;
    for (end = begin; end < points.size() && points[end].point.cell == points[begin].point.cell; ++end) {
      const auto known = values_.find(points[end].key);
      unbroken = unbroken && known != values_.end();
      if (unbroken) values.push_back(known->second);
    }
    const auto needed = static_cast<std::size_t>(seeds_needed(*rule_, values));
    const State others = needed <= values.size() ? State::dropped : State::undecided;
    for (std::size_t i = begin; i < end; ++i)
      states_[points[i].position] = i - begin < needed ? State::needed : others;
  }
}

}  // namespace simsgd
