// simsgd sweep plan: the points, and what they will need.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include "analysis/faces/table.hpp"
#include "analysis/intervals.hpp"
#include "analysis/runs/adaptive_seeds.hpp"
#include "analysis/runs/sweep.hpp"
#include "analysis/runs/time_estimate.hpp"
#include "cli/sweep.hpp"
#include "cli/sweep_output.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

std::string about(double bytes) { return "about " + human_bytes(bytes); }

struct PlannedPoint {
  std::string memory = "-", time = "-";
};

void print_totals(const Study& study, const SweepSettings& settings,
                  const std::vector<PointEstimate>& estimates, const TimeEstimates& times, double before_s) {
  if (study.left_out > 0)
    fmt::print("\n{} more {} left out by \"exclude\".\n", study.left_out,
               study.left_out == 1 ? "combination is" : "combinations are");
  if (study.seed_rule)
    fmt::print("\nEach combination runs {} to {} seeds, until the mean of {} is certain to {:g} %.\n",
               study.seed_rule->at_least, study.seed_rule->at_most, study.seed_rule->metric,
               100 * study.seed_rule->half_width);
  if (!estimates.empty())
    fmt::print("\nAt most {} at a time need {}; this machine has {}.\n", settings.jobs,
               about(memory_at_once_bytes(estimates, settings.jobs)), human_bytes(machine_memory_bytes()));
  int runs = 0;
  for (const PointEstimate& each : estimates) runs += runs_with_intervals(each.runs_per_draw, settings.draws);
  if (runs > static_cast<int>(estimates.size()))
    fmt::print("With {} draws for intervals they are {} runs.\n", settings.draws, runs);
  if (times.tried == 0) return;
  fmt::print("{} at a time take {} {}{}: {} of them were tried.\n", settings.jobs,
             times.open_ended ? "more than" : "about",
             human_time(before_s + wall_of_all_s(times.wall_s, settings.jobs)),
             study.seed_rule ? fmt::format(" with {} seeds each", study.seed_rule->at_least) : "",
             times.tried);
}

}  // namespace

int plan_sweep_command(const SweepCommand& command) {
  const auto begin = std::chrono::steady_clock::now();
  const Study study = expand_study(command.study, command.overrides.overrides());
  SweepSettings settings = sweep_settings(command, study);
  say_preparing(study, settings);
  catch_interrupts();
  std::vector<SweepPoint> points = points_to_examine(study);
  const auto sink = open_sink_to_look(settings.database);
  std::vector<PointEstimate> estimates = examine_points(study, points, settings, *sink);
  SeedRounds rounds(study.seed_rule, points);
  rounds.look(points, *sink);
  rounds.decide(points);
  std::vector<SweepPoint> pending;
  for (const SweepPoint& point : points_to_run(points, settings, *sink))
    if (rounds.of(point.position) == SeedRounds::State::needed) pending.push_back(point);
  std::erase_if(estimates, [&](const PointEstimate& each) {
    return rounds.of(each.position) != SeedRounds::State::needed;
  });
  // A sweep begins with the same.
  const double before_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  TimeEstimates times;
  if (command.try_s > 0)
    times = estimate_times(study, pending, estimates,
                           {.jobs = settings.jobs,
                            .threads = settings.threads,
                            .try_s = command.try_s,
                            .draws = command.draws,
                            .interrupted = interrupted});
  std::map<std::size_t, PlannedPoint> needs;
  for (std::size_t i = 0; i < pending.size(); ++i)
    needs[pending[i].position].time = times.tried > 0 ? human_time(times.wall_s[i]) : "-";
  for (const PointEstimate& each : estimates) needs[each.position].memory = about(each.memory_bytes);
  Table table;
  table.header = {"point", "", "state", "memory", "time"};
  table.align = "lll";
  std::size_t of_shard = 0, unneeded = 0;
  for (const SweepPoint& point : points) {
    if (!settings.shard.has(point)) continue;
    ++of_shard;
    const auto to_run = needs.find(point.position);
    const auto state = rounds.of(point.position);
    const bool open = state != SeedRounds::State::needed;
    unneeded += open ? 1U : 0U;
    const PlannedPoint its = to_run == needs.end() ? PlannedPoint() : to_run->second;
    table.rows.push_back({std::to_string(point.position + 1), point.point.label,
                          state == SeedRounds::State::undecided ? "if needed"
                          : open                                ? "not needed"
                          : to_run == needs.end()               ? "done"
                                                                : "to run",
                          its.memory, its.time});
  }
  fmt::print("{}: {} points, {} done, {} to run{}\n\n{}", printable(study.name), of_shard,
             of_shard - pending.size() - unneeded, pending.size(),
             unneeded > 0 ? fmt::format(", {} more seeds where needed", unneeded) : "", text_rows(table));
  print_totals(study, settings, estimates, times, before_s);
  return 0;
}

}  // namespace simsgd
