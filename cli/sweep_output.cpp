#include "cli/sweep_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/terminal.hpp"
#include "scenarios/language/axes.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostRows = 1000, kMostFailures = 100;

}  // namespace

double machine_memory_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

SweepOutput::SweepOutput(const SweepCommand& command, const SweepSettings& settings, std::string study_name)
    : command_(command),
      settings_(settings),
      study_name_(std::move(study_name)),
      bar_(isatty(STDERR_FILENO) != 0) {}

SweepListener SweepOutput::listener() {
  return {.begin = [this](const SweepBegin& begin) { begun(begin); },
          .result = [this](const PointResult& result) { got(result); },
          .progress =
              [this](const SweepProgress& progress) {
                run_ = progress.ended;
                points_ += progress.total - to_run_;  // seeds may turn out to be too few
                to_run_ = progress.total;
                bar_.show(progress);
              }};
}

int SweepOutput::finish() {
  bar_.clear();
  if (shows_rows() && !shown_.empty()) fmt::print("{}", summary_table(columns()));
  if (!shows_rows() && !command_.json)
    fmt::print("{} of {} points have a result. Tables of them: simsgd results table {}\n",
               points_ - failures_.size(), points_, printable(command_.database));
  if (!command_.json && points_ > 0) print_files();
  if (command_.check) fmt::print(command_.json ? stderr : stdout, "\n{}", expected_table(outcomes_));
  std::fflush(stdout);
  const std::size_t told = std::min(failures_.size(), kMostFailures);
  for (std::size_t i = 0; i < told; ++i) print_error("{}\n", failures_[i]);
  if (told < failures_.size())
    fmt::print(stderr, "... and {} failed.\n", counted(failures_.size() - told, "more point"));
  if (!failures_.empty()) return 3;
  return command_.check && !all_hold(outcomes_) ? 1 : 0;
}

void SweepOutput::stopped() {
  bar_.clear();
  const std::size_t done = points_ - to_run_ + run_;
  if (points_ == 0) return;
  fmt::print(stderr, "{} of {} points are done{}.\n", done, points_,
             command_.database.empty() ? "; without -o they are not kept"
                                       : " and kept; the same command goes on from there");
}

void SweepOutput::begun(const SweepBegin& begin) {
  points_ = begin.points;
  to_run_ = begin.to_run;
  if (points_ == 0) fmt::print(stderr, "This shard contains no points.\n");
  if (points_ > to_run_)
    fmt::print(stderr, "{} of {} points are already in {}{}.\n", points_ - to_run_, points_,
               command_.database, to_run_ == 0 ? " (--force runs them again)" : "");
  if (begin.again > 0)
    fmt::print(stderr, "Run again: {}, because {} has results without documents.\n",
               counted(begin.again, "point"), command_.database);
  if (begin.memory_at_once_bytes > machine_memory_bytes())
    fmt::print(stderr, "Warning: {} at a time may need {} of memory, and this machine has {}; see --jobs.\n",
               counted(static_cast<std::uint64_t>(settings_.jobs), "point"),
               human_bytes(begin.memory_at_once_bytes), human_bytes(machine_memory_bytes()));
}

/// Not of so many points that nobody reads them, where the store has them.
bool SweepOutput::shows_rows() const {
  return !command_.json && (points_ <= kMostRows || command_.database.empty());
}

void SweepOutput::got(const PointResult& result) {
  const bool ok = result.status == RunStatus::ok;
  const bool shown = shows_rows();
  if (!ok) {
    const std::string& label = result.point.point.label;
    failures_.push_back(printable((label.empty() ? study_name_ : label) + ": " + result.error));
  }
  if (shown || !settings_.artifacts.empty()) shown_.push_back(result.point);
  if (!shown && !command_.json && !(ok && command_.check)) return;
  const RunRow run = result.run();
  if (command_.json) print_line(result, run);
  if (ok && command_.check)
    for (ExpectedOutcome& each : compare_expected(run.read(), result.point.point.label))
      outcomes_.push_back(std::move(each));
  if (shown)
    documents_.push_back(!ok                              ? OrderedJson()
                         : points_ <= kMostSummaryColumns ? run.read()
                                                          : shortened_for_rows(run.document));
}

/// A document, or what there is of a run that failed.
void SweepOutput::print_line(const PointResult& result, const RunRow& run) {
  bar_.clear();
  OrderedJson line = run.read();
  if (result.status != RunStatus::ok)
    line = {{"schema_version", kSchemaVersion},
            {"context", line["context"]},
            {"scenario", line["scenario"]},
            {"status", status_name(run.status)},
            {"error", run.error}};
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

std::vector<SummaryColumn> SweepOutput::columns() const {
  std::vector<SummaryColumn> columns;
  for (std::size_t i = 0; i < documents_.size(); ++i) {
    const StudyPoint& point = shown_[i].point;
    columns.push_back({point.label.empty() ? study_name_ : point.label,
                       documents_[i].is_null() ? nullptr : &documents_[i], point.shown});
  }
  return columns;
}

void SweepOutput::print_files() const {
  std::vector<std::string> timelines;
  for (const SweepPoint& point : shown_) {
    const fs::path file = artifact_directory(settings_.artifacts, point) / "timeline.json";
    if (!settings_.artifacts.empty() && fs::exists(file)) timelines.push_back(file.string());
  }
  if (!timelines.empty()) fmt::print("\nTimelines, to open in https://ui.perfetto.dev:\n");
  for (std::size_t i = 0; i < std::min(timelines.size(), kMostSummaryColumns); ++i)
    fmt::print("  {}\n", printable(timelines[i]));
  if (timelines.size() > kMostSummaryColumns)
    fmt::print("  and {} more in {}\n", timelines.size() - kMostSummaryColumns, settings_.artifacts.string());
  if (!settings_.artifacts.empty())
    fmt::print("{}Documents and curves: {}\n", timelines.empty() ? "\n" : "",
               (settings_.artifacts / "*/{result.json,loss.csv,accuracy.csv}").string());
  if (command_.database.empty()) return;
  const std::string spool = command_.database + ".spool";
  fmt::print("{}Results: {}\n", settings_.artifacts.empty() ? "\n" : "",
             settings_.shard.whole() ? command_.database
                                     : fmt::format("{}, which the sweep without --shard merges into {}",
                                                   spool, command_.database));
}

}  // namespace simsgd
