// What a summary reads from the document of a run.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/summary.hpp"
#include "results/text_table.hpp"

namespace simsgd {

/// How far learning was at some step.
struct LearningMark {
  std::uint64_t step = 0;
  double time_s = 0;
  std::optional<double> train_loss;  ///< mean of the last 50 steps, as train_loss_final
  std::optional<double> test_accuracy;
};

class RunView {
 public:
  explicit RunView(const nlohmann::ordered_json* document);

  bool failed() const { return document_ == nullptr; }
  /// Nothing where the run has no such metric, or failed.
  std::optional<double> metric(const std::string& name) const;
  /// Ends of the metric's interval of 90 %; nothing where it has none.
  std::optional<std::pair<double, double>> interval(const std::string& name) const;
  /// The scenario's value at the pointer as text; empty where there is none.
  std::string text(const std::string& pointer) const;
  /// Its algorithm's name; of a method in Python that of its function, or of its file: "slow_momentum
  /// (Python)".
  std::string method() const;
  /// "simulated", or "wall" of a real run.
  std::string clock() const;
  const nlohmann::ordered_json& scenario() const { return scenario_; }
  /// Steps of each worker, "200"; "6 to 23" where they did not all do as many.
  std::string steps() const;
  /// After a quarter, a half, three quarters and all of the steps, at the last evaluation until then (at that
  /// step itself where nothing was evaluated); nothing where that is the same as before, and without a
  /// learner.
  std::array<std::optional<LearningMark>, 4> marks() const;
  /// Greatest test accuracy of all evaluations, and when one was first reached.
  std::optional<double> best_accuracy() const;
  std::optional<double> time_to_accuracy_s(double accuracy) const;
  /// Collectives that were not costed exactly: "all_reduce by ring among 8 by flows (why)".
  std::vector<std::string> approximations() const;
  /// "closed, exact"; empty where nothing was sent, and of a real run.
  std::string network_fidelity() const;
  /// "rank 3, +50 %": who computed and straggled longest in a step, and by how much longer than the median
  /// worker; empty where that is less than 1 %.
  std::string slowest_worker() const;
  /// "node3.nic0.up, 85 %": name and utilisation; empty where nothing was sent.
  std::string busiest_link() const;
  /// What lies in a GPU's memory, and its bytes.
  std::vector<std::pair<std::string, double>> memory() const;
  /// What the result leaves out or assumes.
  std::vector<std::string> notes() const;

 private:
  const nlohmann::ordered_json* document_;
  nlohmann::ordered_json scenario_, train_, test_;
};

std::vector<RunView> run_views(const std::vector<SummaryColumn>& runs);

/// The value that `get` gives for each run that did not fail, where they agree; else "".
template <class Get>
std::string common_text(const std::vector<RunView>& runs, Get get) {
  std::optional<std::string> common;
  for (const RunView& run : runs) {
    if (run.failed()) continue;
    const std::string text = get(run);
    if (common && *common != text) return "";
    common = text;
  }
  return common.value_or("");
}

/// "Time to 86 % accuracy", or "Time to the target" where the runs' targets differ; empty where none has one.
std::string target_label(const std::vector<RunView>& runs);

/// "quickstart: 8 x V100, timing of resnet50 (batch 64), mlp on fashion_mnist (batch 32), allreduce_sgd":
/// what the runs share. Of real runs "4 ranks, measured", and not the cluster of the scenario, nor the timing
/// of its workload where a learner computes.
std::string summary_heading(const std::vector<RunView>& runs);

/// "Notes" and the runs' notes, each once, with the runs that it is on (how many, if more than three) where
/// it is not on all; "" where there are none. Notes that differ in percentages alone are one: "by 12 to 13
/// %".
std::string notes_block(const std::vector<SummaryColumn>& columns, const std::vector<RunView>& runs);

/// Loss, accuracy and time at each quarter of the run: rows of label, unit (empty) and a cell for each run,
/// which holds all three (of more than three runs only one of the first two). None where nothing learned.
std::vector<std::vector<std::string>> learning_rows(const std::vector<RunView>& runs, const CommonUnit& time);

/// The slowest worker, the busiest link, how the network was costed and whether that is exact: rows of label,
/// unit (empty) and a cell for each run; those that say something.
std::vector<std::vector<std::string>> fact_rows(const std::vector<RunView>& runs);

/// Each value over the first. Empty where there are not two, or no first one.
std::vector<std::optional<double>> ratios(const std::vector<std::optional<double>>& values);

/// What was not costed exactly, once each: lines that begin with "Approximate: ", or "".
std::string approximation_lines(const std::vector<RunView>& runs);

inline constexpr double kJoulePerKWh = 3.6e6;

std::string summary_of_rows(const std::vector<SummaryColumn>& runs);

}  // namespace simsgd
