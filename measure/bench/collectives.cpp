// collectives: every schedule and MPI's own choice, at every number of ranks and size.
#include <algorithm>
#include <optional>

#include "measure/bench/campaigns.hpp"
#include "measure/bench/schedule_messages.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd {

namespace {

constexpr const char* kMpiOwn = "mpi";
// That a double binary tree passes on at once.
// assumed: a size between the chunks of NCCL's protocols, at which both latency and bandwidth count.
constexpr double kPiece_bytes = 65536;

struct CollectivePoint {
  const SchedulePlugin* schedule = nullptr;  ///< null: MPI's own
  CollectiveOp op{};
  int ranks = 2;
  double bytes = 0;
};

bool chosen(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> unknown(const std::vector<std::string>& names,
                                 const std::vector<std::string>& valid) {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (std::find(valid.begin(), valid.end(), name) == valid.end()) missing.push_back(name);
  return missing;
}

// Nothing where it cannot be made for so many ranks on these nodes.
std::optional<Schedule> schedule_of(const CollectivePoint& point, const BenchMachine& machine) {
  const ScheduleRequest request{.ranks = point.ranks,
                                .bytes = point.bytes,
                                .root = 0,
                                .ranks_per_node = machine.ranks_per_node(point.ranks),
                                .piece_bytes = kPiece_bytes};
  try {
    Schedule schedule = point.schedule->make(request);
    return schedule.one_by_one ? schedule.one_by_one() : schedule;
  } catch (const ParameterError&) {
    return std::nullopt;
  }
}

std::vector<CollectivePoint> points_of(const Bench& bench) {
  std::vector<CollectivePoint> points;
  const auto add = [&](const SchedulePlugin* schedule, CollectiveOp op, int ranks) {
    if (!chosen(bench.options.schedules, schedule ? schedule->info.name : kMpiOwn)) return;
    const std::vector<double> sizes =
        op == CollectiveOp::barrier ? std::vector<double>{0} : sizes_of(bench.options, false);
    for (const double bytes : sizes) {
      const CollectivePoint point{schedule, op, ranks, bytes};
      if (!schedule || schedule_of(point, bench.machine)) points.push_back(point);
    }
  };
  for (int ranks = 2; ranks <= bench.machine.ranks; ++ranks) {
    std::vector<CollectiveOp> seen;
    for (const SchedulePlugin& plugin : schedule_plugins()) {
      if (!chosen(bench.options.operations, op_name(plugin.op))) continue;
      add(&plugin, plugin.op, ranks);
      if (std::find(seen.begin(), seen.end(), plugin.op) != seen.end()) continue;
      seen.push_back(plugin.op);
      add(nullptr, plugin.op, ranks);
    }
  }
  return points;
}

std::vector<double> times_of(const Bench& bench, const CollectivePoint& point, MPI_Comm comm) {
  Together together(bench, comm);
  if (point.schedule) {
    ScheduleMessages messages(schedule_of(point, bench.machine).value(), comm, bench.waiting);
    return together.times([&] { messages.run(); });
  }
  MpiOwn own(point.op, point.bytes, comm);
  return together.times([&] { own.run(); });
}

// Communicators of the first 2, 3, ... ranks; MPI_COMM_NULL where this one is not among them.
std::vector<MPI_Comm> comms_of_first_ranks(const Bench& bench) {
  std::vector<MPI_Comm> comms;
  for (int ranks = 2; ranks <= bench.machine.ranks; ++ranks)
    MPI_Comm_split(bench.world, bench.machine.rank < ranks ? 0 : MPI_UNDEFINED, bench.machine.rank,
                   &comms.emplace_back(MPI_COMM_NULL));
  return comms;
}

}  // namespace

void check_collective_names(const BenchOptions& options) {
  std::vector<std::string> operations, schedules = {kMpiOwn};
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    add(operations, op_name(plugin.op));
    add(schedules, plugin.info.name);
  }
  std::vector<InputError> errors;
  for (const std::string& name : unknown(options.operations, operations))
    errors.push_back({"--op", "", "is not an operation", printable(name), "Use " + one_of(operations)});
  for (const std::string& name : unknown(options.schedules, schedules))
    errors.push_back({"--schedule", "", "is not a schedule", printable(name), "Use " + one_of(schedules)});
  if (!errors.empty()) throw ConfigError(std::move(errors));
}

SampleTable measure_collectives(const Bench& bench) {
  SampleTable table("collectives", bench.machine, {});
  const std::vector<CollectivePoint> points = points_of(bench);
  const std::vector<MPI_Comm> comms = comms_of_first_ranks(bench);
  run_campaigns(bench, points.size(), [&](const Campaign& campaign, std::size_t i) {
    const CollectivePoint& point = points[i];
    MPI_Comm comm = comms[static_cast<std::size_t>(point.ranks - 2)];
    if (comm == MPI_COMM_NULL) return;
    const std::vector<double> times = times_of(bench, point, comm);
    if (bench.machine.rank == 0)
      table.add(campaign,
                {op_name(point.op),
                 point.schedule ? point.schedule->info.name : kMpiOwn,
                 point.ranks,
                 bench.machine.nodes(point.ranks),
                 point.bytes,
                 {}},
                times);
  });
  return table;
}

}  // namespace simsgd
