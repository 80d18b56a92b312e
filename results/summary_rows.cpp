// Rows and blocks of summaries: how far learning was after each quarter of a run; the notes of several runs,
// each once, also where the runs differ in its percentages alone; many runs, a row for each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "results/summary_view.hpp"
#include "results/text_table.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kMostWideCells = 3;

using Marks = std::array<std::optional<LearningMark>, 4>;

/// The fields of a cell, so that they stand below each other.
class Cells {
 public:
  Cells(const std::vector<Marks>& marks, const CommonUnit& time) : time_(time) {
    std::vector<double> losses;
    for (const Marks& run : marks) {
      for (const auto& mark : run) {
        if (mark && mark->train_loss) losses.push_back(*mark->train_loss);
        accuracy_ = accuracy_ || (mark && mark->test_accuracy);
      }
    }
    loss_ = !accuracy_ || marks.size() <= kMostWideCells;
    losses_ = common_unit("", 1, losses);
    losses_.decimals = std::min(6, losses_.decimals + 1);
  }

  std::string title() const { return joined("loss", "accuracy", time_.name); }

  std::string cell(const std::optional<LearningMark>& mark) const {
    if (!mark) return joined("-", "-", "-");
    return joined(mark->train_loss ? losses_.show(*mark->train_loss) : "-",
                  mark->test_accuracy ? fmt::format("{:.2f} %", 100 * *mark->test_accuracy) : "-",
                  time_.show(mark->time_s));
  }

 private:
  std::string joined(const std::string& loss, const std::string& accuracy, const std::string& time) const {
    return (loss_ ? pad_left(loss, 7) : "") + (accuracy_ ? pad_left(accuracy, 10) : "") + pad_left(time, 9);
  }

  const CommonUnit& time_;
  CommonUnit losses_;
  bool accuracy_ = false, loss_ = true;
};

/// The step where all runs are at the same, else the share of the run.
std::string mark_label(const std::vector<Marks>& marks, std::size_t quarter) {
  std::set<std::uint64_t> steps;
  for (const Marks& run : marks)
    if (run[quarter]) steps.insert(run[quarter]->step);
  if (steps.empty()) return "";
  if (steps.size() > 1) return fmt::format("  after {} % of the steps", 25 * (quarter + 1));
  return fmt::format("  after {} steps", human_number(static_cast<double>(*steps.begin())));
}

}  // namespace

std::vector<std::vector<std::string>> learning_rows(const std::vector<RunView>& runs,
                                                    const CommonUnit& time) {
  std::vector<Marks> marks;
  for (const RunView& run : runs) marks.push_back(run.marks());
  const Cells cells(marks, time);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    const std::string label = mark_label(marks, quarter);
    if (label.empty()) continue;
    if (rows.empty()) {
      rows.push_back({"Learning", ""});
      rows.back().resize(2 + runs.size(), cells.title());
    }
    rows.push_back({label, ""});
    for (const Marks& run : marks) rows.back().push_back(cells.cell(run[quarter]));
  }
  return rows;
}

namespace {

constexpr std::size_t kMostTitles = 3;  // of runs behind a note

// A text cut at its percentages: "late by 13 %: evaluate" is "late by ", "13", " %: evaluate".
struct CutNote {
  std::vector<std::string> words, shares;
};

CutNote cut(const std::string& text) {
  constexpr const char* kDigits = "0123456789.";
  CutNote note;
  std::size_t begin = 0;
  for (std::size_t end = text.find(" %"); end != std::string::npos; end = text.find(" %", end + 1)) {
    const std::size_t before = end == 0 ? 0 : text.find_last_not_of(kDigits, end - 1) + 1;
    if (before >= end || before < begin) continue;
    note.words.push_back(text.substr(begin, before - begin));
    note.shares.push_back(text.substr(before, end - before));
    begin = end;
  }
  note.words.push_back(text.substr(begin));
  return note;
}

struct SharedNote {
  std::vector<std::string> words;
  std::vector<std::vector<std::string>> shares;  // at each place, of every run
  std::vector<std::size_t> runs{};

