#include "analysis/calibration/predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>

#include "analysis/runner.hpp"
#include "analysis/runs/child_pool.hpp"
#include "sim/base/errors.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/recording/metrics.hpp"
#include "sim/stacks/policy.hpp"

namespace simsgd {

namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

Scenario patched(Scenario scenario, const Patch& patch) {
  apply(patch, scenario.resolved);
  return scenario;
}

CollectiveOp operation_of(const Measurement& measurement) {
  for (const SchedulePlugin& plugin : schedule_plugins())
    if (op_name(plugin.op) == measurement.operation) return plugin.op;
  throw ConfigError({measurement.source, "",
                     fmt::format("line {} measures an operation that has no schedule", measurement.line),
                     measurement.operation, "Exclude it in \"data\", or name its operation with \"set\""});
}

/// Times of one operation by its size. Where it grows in proportion between two sizes, as it does between
/// changes of schedule or protocol, what lies between is not costed one by one: a third and two thirds of the
/// way are.
class TimesBySize {
 public:
  TimesBySize(const ClusterFile& file, CollectiveOp op)
      : file_(file), op_(op), ranks_(file.cluster.endpoint_of_rank.size()) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
  }

  /// `sizes` ascending.
  std::vector<double> at(const std::vector<double>& sizes) {
    std::vector<double> times(sizes.size(), kNoValue);
    if (sizes.empty()) return times;
    times.front() = time(sizes.front());
    times.back() = time(sizes.back());
    fill(sizes, times, 0, sizes.size() - 1);
    return times;
  }

 private:
  double time(double bytes) {
    return predicted_s(plan_by_policy(file_.collectives, file_.cluster, ranks_,
                                      {op_, bytes, 0, file_.cluster.handover.single_in_place ? 0 : 1, ""}));
  }

