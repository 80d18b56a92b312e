#include "analysis/runs/sweep_status.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/runs/child_pool.hpp"
#include "analysis/runs/run_sink.hpp"
#include "analysis/runs/slurm.hpp"
#include "analysis/runs/spool.hpp"
#include "analysis/runs/store.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;

namespace {

/// Whether a process holds it.
bool held(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool taken = !locks(descriptor, LOCK_SH, file);
  ::close(descriptor);
  return taken;
}

void add_new(std::vector<ResultStudy>& all, const ResultStudy& sweep) {
  if (std::none_of(all.begin(), all.end(), [&](const ResultStudy& each) { return each.id == sweep.id; }))
    all.push_back(sweep);
}

std::vector<ResultStudy> sweeps_of(const fs::path& database, const std::vector<SlurmArray>& arrays) {
  std::vector<ResultStudy> all;
  const auto store = ResultStore::read_only(database);
  if (store) all = store->studies();
  for (const fs::path& file : spool_files(database))
    read_spool(file, {.sweep = [&](const ResultStudy& sweep) { add_new(all, sweep); }});
  for (const SlurmArray& array : arrays) add_new(all, array.sweep);
  if (all.empty() && !store)
    throw ConfigError({database.string(), "", "does not exist, and nothing was spooled or submitted for it",
                       "", "Name the file that was given to simsgd sweep run STUDY -o F.db"});
  return all;
}

/// The points that a spool file's name stands for.
Shard shard_of(const fs::path& file, const std::vector<SlurmArray>& arrays) {
  const std::string name = file.stem().string();
  Shard shard;
  if (std::sscanf(name.c_str(), "shard-%d-of-%d", &shard.index, &shard.count) == 2 && shard.count >= 1)
    return shard;
  for (const SlurmArray& array : arrays)
    for (const auto& task : array.tasks)
      if (shard.positions = task; shard_name(shard) == name) return shard;
  return {.index = 0, .count = 1, .positions = {}};  // nobody knows
}

std::map<std::size_t, PointState> in_work(const fs::path& database, const std::vector<SlurmArray>& arrays,
                                          const QueuedTasks& queue, const std::string& id,
                                          std::size_t points) {
  std::map<std::size_t, PointState> states;
  for (const SlurmArray& array : arrays) {
    if (array.sweep.id != id) continue;
    for (std::size_t task = 0; task < array.tasks.size(); ++task) {
      const auto found = queue.find({array.name, static_cast<int>(task) + 1});
      if (found == queue.end()) continue;
      for (const std::size_t position : array.tasks[task])
        states[position] = found->second ? PointState::running : PointState::queued;
    }
  }
  for (const fs::path& file : spool_files(database)) {
    bool of_sweep = false;
    if (held(file))
      read_spool(file, {.sweep = [&](const ResultStudy& sweep) { of_sweep = of_sweep || sweep.id == id; }});
    const Shard shard = of_sweep ? shard_of(file, arrays) : Shard{0, 1};
    for (std::size_t position = 0; shard.index > 0 && position < points; ++position)
      if (shard.has(position, position)) states[position] = PointState::running;
  }
  return states;
}

}  // namespace

std::size_t SweepStanding::count(PointState state) const {
  return static_cast<std::size_t>(std::count(points.begin(), points.end(), state));
}

std::map<std::size_t, PointState> points_in_work(const fs::path& database, const std::string& id,
                                                 std::size_t points, bool& queue_unknown) {
  const std::vector<SlurmArray> arrays = submitted_arrays(database);
  const std::optional<QueuedTasks> queue = queued_tasks(arrays);
  queue_unknown = !queue;
  return in_work(database, arrays, queue.value_or(QueuedTasks{}), id, points);
}

SweepStatus sweep_status(const fs::path& database) {
  const std::vector<SlurmArray> arrays = submitted_arrays(database);
  SweepStatus status;
  // The queue first: a task that ends meanwhile leaves its results to be found.
  const std::optional<QueuedTasks> queue = queued_tasks(arrays);
  status.queue_unknown = !queue;
  std::vector<std::map<std::size_t, PointState>> working;
  std::vector<ResultStudy> sweeps = sweeps_of(database, arrays);
  for (const ResultStudy& sweep : sweeps)
    working.push_back(
        in_work(database, arrays, queue.value_or(QueuedTasks{}), sweep.id, sweep.points.size()));
  const auto sink = open_sink_to_look(database);
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    SweepStanding standing{std::move(sweeps[i]), {}};
    for (std::size_t position = 0; position < standing.sweep.points.size(); ++position) {
      const std::optional<RunStatus> ended = sink->status(standing.sweep.points[position].key);
      const auto found = working[i].find(position);
      standing.points.push_back(ended == RunStatus::ok      ? PointState::done
                                : found != working[i].end() ? found->second
                                : ended                     ? PointState::failed
                                                            : PointState::missing);
    }
    status.sweeps.push_back(std::move(standing));
  }
  return status;
}

