// simsgd bench: one collective over a range of sizes, in nccl-tests' table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "analysis/collective_bench.hpp"
#include "cli/verbs.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd {

namespace {

struct BenchVerb {
  std::string op, cluster = "clusters/infiniband-100g.json", schedule, fidelity = "auto", jitter;
  std::string first = "32M", last = "32M", step_bytes;
  double factor = 0;
  int workers = kBenchWorkers, iterations = 20, draws = kUsualDraws;
  const CLI::Option* workers_option = nullptr;
  bool json = false;
  OverrideOptions overrides;
};

[[noreturn]] void usage_error(const std::string& option, const std::string& problem, const std::string& found,
                              const std::string& remedy) {
  throw ConfigError(InputError{option, "", problem, found, remedy});
}

// nccl-tests' sizes: K, M and G are powers of 1024.
double parse_size(const std::string& option, const std::string& text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  double scale = 0;
  for (const auto& [unit, size] : {std::pair{"", 1.0}, {"K", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}})
    if (suffix == unit || suffix == std::string(unit) + "B") scale = size;
  if (error != std::errc() || scale == 0 || value < 0)
    usage_error(option, "is not a size", text, "Write bytes, with K, M or G for powers of 1024: 8, 64K, 1G");
  return std::floor(value * scale);
}

std::vector<double> sizes_of(const BenchVerb& verb) {
  const double first = parse_size("-b", verb.first), last = parse_size("-e", verb.last);
  const double step = verb.step_bytes.empty() ? 1048576.0 : parse_size("-i", verb.step_bytes);
  if (last < first) usage_error("-e", "is smaller than -b", verb.last, "Give at least " + verb.first);
  if (verb.factor != 0 && verb.factor <= 1)
    usage_error("-f", "must be above 1", fmt::format("{}", verb.factor),
                "Give 2 to double the size each time");
  if (verb.factor > 1 && first <= 0)
    usage_error("-b", "cannot grow by a factor", verb.first, "Start at 1 or more");
  std::vector<double> sizes;
  double size = first;
  while (size <= last) {
    sizes.push_back(std::floor(size));
    if (sizes.size() > 100000)
      usage_error("-i", "gives more than 100,000 sizes", verb.step_bytes, "Use -f, or a larger step");
    if (size == last) break;
    size = verb.factor > 1 ? size * verb.factor : size + step;
  }
  return sizes;
}

CollectiveOp parse_op(const std::string& name) {
  std::vector<std::string> names;
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    if (op_name(plugin.op) == name) return plugin.op;
    if (const std::string each = op_name(plugin.op); std::ranges::find(names, each) == names.end())
      names.push_back(each);
  }
  usage_error("OPERATION", "is not a collective operation", name, which_there_are(name, names, "Use"));
}

void check_schedule(CollectiveOp op, const std::string& name) {
  if (name.empty() || find_schedule(op, name)) return;
  std::vector<std::string> names;
  for (const SchedulePlugin& plugin : schedule_plugins())
    if (plugin.op == op) names.push_back(plugin.info.name);
  usage_error("--schedule", "is not a schedule for " + op_name(op), name, "Use " + one_of(names));
}

Fidelity parse_fidelity(const std::string& name) {
  std::vector<std::string> names;
  for (const Fidelity fidelity :
       {Fidelity::automatic, Fidelity::closed, Fidelity::steps, Fidelity::flows, Fidelity::messages}) {
    if (fidelity_name(fidelity) == name) return fidelity;
    names.push_back(fidelity_name(fidelity));
  }
  usage_error("--fidelity", "is not a fidelity", name, "Use " + one_of(names));
}