  std::string text() const {
    const auto less = [](const std::string& a, const std::string& b) {
      return std::atof(a.c_str()) < std::atof(b.c_str());
    };
    std::string all = words.front();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const auto [least, most] = std::minmax_element(shares[i].begin(), shares[i].end(), less);
      all += (*least == *most ? *least : *least + " to " + *most) + words[i + 1];
    }
    return all;
  }
};

std::vector<SharedNote> shared_notes(const std::vector<RunView>& runs) {
  std::vector<SharedNote> notes;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const std::string& text : runs[run].notes()) {
      CutNote note = cut(text);
      auto found =
          std::ranges::find_if(notes, [&note](const SharedNote& each) { return each.words == note.words; });
      if (found == notes.end()) {
        notes.push_back({std::move(note.words), {}});
        found = notes.end() - 1;
        found->shares.resize(note.shares.size());
      }
      for (std::size_t i = 0; i < note.shares.size(); ++i) found->shares[i].push_back(note.shares[i]);
      if (found->runs.empty() || found->runs.back() != run) found->runs.push_back(run);
    }
  }
  return notes;
}

}  // namespace

std::string notes_block(const std::vector<SummaryColumn>& columns, const std::vector<RunView>& runs) {
  const auto complete =
      static_cast<std::size_t>(std::ranges::count_if(runs, [](const RunView& run) { return !run.failed(); }));
  const std::vector<SharedNote> notes = shared_notes(runs);
  std::string block = notes.empty() ? "" : "\nNotes\n";
  for (const SharedNote& note : notes) {
    std::vector<std::string> titles;
    for (const std::size_t run : note.runs) titles.push_back(columns[run].title);
    block += "- " + note.text();
    if (titles.size() > kMostTitles && titles.size() < complete)
      block += fmt::format(" ({} of {} runs)", titles.size(), complete);
    else if (titles.size() < complete)
      block += fmt::format(" ({})", fmt::join(titles, "; "));
    block += "\n";
  }
  return block;
}

