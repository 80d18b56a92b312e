#include "analysis/frame/cell.hpp"

#include <algorithm>

namespace simsgd::frame {

namespace {

void summarise_complete(const std::vector<double>& values, const CellQuestion& question, bool deterministic,
                        CellSummary& summary) {
  using namespace statistics;
  const bool median = question.statistic == CellQuestion::Statistic::median;
  const bool student = question.method == CellQuestion::Method::student;
  const Estimate estimate = median    ? order_median(values)
                            : student ? student_mean(values)
                                      : bootstrap_mean(values);
  summary.value = estimate.value;
  summary.statistic = median ? "median" : "mean";
  if (deterministic) {
    summary.method = "deterministic";
    return;
  }
  summary.interval = estimate.interval;
  if (summary.interval) summary.method = median ? "order statistics" : student ? "Student" : "bootstrap";
}

void summarise_censored(const std::vector<statistics::Observation>& observations,
                        const CellQuestion& question, std::optional<double> tau, CellSummary& summary) {
  using namespace statistics;
  if (question.statistic == CellQuestion::Statistic::median) {
    for (const Observation& each : observations) summary.seen_until = std::max(summary.seen_until, each.time);
    const SurvivalMedian median = survival_median(observations);
    summary.statistic = "median";
    summary.value = median.value;
    if (median.value) summary.interval = median.interval;
  } else {
    summary.statistic = "restricted mean";
    summary.seen_until = tau.value_or(0);
    if (tau && summary.arrived < summary.count()) summary.until = tau;
    if (summary.arrived == 0) return;
    const RestrictedMean mean = restricted_mean(observations, tau);
    summary.value = mean.value;
    summary.interval = mean.interval;
  }
  if (summary.interval) summary.method = "Kaplan-Meier";
}

}  // namespace

statistics::Runs runs_of(const std::vector<Sample>& samples) {
  statistics::Runs runs;
  for (const Sample& each : samples) {
    const bool arrived = each.kind == Sample::Kind::value;
    if (arrived || each.kind == Sample::Kind::censored)
      runs[each.point->seed.value_or(0)] = {each.value, arrived};
  }
  return runs;
}

statistics::Contest contest(const Frame& frame, const Measure& measure,
                            const std::vector<std::vector<Sample>>& cells,
                            const std::vector<std::optional<double>>& shown) {
  std::vector<statistics::Runs> runs;
  for (const std::vector<Sample>& cell : cells) runs.push_back(runs_of(cell));
  const auto model_error = [&](std::size_t one, std::size_t other) {
    return off_by(frame.details().scenario, measure.name, points_of(cells[one]), points_of(cells[other]));
  };
  return statistics::contest(runs, measure.better, model_error, shown);
}

CellSummary summarise(const std::vector<Sample>& samples, const CellQuestion& question,
                      std::optional<double> tau, bool deterministic) {
  const bool mean = question.statistic == CellQuestion::Statistic::mean;
  CellSummary summary;
  std::vector<double> values;
  std::vector<statistics::Observation> observations;
  for (const Sample& each : samples) {
    const bool arrived = each.kind == Sample::Kind::value, censored = each.kind == Sample::Kind::censored;
    if (arrived) values.push_back(each.value);
    if (arrived || censored) observations.push_back({each.value, arrived});
    summary.arrived += arrived && (!mean || !tau || each.value <= *tau) ? 1 : 0;
    summary.censored += censored ? 1 : 0;
    summary.none += each.kind == Sample::Kind::none ? 1 : 0;
    summary.failed += each.kind == Sample::Kind::failed ? 1 : 0;
    summary.not_run += each.kind == Sample::Kind::not_run ? 1 : 0;
  }
  summary.values = values.size();
  if (summary.censored > 0 || (mean && summary.arrived < summary.values))
    summarise_censored(observations, question, tau, summary);
  else if (!values.empty())
    summarise_complete(values, question, deterministic, summary);
  return summary;
}

}  // namespace simsgd::frame