int bench(const BenchVerb& verb, const std::string& arguments) {
  BenchSettings settings;
  settings.op = parse_op(verb.op);
  settings.schedule = verb.schedule;
  check_schedule(settings.op, verb.schedule);
  settings.fidelity = parse_fidelity(verb.fidelity);
  settings.sizes_bytes = settings.op == CollectiveOp::barrier ? std::vector<double>{0} : sizes_of(verb);
  settings.iterations = verb.iterations;
  if (!verb.jitter.empty()) {
    const ParsedQuantity mean = parse_quantity(verb.jitter, Dimension::time_s);
    if (!mean.ok || mean.value < 0)
      usage_error("--jitter", mean.ok ? "is negative" : mean.problem, verb.jitter,
                  "Write a time such as \"2 us\"");
    settings.jitter = {Distribution::Kind::exponential, 0, mean.value, 1, {}, {}};
  }
  const Overrides overrides = verb.overrides.overrides();
  for (const auto& [pointer, value] : overrides.set)
    if (pointer != "/cluster" && !pointer.starts_with("/cluster/"))
      usage_error("--set", "is outside the cluster, and a benchmark uses nothing else of a scenario", pointer,
                  "Did you mean /cluster" + pointer + "?");
  settings.seed = overrides.seed.value_or(1);
  Loading loading = load_around_cluster(
      verb.cluster, verb.workers_option->count() > 0 ? std::optional(verb.workers) : std::nullopt, overrides);
  loading.errors.throw_if_any("/cluster");
  loading.errors.throw_if_any("/network");
  const ClusterFile file = make_cluster(loading.scenario);
  const Cluster& cluster = file.cluster;
  settings.collectives = file.collectives;
  const BenchResult result =
      bench_with_intervals(loading.scenario, settings, {.draws = verb.draws, .jobs = available_threads()});
  if (verb.json)
    fmt::print("{}\n", nccl_json(settings, cluster, result, arguments).dump(2));
  else
    fmt::print("{}", nccl_table(settings, cluster, result));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "bench", "Time a collective operation over a range of sizes, as a table like that of nccl-tests");
  auto settings = std::make_shared<BenchVerb>();
  verb->add_option("OPERATION", settings->op,
                   "all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, reduce or barrier")
      ->required();
  verb->add_option("-b,--minbytes", settings->first, "Smallest size; K, M, G are powers of 1024")
      ->capture_default_str();
  verb->add_option("-e,--maxbytes", settings->last, "Largest size")->capture_default_str();
  verb->add_option("-f,--stepfactor", settings->factor, "Factor between sizes");
  verb->add_option("-i,--stepbytes", settings->step_bytes, "Increment between sizes, without a factor (1M)");
  verb->add_option("-n,--iters", settings->iterations,
                   "Number of repetitions that are averaged; they differ only with jitter")
      ->capture_default_str()
      ->check(above_zero());
  verb->add_option("--cluster", settings->cluster, "Cluster file, or a scenario or study with a cluster")
      ->capture_default_str();
  settings->workers_option =
      verb->add_option("--workers", settings->workers, "Number of ranks (default: the scenario's, else 8)")
          ->check(above_zero());
  verb->add_option("--schedule", settings->schedule,
                   "Schedule (simsgd list schedules; default: the cluster's)");
  verb->add_option("--fidelity", settings->fidelity, "auto, closed, steps, flows or messages")
      ->capture_default_str();
  verb->add_option("--jitter", settings->jitter,
                   "Mean of an exponential extra latency of each message, such as \"2 us\"");
  verb->add_option(
          "--draws", settings->draws,
          "Repetitions with drawn parameters on a calibrated cluster, for intervals; 0: no intervals")
      ->capture_default_str()
      ->check(CLI::Range(0, 10000));
  verb->add_flag("--json,-J", settings->json, "nccl-tests' JSON instead of its table");
  settings->overrides.add_to(*verb);
  verb->footer(
      "Example:\n  simsgd bench all_reduce -b 8 -e 1G -f 2 --cluster clusters/infiniband-100g.json --workers 16");
  verb->callback([settings, &exit_code] { exit_code.value = bench(*settings, "bench " + settings->op); });
}

}  // namespace simsgd
