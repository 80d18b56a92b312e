#include "analysis/collective_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>

#include "analysis/data_sheet.hpp"
#include "analysis/runs/child_pool.hpp"
#include "scenarios/language/job_notes.hpp"
#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/engine/ticks.hpp"

namespace simsgd {

namespace {

/// More are simulated only where it was asked for: minutes.
constexpr int kMostSimulatedRanks = 16384;

std::unique_ptr<Plan> make_plan(const Cluster& cluster, const BenchSettings& settings, double bytes) {
  std::vector<int> ranks(static_cast<std::size_t>(cluster.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return std::make_unique<Plan>(
      plan_by_policy(settings.collectives, cluster, ranks,
                     {settings.op, bytes, 0, cluster.handover.single_in_place ? 0 : 1, settings.schedule}));
}

std::string schedule_text(const BenchSettings& settings) {
  return settings.schedule.empty() ? policy_text(settings.collectives, settings.op) : settings.schedule;
}

// Of iterations one after another. Where operations are negotiated, each is handed over when the one before
// has ended, as in a run whose steps are one operation each: what a stack's clock adds depends on when that
// was.
double mean_time_s(const Cluster& cluster, const std::vector<double>& durations, int iterations) {
  const std::optional<Negotiation>& loop = cluster.handover.negotiation;
  if (!loop || cluster.workers() == 1)
    return std::accumulate(durations.begin(), durations.end(), 0.0) / static_cast<double>(durations.size());
  double at_s = 0;
  for (int i = 0; i < iterations; ++i)
    at_s =
        tick_s(*loop, at_s) + loop->agreement_s + durations[static_cast<std::size_t>(i) % durations.size()];
  return at_s / iterations;
}

// The last end after a common arrival, without events: of each iteration, or of all where they are the same.
std::vector<double> times_by_recurrence(const Plan& plan, Fidelity fidelity, const JitterDraws* jitter,
                                        int iterations) {
  if (fidelity == Fidelity::closed) return {plan.dedicated_time_s()};
  const std::vector<double> arrivals(static_cast<std::size_t>(plan.ranks()), 0.0);
  std::vector<double> ends, times;
  const int count = jitter ? iterations : 1;
  for (int i = 0; i < count; ++i) {
    JitterDraws draws;
    if (jitter) draws = *jitter;
    draws.operation += static_cast<std::uint64_t>(i);
    plan.ends_by_steps(arrivals, jitter ? &draws : nullptr, ends);
    times.push_back(*std::ranges::max_element(ends));
  }
  return times;
}

/// What has to be simulated, and for which row.
struct Simulated {
  std::unique_ptr<Plan> plan;
  Fidelity fidelity = Fidelity::messages;
  std::size_t row = 0;
};

void simulate_rows(const Cluster& cluster, const std::vector<Simulated>& all, const JitterDraws* jitter,
                   int iterations, std::vector<double>& times) {
  if (all.empty()) return;
  const int count = jitter ? iterations : 1;
  std::vector<PlanToSimulate> sequence;
  for (const Simulated& each : all)
    sequence.insert(sequence.end(), static_cast<std::size_t>(count), {each.plan.get(), each.fidelity});
  const std::vector<double> simulated = simulate_plans(cluster, sequence, jitter);
  for (std::size_t each = 0; each < all.size(); ++each) {
    const auto first = simulated.begin() + static_cast<std::ptrdiff_t>(each) * count;
    times[all[each].row] = mean_time_s(cluster, std::vector<double>(first, first + count), iterations);
  }
}

double elements(const BenchSettings& settings, int ranks, double bytes) {
  const bool split = settings.op == CollectiveOp::all_gather || settings.op == CollectiveOp::reduce_scatter ||
                     settings.op == CollectiveOp::all_to_all;
  return std::floor(bytes / 4 / (split ? ranks : 1));
}

/// busbw / algbw in nccl-tests: 2 (n-1)/n, (n-1)/n or 1.
double bus_factor(CollectiveOp op, int ranks) {
  const double n = ranks;
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_gather:
    case CollectiveOp::all_to_all:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace

BenchResult bench_collective(const Cluster& cluster, const BenchSettings& settings) {
  std::optional<JitterTable> table;
  JitterDraws draws;
  if (settings.jitter.kind != Distribution::Kind::constant) {
    table.emplace(settings.jitter);
    draws = {&*table, settings.seed, 1, 0};
  }
  const JitterDraws* jitter = table ? &draws : nullptr;
  std::vector<Simulated> simulated;
  std::vector<double> times;
  BenchResult result;
  if (std::optional<Note> note = note_on_host_costs(cluster)) add_note(result.notes, std::move(*note));
  if (std::optional<Note> note = note_on_latency(cluster)) add_note(result.notes, std::move(*note));
  for (const double bytes : settings.sizes_bytes) {
    std::unique_ptr<Plan> plan = make_plan(cluster, settings, bytes);
    const FidelityChoice choice = plan->choose(settings.fidelity, jitter != nullptr);
    if (times.empty()) {
      result.fidelity = fidelity_name(choice.fidelity);
      result.reason = choice.reason;
    }
    result.exact = result.exact && choice.exact;
    if (choice.fidelity != Fidelity::closed && choice.fidelity != Fidelity::steps) {
      if (settings.fidelity == Fidelity::automatic && cluster.workers() > kMostSimulatedRanks)
        throw ConfigError(InputError{
            "--fidelity", "",
            fmt::format("would simulate flows among {} ranks, because {}", cluster.workers(), choice.reason),
            "auto",
            "Use --fidelity steps, which ignores shared links, or --fidelity flows, which takes long"});
      simulated.push_back({std::move(plan), choice.fidelity, times.size()});
      times.push_back(0);
      continue;
    }
    times.push_back(mean_time_s(cluster,
                                times_by_recurrence(*plan, choice.fidelity, jitter, settings.iterations),
                                settings.iterations));
  }
  simulate_rows(cluster, simulated, jitter, settings.iterations, times);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double bytes = settings.sizes_bytes[i];
    const double algorithm = times[i] > 0 ? bytes / times[i] : 0;
    result.rows.push_back({bytes, elements(settings, cluster.workers(), bytes), times[i], algorithm,
                           algorithm * bus_factor(settings.op, cluster.workers())});
  }
  return result;
}

namespace {

/// Sizes whose parameters are drawn as wide.
struct DrawnSizes {
  ParameterDraws draws;
  std::vector<std::size_t> rows;
  std::vector<double> sizes_bytes;
};

/// Times of each size, of one draw.
std::string drawn_times(const Scenario& scenario, BenchSettings settings, const DrawnSizes& sizes,
                        std::size_t k) {
  const ClusterFile drawn = make_cluster(sizes.draws.scenario(scenario, k));
  settings.sizes_bytes = sizes.sizes_bytes;
  settings.collectives = drawn.collectives;
  std::string text;
  for (const BenchRow& row : bench_collective(drawn.cluster, settings).rows)
    text += fmt::format("{:.17g} ", row.time_s);
  return text;
}

}  // namespace

BenchResult bench_with_intervals(const Scenario& scenario, BenchSettings settings,
                                 const IntervalSettings& intervals) {
  const ClusterFile file = make_cluster(scenario);
  settings.collectives = file.collectives;
  std::vector<Reach> reaches;
  std::map<double, DrawnSizes> alike;
  std::vector<std::string> notes;
  if (is_calibrated(scenario) && intervals.draws > 1)
    for (std::size_t i = 0; i < settings.sizes_bytes.size(); ++i) {
      ParameterDraws draws(scenario, file.cluster.workers(), settings.sizes_bytes[i], op_name(settings.op));
      reaches.push_back(draws.reach());
      for (const std::string& note : draws.notes())
        if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
      DrawnSizes& sizes = alike.try_emplace(draws.widening(), DrawnSizes{draws, {}, {}}).first->second;
      sizes.rows.push_back(i);
      sizes.sizes_bytes.push_back(settings.sizes_bytes[i]);
    }
  std::vector<std::vector<double>> times(settings.sizes_bytes.size());
  // Before this process simulates, as runs are drawn.
  for (const auto& [widening, sizes] : alike)
    run_in_children(
        sizes.draws.count() == 0 ? 0 : static_cast<std::size_t>(intervals.draws), {.jobs = intervals.jobs},
        [&, &sizes = sizes](std::size_t k) { return drawn_times(scenario, settings, sizes, k); },
        [&, &sizes = sizes](std::size_t, const ChildEnd& end) {
          if (end.kind != ChildEnd::Kind::answered) return;
          std::istringstream text(end.text);
          for (const std::size_t row : sizes.rows) text >> times[row].emplace_back();
        });
  BenchResult result = bench_collective(file.cluster, settings);
  for (std::size_t i = 0; i < reaches.size(); ++i)
    result.rows[i].intervals = intervals_of(result.rows[i].time_s, times[i], reaches[i]);
  const bool drawn =
      std::ranges::any_of(alike, [](const auto& each) { return each.second.draws.count() > 0; });
  if (intervals.draws > 1 && !drawn && file.cluster.workers() > 1) {
    for (BenchRow& row : result.rows) row.intervals = data_sheet_intervals(row.time_s);
    notes.push_back(data_sheet_note(std::nullopt));
  }
  for (std::string& note : notes) add_note(result.notes, {"calibration", std::move(note)});
  return result;
}

namespace {

// As nccl-tests prints microseconds: fewer decimals as they grow.
std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  return us >= 10000 ? fmt::format("{:7.0f}", us)
         : us >= 100 ? fmt::format("{:7.1f}", us)
                     : fmt::format("{:7.2f}", us);
}

bool reduces(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::reduce || op == CollectiveOp::reduce_scatter;
}

int root_of(CollectiveOp op) { return op == CollectiveOp::broadcast || op == CollectiveOp::reduce ? 0 : -1; }

double average_bus_GBps(const BenchResult& result) {
  double sum = 0;
  for (const BenchRow& row : result.rows) sum += row.bus_Bps / 1e9;
  return result.rows.empty() ? 0 : sum / static_cast<double>(result.rows.size());
}

}  // namespace

std::string nccl_table(const BenchSettings& settings, const Cluster& cluster, const BenchResult& result) {
  std::string text =
      fmt::format("# simsgd {} on {}: {} ranks, {} by {}; fidelity {} ({}){}\n#\n", op_name(settings.op),
                  cluster.name, cluster.workers(), op_name(settings.op), schedule_text(settings),
                  result.fidelity, result.reason, result.exact ? "" : "; APPROXIMATE");
  text +=
      "#                                                              out-of-place                       in-place          \n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n";
  for (const BenchRow& row : result.rows) {
    const std::string half = fmt::format("  {}  {:6.2f}  {:6.2f}  {:>5}", microseconds(row.time_s),
                                         row.algorithm_Bps / 1e9, row.bus_Bps / 1e9, 0);
    text += fmt::format("{:12.0f}  {:12.0f}  {:>8}  {:>6}  {:>6}{}{}\n", row.bytes, row.count, "float",
                        reduces(settings.op) ? "sum" : "none", root_of(settings.op), half, half);
  }
  text += fmt::format("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:.6g}\n#\n",
                      average_bus_GBps(result));
  for (const BenchRow& row : result.rows)
    if (!row.intervals.empty())
      text += fmt::format("# {:.0f} B: {:g} % between {:.6g} and {:.6g} us\n", row.bytes,
                          100 * row.intervals.back().level, 1e6 * row.intervals.back().low,
                          1e6 * row.intervals.back().high);
  for (const Note& note : result.notes) text += "# Note: " + note.text + "\n";
  return text;
}

nlohmann::ordered_json nccl_json(const BenchSettings& settings, const Cluster& cluster,
                                 const BenchResult& result, const std::string& arguments) {
  nlohmann::ordered_json json;
  json["version"] = "simsgd";
  json["start_time"] = nullptr;
  json["args"] = arguments;
  json["env"] = nlohmann::ordered_json::object();
  json["nccl_version"] = nullptr;
  json["config"] = {{"operation", op_name(settings.op)},
                    {"schedule", schedule_text(settings)},
                    {"ranks", cluster.workers()},
                    {"fidelity", result.fidelity},
                    {"fidelity_reason", result.reason},
                    {"exact", result.exact},
                    {"notes", nlohmann::ordered_json::array()}};
  for (const Note& note : result.notes) json["config"]["notes"].push_back(note.text);
  json["devices"] = {{{"name", cluster.device.name}, {"count", cluster.workers()}}};
  json["results"] = nlohmann::ordered_json::array();
  for (const BenchRow& row : result.rows) {
    const nlohmann::ordered_json half = {{"time", row.time_s * 1e6},
                                         {"alg_bw", row.algorithm_Bps / 1e9},
                                         {"bus_bw", row.bus_Bps / 1e9},
                                         {"nwrong", 0}};
    json["results"].push_back({{"size", static_cast<std::uint64_t>(row.bytes)},
                               {"count", static_cast<std::uint64_t>(row.count)},
                               {"type", "float"},
                               {"redop", reduces(settings.op) ? "sum" : "none"},
                               {"root", root_of(settings.op)},
                               {"out_of_place", half},
                               {"in_place", half}});
    for (const Interval& each : row.intervals)  // us, as times are
      json["results"].back()["intervals"].push_back(
          {{"level", each.level}, {"low", 1e6 * each.low}, {"high", 1e6 * each.high}});
  }
  json["out_of_bounds"] = {{"count", 0}, {"okay", true}};
  json["average_bus_bandwidth"] = {{"bandwidth", average_bus_GBps(result)}};
  return json;
}

}  // namespace simsgd
