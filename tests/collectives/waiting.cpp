// Nobody is through with a collective before what it waits for can be there, and who is late costs what it is
// late: every schedule on nodes of several GPUs, at every fidelity, against bounds that know the network, not
// the schedule's messages. At 0 bytes a schedule takes its documented latencies.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::collectives_waiting {

using Op = CollectiveOp;

namespace {

constexpr double kBytes = 1e6, kApart_s = 0.05, kRounding_s = 1e-9;
constexpr double kInside_s = 2e-6, kInside_Bps = 300e9;  // of make_cluster; between nodes kAlpha, kBandwidth
constexpr int kTimes = 2;
const std::vector<Fidelity> kFidelities = {Fidelity::closed, Fidelity::steps, Fidelity::flows,
                                           Fidelity::messages};

struct Machine {
  int nodes = 1, per_node = 1, nics = 1;
  int slow_node = -1;  ///< whose NICs have a quarter of the bandwidth

  int ranks() const { return nodes * per_node; }
  bool inside(int a, int b) const { return a / per_node == b / per_node; }
  double latency_s(int a, int b) const { return inside(a, b) ? kInside_s : kAlpha; }
  double out_Bps(int node) const { return nics * kBandwidth * (node == slow_node ? 0.25 : 1); }
  /// The most that can leave the one rank, or its node, for the other.
  double between_Bps(int a, int b) const {
    if (inside(a, b)) return kInside_Bps + (nodes > 1 ? out_Bps(a / per_node) : 0);
    return std::min(out_Bps(a / per_node), out_Bps(b / per_node));
  }
  Cluster cluster() const {
    Cluster made = make_cluster("star", nodes, per_node, nics);
    for (Link& link : made.network.links)
      if (link.name.starts_with("node" + std::to_string(slow_node) + ".")) link.bandwidth_Bps /= 4;
    return made;
  }
};

/// The same operation twice in a row; one rank may be late each time.
struct Run {
  const SchedulePlugin* schedule;
  double bytes = 0;
  int late = 0;
  double late_s = 0;

