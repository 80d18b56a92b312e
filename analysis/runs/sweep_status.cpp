#include "analysis/runs/sweep_status.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

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
    read_spool(file,
               {[](const RunRow&, std::uint64_t) {}, [&](const ResultStudy& sweep) { add_new(all, sweep); }});
  for (const SlurmArray& array : arrays) add_new(all, array.sweep);
  if (all.empty() && !store)
    throw ConfigError({database.string(), "", "is not there, nor is anything spooled or submitted for it", "",
                       "Write the file of simsgd sweep run STUDY -o F.db"});
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
      read_spool(file, {[](const RunRow&, std::uint64_t) {},
                        [&](const ResultStudy& sweep) { of_sweep = of_sweep || sweep.id == id; }});
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

}  // namespace simsgd
