// simsgd sweep status: how far the sweeps of a file are.
#include "analysis/runs/sweep_status.hpp"
#include "analysis/faces/table.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <array>
#include <memory>

#include "cli/sweep.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

struct NamedState {
  PointState state;
  const char* name;
};
constexpr std::array<NamedState, 5> kStates = {{{PointState::done, "done"},
                                                {PointState::running, "running"},
                                                {PointState::queued, "queued"},
                                                {PointState::failed, "failed"},
                                                {PointState::missing, "missing"}}};

struct StatusCommand {
  std::string database;
  bool json = false;
};

void print_status(const SweepStatus& status) {
  Table table;
  table.header = {"study", "points", "done", "running", "queued", "failed", "missing"};
  for (const SweepStanding& each : status.sweeps) {
    std::vector<std::string> row = {printable(each.sweep.name), std::to_string(each.points.size())};
    for (const auto& [state, name] : kStates) row.push_back(std::to_string(each.count(state)));
    table.rows.push_back(std::move(row));
  }
  fmt::print("{}", text_rows(table));
  for (const SweepStanding& each : status.sweeps)
    for (std::size_t i = 0; i < each.points.size(); ++i)
      if (each.points[i] == PointState::failed)
        fmt::print("failed: {}, point {}{}{}\n", printable(each.sweep.name), i + 1,
                   each.sweep.points[i].label.empty() ? "" : ": ", printable(each.sweep.points[i].label));
  if (status.queue_unknown)
    fmt::print(stderr, "There is no squeue here, so tasks of Slurm that wait or run count as missing.\n");
}

void print_status_json(const SweepStatus& status) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const SweepStanding& each : status.sweeps) {
    nlohmann::ordered_json sweep = {{"study", each.sweep.name}, {"points", each.points.size()}};
    for (const auto& [state, name] : kStates) {
      nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
      for (std::size_t i = 0; i < each.points.size(); ++i)
        if (each.points[i] == state) numbers.push_back(i + 1);
      sweep[name] = numbers;
    }
    all.push_back(std::move(sweep));
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"sweeps", all}, {"queue_known", !status.queue_unknown}}.dump());
}

}  // namespace

void add_sweep_status(CLI::App& sweep, ExitCode& exit_code) {
  CLI::App* verb =
      sweep.add_subcommand("status", "Show how far the sweeps of a file are: done, running, queued, missing");
  auto command = std::make_shared<StatusCommand>();
  verb->add_option("FILE", command->database,
                   "The F.db of `sweep run` or `sweep submit`, with what lies beside it")
      ->type_name("F.db")
      ->required();
  verb->add_flag("--json", command->json, "As JSON, with the numbers of the points in each state");
  verb->footer(
      "A sweep that runs in one process, without --shard, shows its points once they are done.\n"
      "Example:\n  simsgd sweep status results.db");
  verb->callback([command] {
    const SweepStatus status = sweep_status(command->database);
    command->json ? print_status_json(status) : print_status(status);
  });
  (void)exit_code;
}

}  // namespace simsgd
