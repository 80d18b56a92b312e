#include "analysis/tables/cell.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/statistics/survival.hpp"

namespace simsgd::tables {

namespace {

void summarise_complete(const std::vector<double>& values, const CellQuestion& question,
                        CellSummary& summary) {
  using namespace statistics;
  const bool median = question.statistic == CellQuestion::Statistic::median;
  const bool student = question.method == CellQuestion::Method::student;
  const Estimate estimate = median    ? order_median(values)
                            : student ? student_mean(values)
                                      : bootstrap_mean(values);
  summary.value = estimate.value;
  summary.interval = estimate.interval;
  summary.statistic = median ? "median" : "mean";
  if (summary.interval) summary.method = median ? "order statistics" : student ? "Student" : "bootstrap";
}

void summarise_censored(const std::vector<statistics::Observation>& observations,
                        const CellQuestion& question, CellSummary& summary) {
  using namespace statistics;
  for (const Observation& each : observations) summary.seen_until = std::max(summary.seen_until, each.time);
  const SurvivalMedian median = survival_median(observations);
  summary.statistic = "median";
  if (!median.value) return;
  if (question.statistic == CellQuestion::Statistic::median) {
    summary.value = median.value;
    summary.interval = median.interval;
  } else {
    const RestrictedMean mean = restricted_mean(observations);
    summary.statistic = "restricted mean";
    summary.value = mean.value;
    summary.interval = mean.interval;
    const std::vector<SurvivalStep> steps = kaplan_meier(observations);
    summary.at_least = !steps.empty() && steps.back().share > 0;
  }
  if (summary.interval) summary.method = "Kaplan-Meier";
}

using SampleOfSeed = std::map<std::optional<std::int64_t>, const Sample*>;

SampleOfSeed by_seed(const std::vector<Sample>& samples) {
  SampleOfSeed of_seed;
  for (const Sample& each : samples)
    if (each.kind == Sample::Kind::value || each.kind == Sample::Kind::censored)
      of_seed[each.point->seed] = &each;
  return of_seed;
}

}  // namespace

CellSummary summarise(const std::vector<Sample>& samples, const CellQuestion& question) {
  CellSummary summary;
  std::vector<double> values;
  std::vector<statistics::Observation> observations;
  for (const Sample& each : samples) {
    const bool arrived = each.kind == Sample::Kind::value, censored = each.kind == Sample::Kind::censored;
    if (arrived) values.push_back(each.value);
    if (arrived || censored) observations.push_back({each.value, arrived});
    summary.censored += censored ? 1 : 0;
    summary.none += each.kind == Sample::Kind::none ? 1 : 0;
    summary.failed += each.kind == Sample::Kind::failed ? 1 : 0;
    summary.not_run += each.kind == Sample::Kind::not_run ? 1 : 0;
  }
  summary.values = values.size();
  if (summary.censored > 0)
    summarise_censored(observations, question, summary);
  else if (!values.empty())
    summarise_complete(values, question, summary);
  return summary;
}

CellComparison compare_cells(const std::vector<Sample>& baseline, const std::vector<Sample>& samples,
                             Better better) {
  const SampleOfSeed of_baseline = by_seed(baseline), of_samples = by_seed(samples);
  std::vector<statistics::Pair> pairs;
  double until = std::numeric_limits<double>::infinity();
  for (const auto& [seed, sample] : of_samples) {
    const auto found = of_baseline.find(seed);
    if (found == of_baseline.end()) continue;
    pairs.push_back({.baseline = found->second->value, .value = sample->value});
    for (const Sample* each : {sample, found->second})
      if (each->kind == Sample::Kind::censored) until = std::min(until, each->value);
  }
  CellComparison comparison;
  comparison.pairs = pairs.size();
  if (pairs.empty()) return comparison;
  if (until < std::numeric_limits<double>::infinity()) {
    comparison.until = until;
    for (statistics::Pair& pair : pairs)
      pair = {.baseline = std::min(pair.baseline, until), .value = std::min(pair.value, until)};
  }
  comparison.difference = statistics::paired_difference(pairs);
  comparison.ratio = statistics::paired_ratio(pairs);
  comparison.speed_up = statistics::paired_speed_up(pairs, better);
  return comparison;
}

}  // namespace simsgd::tables
