#include "analysis/statistics/survival.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/statistics/intervals.hpp"
#include "sim/base/check.hpp"

namespace simsgd::statistics {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kShareRounding = 1e-12;  // of shares, products of small fractions

std::size_t arrivals(const std::vector<Observation>& observations) {
  return static_cast<std::size_t>(std::count_if(observations.begin(), observations.end(),
                                                [](const Observation& each) { return each.arrived; }));
}

double last_time(const std::vector<Observation>& observations) {
  double last = 0;
  for (const Observation& each : observations) last = std::max(last, each.time);
  return last;
}

/// S with log(-log S) moved by `z` standard errors: above S for z > 0.
double moved(const SurvivalStep& step, double z) {
  if (step.share >= 1 || step.share <= 0) return step.share;
  const double error = step.standard_error / (step.share * -std::log(step.share));
  return std::pow(step.share, std::exp(-z * error));
}

template <class Share>
double first_at_half(const std::vector<SurvivalStep>& steps, Share share) {
  for (const SurvivalStep& step : steps)
    if (share(step) <= 0.5 + kShareRounding) return step.time;
  return kInfinity;
}

}  // namespace

std::vector<SurvivalStep> kaplan_meier(const std::vector<Observation>& observations) {
  std::vector<Observation> sorted = observations;
  std::sort(sorted.begin(), sorted.end(), [](const Observation& a, const Observation& b) {
    return a.time != b.time ? a.time < b.time : a.arrived > b.arrived;
  });
  std::vector<SurvivalStep> steps;
  double share = 1, sum = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    const std::size_t at_risk = sorted.size() - i;
    std::size_t arrived = 0;
    const double time = sorted[i].time;
    for (; i < sorted.size() && sorted[i].time == time; ++i) arrived += sorted[i].arrived ? 1 : 0;
    if (arrived == 0) continue;
    const auto n = static_cast<double>(at_risk), d = static_cast<double>(arrived);
    share *= (n - d) / n;
    sum += arrived < at_risk ? d / (n * (n - d)) : 0;
    steps.push_back({time, at_risk, arrived, share, share * std::sqrt(sum)});
  }
  return steps;
}

SurvivalMedian survival_median(const std::vector<Observation>& observations, double level) {
  CHECK(!observations.empty(), "A median is of one run at least.");
  const std::vector<SurvivalStep> steps = kaplan_meier(observations);
  SurvivalMedian median{{}, {}, observations.size(), arrivals(observations)};
  for (std::size_t i = 0; i < steps.size() && !median.value; ++i) {
    if (steps[i].share > 0.5 + kShareRounding) continue;
    const bool level_there = steps[i].share >= 0.5 - kShareRounding;
    // Where nobody arrives after it, half never did: the time at which half had.
    median.value =
        level_there && i + 1 < steps.size() ? (steps[i].time + steps[i + 1].time) / 2 : steps[i].time;
  }
  if (observations.size() < kLeastForMedian) return median;
  const double z = normal_quantile((1 + level) / 2);
  median.interval = {first_at_half(steps, [z](const SurvivalStep& step) { return moved(step, -z); }),
                     first_at_half(steps, [z](const SurvivalStep& step) { return moved(step, z); })};
  // Fewer than half, and too few to say from when on: it is above what was seen, as far as anybody knows.
  if (std::isinf(median.interval->low)) median.interval->low = last_time(observations);
  return median;
}

RestrictedMean restricted_mean(const std::vector<Observation>& observations, std::optional<double> until,
                               double level) {
  CHECK(!observations.empty(), "A mean is of one run at least.");
  const double last = last_time(observations);
  RestrictedMean result;
  result.until = until.value_or(last);
  result.count = observations.size();
  result.arrived = arrivals(observations);
  std::vector<SurvivalStep> steps;
  for (const SurvivalStep& step : kaplan_meier(observations))
    if (step.time < result.until) steps.push_back(step);
  // From the last step back: `area` of S between the step and tau.
  double area = 0, variance = 0, end = result.until;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    area += step->share * (end - step->time);
    end = step->time;
    const auto n = static_cast<double>(step->at_risk), d = static_cast<double>(step->arrived);
    if (step->arrived < step->at_risk) variance += area * area * d / (n * (n - d));
  }
  result.value = area + end;
  result.standard_error = std::sqrt(variance);
  if (observations.size() < 2) return result;
  const auto n = static_cast<double>(observations.size());
  const double half =
      student_quantile((1 + level) / 2, n - 1) * std::sqrt(n / (n - 1)) * result.standard_error;
  result.interval = {std::max(0.0, result.value - half), std::min(result.value + half, result.until)};
  return result;
}

}  // namespace simsgd::statistics