namespace {

enum class Unit { given, step_time, run_time };

struct SummaryRow {
  const char *metric, *title;
  Unit unit;  // times of a step share one, and times of a run
  const char* name = "";
  double size = 1;
};

constexpr SummaryRow kFields[] = {{"throughput_samples_per_s", "throughput", Unit::given, "samples/s"},
                                  {"scaling_efficiency", "efficiency", Unit::given, "%", 0.01},
                                  {"iteration_time_mean_s", "step", Unit::step_time},
                                  {"straggle_s", "stragglers", Unit::step_time},
                                  {"communication_exposed_s", "exposed comm.", Unit::step_time},
                                  {"wait_s", "waiting", Unit::step_time},
                                  {"simulated_time_s", "run", Unit::run_time},
                                  {"time_to_target_s", "to target", Unit::run_time},
                                  {"train_loss_final", "loss", Unit::given},
                                  {"test_accuracy_final", "accuracy", Unit::given, "%", 0.01},
                                  {"cost_usd", "cost", Unit::given, "USD"},
                                  {"energy_J", "energy", Unit::given, "kWh", kJoulePerKWh}};

std::vector<double> known(const char* metric, const std::vector<RunView>& runs) {
  std::vector<double> known;
  for (const RunView& run : runs)
    if (const auto value = run.metric(metric)) known.push_back(*value);
  return known;
}

CommonUnit unit_of(const SummaryRow& field, const std::vector<RunView>& runs) {
  if (field.unit == Unit::step_time) return common_time_unit(known("iteration_time_mean_s", runs));
  if (field.unit == Unit::run_time) return common_time_unit(known("simulated_time_s", runs));
  return common_unit(field.name, field.size, known(field.metric, runs));
}

// Title, unit, and a cell for each run; empty where no run has a value other than 0.
std::vector<std::string> column(const SummaryRow& field, const std::vector<RunView>& runs) {
  const std::vector<double> values = known(field.metric, runs);
  if (std::ranges::all_of(values, [](double value) { return value == 0; })) return {};
  const CommonUnit unit = unit_of(field, runs);
  std::vector<std::string> cells = {field.title, unit.name};
  for (const RunView& run : runs) {
    const auto value = run.metric(field.metric);
    cells.push_back(value ? unit.show(*value) : "-");
  }
  return cells;
}

// Throughput over the first run's.
std::vector<std::string> against_first(const std::vector<RunView>& runs) {
  std::vector<std::optional<double>> values;
  for (const RunView& run : runs) values.push_back(run.metric(kFields[0].metric));
  const std::vector<std::optional<double>> over_first = ratios(values);
  std::vector<double> all;
  for (const auto& ratio : over_first)
    if (ratio) all.push_back(*ratio);
  const CommonUnit unit = common_unit("x", 1, all);
  std::vector<std::string> cells;
  if (!over_first.empty()) cells = {"over first", unit.name};
  for (const auto& ratio : over_first) cells.push_back(ratio ? unit.show(*ratio) : "-");
  return cells;
}

// How the network of each was costed; none where nothing was sent.
std::vector<std::string> fidelities(const std::vector<RunView>& runs) {
  std::vector<std::string> cells = {"network", ""};
  bool any = false;
  for (const RunView& run : runs) {
    const std::string text = run.network_fidelity();
    any = any || !text.empty();
    cells.push_back(text.empty() ? "-" : text);
  }
  return any ? cells : std::vector<std::string>();
}

bool follows_from(const std::vector<SummaryColumn>& runs, std::size_t later, std::size_t earlier) {
  std::map<std::string, std::string> of;
  return std::ranges::all_of(runs, [&](const SummaryColumn& run) {
    const std::string& value = run.coordinates[later].second;
    return of.try_emplace(run.coordinates[earlier].second, value).first->second == value;
  });
}

// The coordinates that are shown: not those that are long and follow from an earlier one, as in zipped axes.
std::vector<std::size_t> shown_coordinates(const std::vector<SummaryColumn>& runs) {
  constexpr std::size_t kLong = 24;
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < runs.front().coordinates.size(); ++c) {
    const bool is_long = std::ranges::any_of(
        runs, [c](const SummaryColumn& run) { return run.coordinates[c].second.size() > kLong; });
    const bool follows =
        std::ranges::any_of(shown, [&](std::size_t earlier) { return follows_from(runs, c, earlier); });
    if (!is_long || !follows) shown.push_back(c);
  }
  return shown;
}

}  // namespace

std::string summary_of_rows(const std::vector<SummaryColumn>& runs) {
  const std::vector<RunView> views = run_views(runs);
  TextTable table;
  const std::vector<std::size_t> shown = shown_coordinates(runs);
  table.left = std::max<std::size_t>(1, shown.size());
  table.rows.resize(runs.size() + 2);
  for (const std::size_t c : shown) table.rows[0].push_back(runs.front().coordinates[c].first);
  if (shown.empty()) table.rows[0].emplace_back("point");
  table.rows[1].resize(table.left);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const std::size_t c : shown) table.rows[i + 2].push_back(runs[i].coordinates[c].second);
    table.rows[i + 2].resize(table.left, shown.empty() ? runs[i].title : "");
  }
  const auto add = [&table](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) table.rows[i].push_back(cells[i]);
  };
  for (const SummaryRow& field : kFields) {
    add(column(field, views));
    if (&field == kFields) add(against_first(views));
  }
  const std::string fidelity = common_text(views, [](const RunView& run) { return run.network_fidelity(); });
  if (fidelity.empty()) add(fidelities(views));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!views[i].failed()) continue;
    table.rows[i + 2].resize(table.left);
    table.rows[i + 2].emplace_back("failed");
  }
  table.rows.insert(table.rows.begin() + 2, {"-"});
  const std::string heading = summary_heading(views);
  return (heading.empty() ? "" : heading + "\n\n") + table.text() +
         (fidelity.empty() ? "" : "\nNetwork fidelity: " + fidelity + "\n") + approximation_lines(views) +
         notes_block(runs, views);
}

}  // namespace simsgd