namespace {

using WallClock = std::chrono::steady_clock;

constexpr std::size_t kMostTries = 24;
// assumed: storing a result takes as long as reading it once more.
constexpr double kKeeping = 2;
// Two steps are needed, which may take longer than a try is to; beyond this the child is ended.
constexpr double kPatience_s = 60;

double since_s(WallClock::time_point begin) {
  return std::chrono::duration<double>(WallClock::now() - begin).count();
}

/// What a try tells of a point: `begin_s` until its first step ended, and `step_s` for each further one.
struct Tried {
  std::size_t index = 0;  // among the points
  double begin_s = 0, step_s = 0;
};

/// Those that bring a new value of an axis, and then others evenly.
std::vector<std::size_t> chosen_tries(const std::vector<SweepPoint>& points) {
  std::vector<std::size_t> chosen;
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < points.size() && chosen.size() < kMostTries; ++i) {
    bool fresh = chosen.empty();
    for (const auto& coordinate : points[i].point.shown)
      if (coordinate.first != "seed") fresh = seen.insert(coordinate).second || fresh;
    if (fresh) chosen.push_back(i);
  }
  std::set<std::size_t> all(chosen.begin(), chosen.end());
  const std::size_t stride = std::max<std::size_t>(1, points.size() / kMostTries);
  for (std::size_t i = stride / 2; i < points.size() && all.size() < kMostTries; i += stride) all.insert(i);
  return {all.begin(), all.end()};
}

/// In the child.
Json try_point(const Study& study, const SweepPoint& point, int threads, double limit_s) {
  const WallClock::time_point begin = WallClock::now();
  std::uint64_t steps = 0;
  double first_s = 0, last_s = 0;
  SimulationOptions options;
  options.threads = threads;
  options.progress = [&](std::uint64_t step) {
    last_s = since_s(begin);
    if (steps == 0) first_s = last_s;
    steps = step;
  };
  options.interrupted = [&] { return steps > 1 && since_s(begin) > limit_s; };
  bool ended = true;
  std::string document;
  try {
    // As the child of a sweep does; the parent reads it.
    document = run_scenario(load_point(study, point.point), options).document.dump();
    last_s = since_s(begin);
  } catch (const Interrupted&) {
    ended = false;
  }
  return {
      {"steps", steps}, {"first_s", first_s}, {"last_s", last_s}, {"ended", ended}, {"document", document}};
}

std::size_t differences(const SweepPoint& a, const SweepPoint& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.point.shown.size() && i < b.point.shown.size(); ++i)
    count += a.point.shown[i].first != "seed" && a.point.shown[i].second != b.point.shown[i].second ? 1U : 0U;
  return count;
}

double time_like(const Tried& tried, const PointEstimate& its, const PointEstimate& of) {
  const double workers = its.workers > 0 ? static_cast<double>(of.workers) / its.workers : 1;
  return tried.begin_s * workers + tried.step_s * workers * std::max(0.0, of.steps - 1);
}

}  // namespace

TimeEstimates estimate_times(const Study& study, const std::vector<SweepPoint>& points,
                             const std::vector<PointEstimate>& estimates, const TimeTrial& trial) {
  TimeEstimates made{std::vector<double>(points.size(), 0), 0, false};
  const std::vector<std::size_t> tries = chosen_tries(points);
  if (tries.empty() || estimates.size() != points.size()) return made;
  const double limit_s = trial.try_s * trial.jobs / static_cast<double>(tries.size());
  std::vector<Tried> known;
  double reading_s = 0, read = 0;
  run_in_children(
      tries.size(),
      {.jobs = trial.jobs, .timeout_s = limit_s + kPatience_s, .interrupted = trial.interrupted},
      [&](std::size_t i) { return try_point(study, points[tries[i]], trial.threads, limit_s).dump(); },
      [&](std::size_t i, const ChildEnd& end) {
        const PointEstimate& of = estimates[tries[i]];
        Tried tried{tries[i], end.wall_s, 0};
        if (end.kind == ChildEnd::Kind::answered) {
          const WallClock::time_point begin = WallClock::now();
          const Json got = Json::parse(end.text);
          const double first_s = got["first_s"], last_s = got["last_s"], steps = got["steps"];
          const double around_s = got["ended"] ? std::max(0.0, end.wall_s - last_s) : 0;
          // How many steps it has is known afterwards, too.
          const double all = got["ended"] || of.steps <= 0 ? steps : of.steps;
          if (steps > 1) tried = {tries[i], first_s + around_s, (last_s - first_s) / (steps - 1)};
          if (of.steps > 1) tried.step_s *= (all - 1) / (of.steps - 1);
          if (got["ended"]) {
            const Json document = Json::parse(got["document"].get<std::string>());
            reading_s += since_s(begin);
            ++read;
          }
          made.open_ended = made.open_ended || (!got["ended"] && of.steps <= 0);
        } else if (of.steps > 1) {
          tried.step_s = end.wall_s;  // not even two steps
        }
        known.push_back(tried);
      });
  made.tried = known.size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::size_t least = points[i].point.shown.size() + 1;
    for (const Tried& each : known) least = std::min(least, differences(points[i], points[each.index]));
    double sum_s = 0, count = 0;
    for (const Tried& each : known) {
      if (differences(points[i], points[each.index]) != least) continue;
      sum_s += time_like(each, estimates[each.index], estimates[i]);
      ++count;
    }
    // Results are read and written one after another, on one of the cores.
    const double kept_s = read > 0 ? kKeeping * reading_s / read : 0;
    const int runs = runs_with_intervals(estimates[i].runs_per_draw, trial.draws);
    made.wall_s[i] = count > 0 ? sum_s / count * runs + kept_s : 0;
  }
  return made;
}

double wall_of_all_s(const std::vector<double>& wall_s, int jobs) {
  std::vector<double> busy_until(static_cast<std::size_t>(std::max(1, jobs)), 0.0);
  for (const double each : wall_s) *std::min_element(busy_until.begin(), busy_until.end()) += each;
  return *std::max_element(busy_until.begin(), busy_until.end());
}

}  // namespace simsgd
