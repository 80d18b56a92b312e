// The verbs network, collectives and compute of simsgd-measure.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "measure/agreement.hpp"
#include "measure/bench/campaigns.hpp"
#include "results/atomic_file.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

inline constexpr const char* kBenchFooter =
    "One raw sample a row; `simsgd import F.csv` takes the median of each campaign.\n"
    "Exit codes: 0 done; 1 it failed; 2 usage or input.";

inline std::string bytes_problem(const std::string& text) {
  const ParsedQuantity parsed = parse_quantity(text, Dimension::bytes);
  constexpr double kMost_bytes = 1 << 30;
  if (!parsed.ok) return "a size is like 64 KiB or 4096. " + parsed.problem;
  return parsed.value >= 0 && parsed.value <= kMost_bytes ? "" : "a size is 1 GiB at most";
}

/// The job of a scenario on as many workers as there are ranks.
struct BenchJob {
  Scenario scenario;
  Job job;
};

inline std::optional<BenchJob> load_job(const std::string& path, int ranks) {
  if (path.empty()) return std::nullopt;
  Overrides overrides;
  overrides.set.emplace_back("/cluster/workers", std::to_string(ranks));
  Scenario scenario = load_scenario(path, overrides);
  Job job = make_job(scenario);
  return BenchJob{std::move(scenario), std::move(job)};
}

inline void write_samples(const std::string& path, const SampleTable& table) {
  if (path != "-") return write_file_atomically(path, table.text());
  fmt::print("{}", table.text());
  if (std::fflush(stdout) != 0) throw RunError("Cannot write to standard output.");
}

class BenchVerbs {
 public:
  /// Adds the verbs to the program.
  explicit BenchVerbs(CLI::App& app) {
    add_network(app);
    add_collectives(app);
    add_compute(app);
  }

  bool chosen() const { return network_->parsed() || collectives_->parsed() || compute_->parsed(); }

  /// Collective over MPI_COMM_WORLD, after parsing. The exit code; rank 0 speaks for all.
  int run() {
    const BenchMachine machine = look_at_machine(MPI_COMM_WORLD);
    Waiting waiting(machine.crowded());
    const Bench bench{options_, machine, MPI_COMM_WORLD, waiting};
    std::optional<BenchJob> job;
    int code = on_all_ranks(MPI_COMM_WORLD, [&] {
      complete();
      check_ranks(machine.ranks);
      job = load_job(options_.scenario, machine.ranks);
      if (collectives_->parsed()) check_collective_names(options_);
    });
    if (code == 0 && job)
      code = on_all_ranks(MPI_COMM_WORLD, [&] {
        require_one_scenario(MPI_COMM_WORLD, job->scenario.file, job->scenario.resolved);
      });
    if (code != 0) return code;
    try {
      const SampleTable table = measure(bench, job ? &job->job : nullptr);
      if (machine.rank == 0) write_samples(options_.output, table);
      return 0;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      std::fflush(nullptr);
      MPI_Abort(MPI_COMM_WORLD, 1);
      return 1;
    }
  }

 private:
  void add_common(CLI::App& verb) {
    verb.add_option("-o,--output", options_.output, "Write the samples into this file, or - for stdout")
        ->capture_default_str()
        ->type_name("FILE");
    verb.add_option("--campaigns", options_.campaigns, "Number of campaigns: each measures everything once")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    verb.add_option("--apart", options_.apart_s, "Seconds between campaigns")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 86400.0));
    verb.add_option("--samples", options_.samples, "Samples of a point in a campaign, at most")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    verb.add_option("--point-time", options_.point_s,
                    "Time limit of a point in seconds: beyond it, fewer samples are taken, but at least 3")
        ->capture_default_str()
        ->check(CLI::Range(0.001, 600.0));
    verb.add_option("--seed", options_.seed, "Seed of the order of the points")->capture_default_str();
  }

  void add_sizes(CLI::App& verb, const char* least, const char* most) {
    const CLI::Validator size(bytes_problem, "BYTES");
    verb.add_option("--min-bytes", min_bytes_, fmt::format("The smallest size ({})", least))->check(size);
    verb.add_option("--max-bytes", max_bytes_, fmt::format("The largest ({})", most))->check(size);
  }

  void add_network(CLI::App& app) {
    network_ = app.add_subcommand("network",
                                  "Measure messages between two ranks: round trips, and both ways at once");
    add_common(*network_);
    add_sizes(*network_, "1 B", "16 MiB");
    network_->add_flag("--all-pairs", options_.all_pairs, "Measure every pair of ranks, not only 0 and 1");
    network_->add_flag("--at-once", options_.at_once,
                       "Also measure exchanges of 1, 2, ... pairs at the same time");
    network_->footer(
        std::string("Example:\n  mpirun -n 2 simsgd-measure network --campaigns 3 -o network.csv\n") +
        kBenchFooter);
  }

  void add_collectives(CLI::App& app) {
    collectives_ = app.add_subcommand(
        "collectives",
        "Measure every schedule, message by message, and MPI's own collectives, for every P from 2");
    add_common(*collectives_);
    add_sizes(*collectives_, "1 KiB", "8 MiB");
    collectives_->add_option("--op", options_.operations, "Only these operations")->delimiter(',');
    collectives_->add_option("--schedule", options_.schedules, "Only these schedules; mpi: MPI's own")
        ->delimiter(',');
    collectives_->footer(
        std::string(
            "Example:\n  mpirun -n 4 simsgd-measure collectives --op all_reduce --schedule ring,mpi -o rings.csv\n") +
        kBenchFooter);
  }

  void add_compute(CLI::App& app) {
    compute_ =
        app.add_subcommand("compute", "Measure the computing kernels of real runs, on all ranks at once");
    add_common(*compute_);
    compute_->add_option("SCENARIO", options_.scenario,
                         "Also measure the layers, factors and other parts of this scenario's learner");
    compute_->footer(
        std::string(
            "Example:\n  mpirun -n 1 simsgd-measure compute scenarios/real_run.json -o compute.csv\n") +
        kBenchFooter);
  }

  void complete() {
    const auto size = [](const std::string& text, double usual) {
      return text.empty() ? usual : parse_quantity(text, Dimension::bytes).value;
    };
    constexpr double kKi = 1024, kMi = kKi * kKi;
    const bool all = collectives_->parsed();
    options_.min_bytes = size(min_bytes_, all ? kKi : 1);
    options_.max_bytes = size(max_bytes_, (all ? 8 : 16) * kMi);
    if (options_.min_bytes > options_.max_bytes)
      throw ConfigError({"--min-bytes", "", "is more than --max-bytes", min_bytes_, "Use a smaller size"});
  }

  void check_ranks(int ranks) const {
    if (!compute_->parsed() && ranks < 2)
      throw ConfigError({"mpirun", "", "starts a single rank, and messages need two", std::to_string(ranks),
                         "Use mpirun -n 2 or more"});
  }

  SampleTable measure(const Bench& bench, const Job* job) const {
    if (network_->parsed()) return measure_network(bench);
    if (collectives_->parsed()) return measure_collectives(bench);
    return measure_compute(bench, job);
  }

  BenchOptions options_;
  std::string min_bytes_, max_bytes_;
  CLI::App *network_ = nullptr, *collectives_ = nullptr, *compute_ = nullptr;
};

}  // namespace simsgd