  void fill(const std::vector<double>& sizes, std::vector<double>& times, std::size_t first,
            std::size_t last) {
    if (last - first < 2) return;
    const auto on_line = [&](std::size_t i) {
      const double place = (sizes[i] - sizes[first]) / (sizes[last] - sizes[first]);
      return times[first] + place * (times[last] - times[first]);
    };
    const std::size_t third = first + (last - first) / 3, two_thirds = last - (last - first) / 3;
    bool straight = last - first > 3;
    for (const std::size_t i : {third, two_thirds}) {
      if (i == first || i == last) continue;
      times[i] = time(sizes[i]);
      straight = straight && std::fabs(times[i] - on_line(i)) <= 1e-10 * times[i];
    }
    if (straight && sizes[last] > sizes[first]) {
      for (std::size_t i = first + 1; i < last; ++i) times[i] = on_line(i);
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    times[middle] = time(sizes[middle]);
    fill(sizes, times, first, middle);
    fill(sizes, times, middle, last);
  }

  const ClusterFile& file_;
  CollectiveOp op_;
  std::vector<int> ranks_;
};

/// The points of one setting, by operation and size.
struct Group {
  std::vector<std::size_t> which, places;
  struct Sizes {
    CollectiveOp op = CollectiveOp::all_reduce;
    std::vector<double> bytes;                                  ///< ascending, each once
    std::vector<std::pair<std::size_t, std::size_t>> of_place;  ///< place of a point, number of its size
  };
  std::vector<Sizes> operations;  ///< of collectives
  Scenario part;                  ///< what a cluster is made of
};

void predict_collectives(const Group& group, const ClusterFile& file, std::vector<double>& values) {
  for (const Group::Sizes& sizes : group.operations) {
    const std::vector<double> times = TimesBySize(file, sizes.op).at(sizes.bytes);
    for (const auto& [place, size] : sizes.of_place) values[place] = times[size];
  }
}

/// Half of a round trip between rank 0 and rank 1, again and again: a ping-pong. A token bucket fills while
/// the answer comes, so in each round trip no more passes than flows into it meanwhile.
double message_s(const Cluster& cluster, double bytes) {
  const PathCost path =
      cluster.network.message_cost(cluster.endpoint_of_rank.at(0), cluster.endpoint_of_rank.at(1), bytes);
  const double filling_s = cluster.network.between.burst_bytes > 0 ? bytes * path.beta_s_per_byte / 2 : 0;
  return cluster.host.before_s(bytes) +
         std::max(filling_s, path.alpha_s + path.wire_bytes * path.beta_s_per_byte) +
         cluster.host.after_s(bytes);
}

/// The metrics in their order; NaN of one that the run lacks.
std::vector<double> run_metrics(const std::vector<std::string>& metrics, const Setting& setting,
                                const Patch& patch, const std::function<bool()>& interrupted) {
  const Scenario scenario = patched(setting.scenario, patch);
  const Job job = make_job(scenario);
  SimulationOptions options;
  options.interrupted = interrupted;
  const SimulationResult result = simulate(job, options);
  std::map<std::string, double> values;
  for (const MetricValue& metric : metric_values(result.record, job)) values[metric.name] = metric.value;
  std::vector<double> wanted;
  for (const std::string& metric : metrics) {
    const auto found = values.find(metric);
    wanted.push_back(found == values.end() ? kNoValue : found->second);
  }
  return wanted;
}

/// What a child wrote of them; all NaN of a run that failed.
std::vector<double> parsed_metrics(const ChildEnd& end, std::size_t count) {
  std::vector<double> values(count, kNoValue);
  if (end.kind != ChildEnd::Kind::answered) return values;
  std::istringstream text(end.text);
  std::string value;
  for (double& each : values)
    if (text >> value) each = std::stod(value);
  return values;
}

/// Sorted by what is costed together.
void sort_sizes(const Points& points, Group& group) {
  std::map<CollectiveOp, std::map<double, std::vector<std::size_t>>> by_size;
  for (std::size_t i = 0; i < group.which.size(); ++i)
    by_size[operation_of(points.points[group.which[i]].measurement)][points.points[group.which[i]].bytes()]
        .push_back(group.places[i]);
  for (const auto& [op, all] : by_size) {
    Group::Sizes& sizes = group.operations.emplace_back();
    sizes.op = op;
    for (const auto& [bytes, places] : all) {
      for (const std::size_t place : places) sizes.of_place.emplace_back(place, sizes.bytes.size());
      sizes.bytes.push_back(bytes);
    }
  }
}

/// Without what sending does not need: it is copied and read for each patch.
Scenario cluster_part(const Scenario& scenario) {
  Scenario part{scenario.file, Json::object(), {}};
  for (const char* section : {"cluster", "network", "seed"})
    if (scenario.resolved.contains(section)) part.resolved[section] = scenario.resolved[section];
  Json& cluster = part.resolved["cluster"];
  cluster.erase("calibration");
  if (cluster["device"].is_object())
    for (const char* of_computing : {"gemm", "inverse"}) cluster["device"].erase(of_computing);
  return part;
}

std::map<std::size_t, Group> groups_of(const Points& points, const std::vector<std::size_t>& which) {
  std::map<std::size_t, Group> groups;
  for (std::size_t i = 0; i < which.size(); ++i) {
    Group& group = groups[points.points[which[i]].setting];
    group.which.push_back(which[i]);
    group.places.push_back(i);
  }
  for (auto& [number, group] : groups) {
    const Setting& setting = points.settings[number];
    if (setting.kind == PredictSpec::Kind::run) continue;
    group.part = cluster_part(setting.scenario);
    if (setting.kind == PredictSpec::Kind::collective) sort_sizes(points, group);
  }
  return groups;
}

std::string key_of(std::size_t setting, const Patch& patch) {
  return fmt::format("{} {}", setting, Json(patch).dump());
}

}  // namespace

Predictor::Predictor(const Points& points, PredictorSettings settings)
    : points_(points),
      settings_(std::move(settings)),
      memo_(settings_.memo == nullptr ? own_memo_ : *settings_.memo) {
  for (const Point& point : points.points) {
    if (points.settings[point.setting].kind != PredictSpec::Kind::run) continue;
    std::vector<std::string>& metrics = metrics_[point.setting];
    if (std::ranges::find(metrics, point.metric) == metrics.end()) metrics.push_back(point.metric);
  }
}