  double arrival_s(int rank) const { return rank == late ? late_s : 0; }
};

/// Ends since the begin of a run, by time and rank.
using Ends = std::vector<double>;

std::vector<Ends> ends_of_runs(const Machine& machine, Fidelity fidelity, const std::vector<Run>& runs) {
  const auto ranks = static_cast<std::size_t>(machine.ranks());
  std::vector<Ends> by_run(runs.size(), Ends(kTimes * ranks));
  Cluster cluster = machine.cluster();
  Job job = scripted_job(cluster.network, [&](Worker& worker) {
    const auto rank = static_cast<std::size_t>(worker.rank());
    while (worker.next_step())
      for (std::size_t r = 0; r < runs.size(); ++r) {
        const Run& run = runs[r];
        const double begin_s = kApart_s * static_cast<double>(r + 1);
        worker.compute().spend(Activity::compute, begin_s - worker.now());
        for (std::size_t time = 0; time < kTimes; ++time) {
          if (run.arrival_s(worker.rank()) > 0)
            worker.compute().spend(Activity::compute, run.arrival_s(worker.rank()));
          run_any(worker, timed_any(run.schedule->op, run.bytes, run.schedule->info.name));
          by_run[r][time * ranks + rank] = worker.now() - begin_s;
        }
      }
  });
  job.cluster = std::move(cluster);
  job.network.fidelity = fidelity;
  simulate_job(job);
  return by_run;
}

double last_of(const Ends& ends, int time, int ranks) {
  const auto first = ends.begin() + static_cast<std::ptrdiff_t>(time) * ranks;
  return *std::max_element(first, first + ranks);
}

/// Of what rank `to` ends with, the bytes that depend on rank `from`; none: -1. Root is rank 0.
double needed_bytes(Op op, int from, int to, const Run& run, int ranks) {
  switch (op) {
    case Op::all_reduce:
      return run.bytes;
    case Op::broadcast:
      return from == 0 ? run.bytes : -1;
    case Op::reduce:
      return to == 0 ? run.bytes : -1;
    case Op::barrier:
      return 0;
    default:
      return run.bytes / ranks;
  }
}

/// By how much the first operation lets a rank go before what it needs can have come, at worst.
double too_early_s(const Machine& machine, const Run& run, const Ends& ends, bool exact) {
  double worst = 0;
  for (int to = 0; to < machine.ranks(); ++to)
    for (int from = 0; from < machine.ranks(); ++from) {
      const double bytes = needed_bytes(run.schedule->op, from, to, run, machine.ranks());
      if (from == to || bytes < 0) continue;
      const double earliest_s = run.arrival_s(from) + machine.latency_s(from, to) +
                                (exact ? bytes / machine.between_Bps(from, to) : 0);
      worst = std::max({worst, earliest_s - ends[static_cast<std::size_t>(to)],
                        run.arrival_s(to) - ends[static_cast<std::size_t>(to)]});
    }
  return worst;
}

bool is_power_of_two(int n) { return power_of_two_below(n) == n; }
bool aligned(const Machine& machine) {
  return machine.nodes == 1 || machine.per_node == 1 ||
         (is_power_of_two(machine.nodes) && is_power_of_two(machine.per_node));
}

/// What a message takes where most of them go: between nodes; and at least.
double longest_s(const Machine& machine, double bytes) {
  return machine.nodes > 1 ? kAlpha + bytes / kBandwidth : kInside_s + bytes / kInside_Bps;
}
double shortest_s(const Machine& machine, double bytes) {
  return machine.per_node > 1 ? kInside_s + bytes / kInside_Bps : kAlpha + bytes / kBandwidth;
}

/// How much of its delay a late rank may make up for, as docs/model.md has it.
double slack_s(const std::string& schedule, const Machine& machine) {
  const int ranks = machine.ranks(), active = power_of_two_below(ranks), levels = ceil_log2(ranks);
  const auto unequal_s = [&](double bytes) { return longest_s(machine, bytes) - shortest_s(machine, bytes); };
  const double fold_s = active < ranks ? 2 * longest_s(machine, kBytes) : 0;
  if (schedule == "ring") return (machine.per_node - 1) * unequal_s(kBytes / ranks);
  if (schedule == "recursive_doubling")
    return fold_s + (aligned(machine) ? 0 : ceil_log2(active) * unequal_s(kBytes));
  if (schedule == "rabenseifner") {
    double exchanges_s = 0;
    for (double part = kBytes / 2; part >= kBytes / active; part /= 2) exchanges_s += 2 * unequal_s(part);
    return fold_s + (aligned(machine) ? 0 : exchanges_s);
  }
  if (schedule == "tree")
    return aligned(machine) && active == ranks
               ? 0
               : 2 * (levels * longest_s(machine, kBytes) - shortest_s(machine, kBytes));
  if (schedule == "double_binary_tree")
    return std::max(0, machine.per_node - 2) * kInside_s +
           (is_power_of_two(machine.nodes) ? 0 : (ceil_log2(machine.nodes) - 1) * kAlpha);
  if (schedule == "nvls")  // a rank waits for the switch, and for its own part's tree
    return is_power_of_two(machine.nodes) ? 0 : (ceil_log2(machine.nodes) - 1) * kAlpha;
  REQUIRE(schedule == "hierarchical");
  return 0;
}

struct Latencies {
  int inside = 0, between = 0;
};

/// Of an all-reduce, as `simsgd list schedules` has it: nodes of 2^n GPUs, or one node, or GPUs of their own.
Latencies latencies(const std::string& schedule, const Machine& machine) {
  const int g = machine.per_node, nodes = machine.nodes, ranks = machine.ranks();
  if (schedule == "ring") return nodes > 1 ? Latencies{0, 2 * (ranks - 1)} : Latencies{2 * (g - 1), 0};
  if (schedule == "hierarchical") return {2 * (g - 1), 2 * (nodes - 1)};
  if (schedule == "double_binary_tree") return {2 * (g - 1), 2 * ceil_log2(nodes)};
  if (schedule == "nvls") return {g > 1 ? 1 : 0, 2 * ceil_log2(nodes)};
  if (schedule == "tree") return {2 * ceil_log2(g), 2 * ceil_log2(nodes)};
  const int times = schedule == "rabenseifner" ? 2 : 1;
  const auto folded = [times](int n) {
    return times * ceil_log2(power_of_two_below(n)) + (is_power_of_two(n) ? 0 : 2);
  };
  REQUIRE((schedule == "rabenseifner" || schedule == "recursive_doubling"));
  return {folded(g), folded(nodes)};
}

bool possible(const SchedulePlugin& plugin, int ranks) {
  return plugin.op != Op::custom && (plugin.info.name != "recursive_halving" || is_power_of_two(ranks));
}

/// Somebody late by less than most take, and by more; at last everybody in time, with bytes and without.
std::vector<Run> runs_of(const SchedulePlugin& plugin, int ranks) {
  std::vector<Run> runs;
  const int step = plugin.op == Op::all_reduce ? 1 : std::max(1, ranks - 1);  // else the first and the last
  for (int late = 0; late < ranks; late += step)
    for (const double late_s : {17e-6, 3e-3}) runs.push_back({&plugin, kBytes, late, late_s});
  runs.push_back({&plugin, kBytes});
  runs.push_back({&plugin, 0});
  return runs;
}

void check_late(const Machine& machine, const Run& run, const Ends& ends, const Ends& in_time) {
  const int ranks = machine.ranks();
  const double slack = slack_s(run.schedule->info.name, machine), alone_s = last_of(in_time, 0, ranks);
  CAPTURE(slack);
  CAPTURE(alone_s);
  CHECK(last_of(ends, 0, ranks) >= alone_s + run.late_s - slack - kRounding_s);
  CHECK(last_of(ends, kTimes - 1, ranks) >= kTimes * (alone_s + run.late_s - slack) - kRounding_s);
  for (int time = 0; time < kTimes; ++time)
    CHECK(last_of(ends, time, ranks) <=
          last_of(in_time, time, ranks) + (time + 1) * run.late_s + kRounding_s);
}

void check_latencies(const Machine& machine, const Run& run, const Ends& ends) {
  if (run.schedule->op != Op::all_reduce) return;
  const Latencies expected = latencies(run.schedule->info.name, machine);
  const double last_s = last_of(ends, 0, machine.ranks());
  const bool by_nodes = run.schedule->info.name == "hierarchical" ||
                        run.schedule->info.name == "double_binary_tree" || run.schedule->info.name == "nvls";
  if (aligned(machine) || by_nodes)
    CHECK(std::fabs(last_s - expected.inside * kInside_s - expected.between * kAlpha) < kRounding_s);
}

void check(const Machine& machine, const std::vector<Fidelity>& fidelities = kFidelities) {
  CAPTURE(machine.nodes);
  CAPTURE(machine.per_node);
  CAPTURE(machine.nics);
  CAPTURE(machine.slow_node);
  const Cluster cluster = machine.cluster();
  std::vector<Run> runs;
  for (const SchedulePlugin& plugin : schedule_plugins())
    if (possible(plugin, machine.ranks()))
      for (Run& run : runs_of(plugin, machine.ranks())) runs.push_back(run);
  for (const Fidelity fidelity : fidelities) {
    CAPTURE(fidelity_name(fidelity));
    const std::vector<Ends> ends = ends_of_runs(machine, fidelity, runs);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const Run& run = runs[r];
      CAPTURE(op_name(run.schedule->op));
      CAPTURE(run.schedule->info.name);
      CAPTURE(run.bytes);
      CAPTURE(run.late);
      CAPTURE(run.late_s);
      const Plan plan = plan_of(run.schedule->op, run.schedule->info.name, run.bytes, cluster);
      const bool exact = plan.choose(fidelity, false, Beside::computing).exact;
      CHECK(too_early_s(machine, run, ends[r], exact) < kRounding_s);
      if (run.bytes == 0) check_latencies(machine, run, ends[r]);
      if (run.schedule->op != Op::all_reduce || run.late_s == 0 || machine.slow_node >= 0) continue;
      if (!plan.sharing().dedicated) continue;  // whoever is late leaves the others a NIC of their own
      const auto in_time = std::find_if(runs.begin() + static_cast<std::ptrdiff_t>(r), runs.end(),
                                        [](const Run& each) { return each.late_s == 0; });
      check_late(machine, run, ends[r], ends[static_cast<std::size_t>(in_time - runs.begin())]);
    }
  }
}

}  // namespace

TEST_CASE(
    "no rank is through before what it needs can have come, who is late costs that, and 0 bytes take the documented latencies") {
  for (const Machine& machine :
       {Machine{1, 4}, {1, 5}, {2, 1}, {5, 1}, {8, 1}, {2, 3, 3}, {3, 2, 2}, {4, 4, 4}})
    check(machine);
  check({4, 8}, {Fidelity::closed, Fidelity::steps});
}

TEST_CASE("so it is where the GPUs of a node share a NIC, and where a node's NIC is slow") {
  for (const Machine& machine : {Machine{4, 3, 1}, {3, 2, 2, 1}, {4, 2, 1, 3}}) check(machine);
}

}  // namespace simsgd::test::collectives_waiting
