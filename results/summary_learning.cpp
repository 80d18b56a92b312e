// How far learning was after each quarter of a run, and when that was.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "results/summary_view.hpp"
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

}  // namespace simsgd