void Predictor::each(std::size_t count, const std::function<void(std::size_t)>& body) const {
  static thread_local bool inside = false;  // those outside keep all cores busy
  const std::size_t threads =
      metrics_.empty() && !inside ? std::min(count, static_cast<std::size_t>(settings_.jobs)) : 1;
  if (threads < 2) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> thrown(count);
  const auto work = [&] {
    inside = true;
    for (std::size_t i = next++; i < count; i = next++) try {
        body(i);
      } catch (...) {
        thrown[i] = std::current_exception();
        next = count;
      }
    inside = false;
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t k = 1; k < threads; ++k) others.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& each : thrown)
    if (each) std::rethrow_exception(each);
}

std::vector<std::vector<double>> Predictor::predict(const std::vector<Patch>& patches,
                                                    const std::vector<std::size_t>& which) const {
  std::vector<std::vector<double>> values(patches.size(), std::vector<double>(which.size(), kNoValue));
  std::vector<RunTask> tasks;
  std::vector<std::tuple<std::size_t, const Group*, std::string>> wanted;  // patch, points and key of runs
  std::set<std::string> fresh;
  const std::map<std::size_t, Group> groups = groups_of(points_, which);
  each(patches.size(), [&](std::size_t p) {
    for (const auto& [number, group] : groups) {
      const Setting& setting = points_.settings[number];
      if (setting.kind == PredictSpec::Kind::run) {
        Patch patch = patch_for(setting, patches[p]);
        std::string key = key_of(number, patch);
        if (memo_.metrics.contains(key) || !fresh.insert(key).second)
          ++memo_.recalled;
        else
          tasks.push_back({key, number, std::move(patch)});
        wanted.emplace_back(p, &group, std::move(key));
        continue;
      }
      const ClusterFile file = make_cluster(patched(group.part, patch_for(setting, patches[p])));
      if (setting.kind == PredictSpec::Kind::collective)
        predict_collectives(group, file, values[p]);
      else
        for (std::size_t i = 0; i < group.which.size(); ++i)
          values[p][group.places[i]] = message_s(file.cluster, points_.points[group.which[i]].bytes());
    }
  });
  run_all(tasks);
  for (const auto& [p, group, key] : wanted) {
    const std::vector<double>& metrics = memo_.metrics.at(key);
    for (std::size_t i = 0; i < group->which.size(); ++i) {
      const Point& point = points_.points[group->which[i]];
      const std::vector<std::string>& names = metrics_.at(point.setting);
      const auto name = std::ranges::find(names, point.metric);
      values[p][group->places[i]] = point.times * metrics[static_cast<std::size_t>(name - names.begin())];
    }
  }
  return values;
}

void Predictor::run_all(const std::vector<RunTask>& tasks) const {
  const auto run = [&](const RunTask& task) {
    return run_metrics(metrics_.at(task.setting), points_.settings[task.setting], task.patch,
                       settings_.interrupted);
  };
  const auto failed = [this](const std::string& why) {
    if (memo_.failure.empty()) memo_.failure = why;
  };
  // Forking children, whose every write copies a page, takes as long as many short runs: those are here.
  constexpr std::clock_t kHere = CLOCKS_PER_SEC / 5;
  const std::clock_t begin = std::clock();
  std::size_t here = 0;
  for (; here < tasks.size(); ++here) {
    if (settings_.jobs > 1 && std::clock() - begin > kHere) break;
    if (settings_.interrupted && settings_.interrupted()) throw Interrupted();
    std::vector<double>& values = memo_.metrics[tasks[here].key];
    try {
      values = run(tasks[here]);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      failed(error.what());
      values.assign(metrics_.at(tasks[here].setting).size(), kNoValue);
    }
    if (settings_.progress) settings_.progress(memo_.metrics.size());
  }
  if (here == tasks.size()) return;
  run_in_children(
      tasks.size() - here,
      {.jobs = settings_.jobs,
       .interrupted = settings_.interrupted,
       .tick =
           [this] {
             if (settings_.progress) settings_.progress(memo_.metrics.size());
           }},
      [&](std::size_t i) { return fmt::format("{:.17g}", fmt::join(run(tasks[here + i]), " ")); },
      [&](std::size_t i, const ChildEnd& end) {
        const RunTask& task = tasks[here + i];
        if (end.kind != ChildEnd::Kind::answered) failed(end.text);
        memo_.metrics[task.key] = parsed_metrics(end, metrics_.at(task.setting).size());
      });
}

}  // namespace simsgd
