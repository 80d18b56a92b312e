#include "analysis/statistics/contest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/base/check.hpp"

namespace simsgd::statistics {

namespace {

constexpr double kRounding = 1e-12;  // relative

double difference_of(const Pair& pair) {
  const double difference = pair.value - pair.baseline;
  const double size = std::max(std::fabs(pair.value), std::fabs(pair.baseline));
  return std::fabs(difference) <= kRounding * size ? 0 : difference;
}

/// Of an estimate with its standard error.
Difference tested(double value, double error, double degrees, std::size_t count, double level) {
  const double half = student_quantile((1 + level) / 2, degrees) * error;
  const double t = error > 0 ? value / error : value == 0 ? 0 : std::numeric_limits<double>::infinity();
  return {value, Interval{value - half, value + half}, student_two_sided_p(t, degrees), count};
}

std::vector<Observation> observations_of(const Runs& runs) {
  std::vector<Observation> all;
  for (const auto& each : runs) all.push_back(each.second);
  return all;
}

bool arrives_by(const Observation& run, std::optional<double> tau) {
  return run.arrived && (!tau || run.time <= *tau);
}

/// Where one of a pair arrives by tau and the other does not: whether as many of either is what chance does.
void add_arrivals(const Runs& baseline, const Runs& runs, std::optional<double> tau, Difference& difference) {
  std::size_t first = 0, second = 0;  // that arrive alone
  for (const auto& [seed, run] : runs) {
    const auto other = baseline.find(seed);
    if (other == baseline.end()) continue;
    const bool mine = arrives_by(run, tau), theirs = arrives_by(other->second, tau);
    second += mine && !theirs ? 1 : 0;
    first += theirs && !mine ? 1 : 0;
  }
  if (first + second == 0 || !difference.interval) return;
  double p = 2 * fair_coin_cdf(std::min(first, second), first + second);
  if ((second > first) != (difference.value < 0)) p = 1;  // against the difference it says nothing
  difference.p = std::min(1.0, 2 * std::min(difference.p, p));
}

}  // namespace

Difference paired_difference(const std::vector<Pair>& pairs, double level) {
  CHECK(!pairs.empty(), "A difference is of one pair at least.");
  std::vector<double> differences;
  double size = 0;
  for (const Pair& pair : pairs) {
    differences.push_back(difference_of(pair));
    size = std::max({size, std::fabs(pair.value), std::fabs(pair.baseline)});
  }
  const double value = mean(differences);
  if (pairs.size() < 2) return {value, {}, 1, pairs.size()};
  const auto n = static_cast<double>(pairs.size());
  const double deviation = standard_deviation(differences);
  return tested(value, deviation <= kRounding * size ? 0 : deviation / std::sqrt(n), n - 1, pairs.size(),
                level);
}

std::optional<Estimate> paired_ratio(const std::vector<Pair>& pairs, double level) {
  CHECK(!pairs.empty(), "A ratio is of one pair at least.");
  std::vector<double> logs;
  for (const Pair& pair : pairs) {
    if (!(pair.value > 0) || !(pair.baseline > 0)) return std::nullopt;
    logs.push_back(std::log(pair.value / pair.baseline));
  }
  Estimate ratio = student_mean(logs, level);
  ratio.value = std::exp(ratio.value);
  if (ratio.interval) ratio.interval = {std::exp(ratio.interval->low), std::exp(ratio.interval->high)};
  return ratio;
}

std::optional<Estimate> paired_speed_up(const std::vector<Pair>& pairs, Better better, double level) {
  if (better == Better::neither) return std::nullopt;
  if (better == Better::more) return paired_ratio(pairs, level);
  std::vector<Pair> swapped;
  for (const Pair& pair : pairs) swapped.push_back({.baseline = pair.value, .value = pair.baseline});
  return paired_ratio(swapped, level);
}

Estimate efficiency(const Estimate& speed_up, double times_workers) {
  CHECK(times_workers > 0, "An efficiency is over a number of workers.");
  Estimate scaled = speed_up;
  scaled.value /= times_workers;
  if (scaled.interval)
    scaled.interval = {scaled.interval->low / times_workers, scaled.interval->high / times_workers};
  return scaled;
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double least = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    least = std::max(least, std::min(1.0, static_cast<double>(p.size() - rank) * p[order[rank]]));
    adjusted[order[rank]] = least;
  }
  return adjusted;
}

std::optional<double> common_tau(const std::vector<Runs>& groups) {
  std::optional<double> tau;
  for (const Runs& runs : groups) {
    std::optional<Observation> last;
    for (const auto& [seed, run] : runs)
      if (!last || run.time > last->time || (run.time == last->time && !run.arrived)) last = run;
    if (last && !last->arrived) tau = std::min(tau.value_or(last->time), last->time);
  }
  return tau;
}

std::size_t arrivals_by(const Runs& runs, std::optional<double> tau) {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [&](const auto& run) { return arrives_by(run.second, tau); }));
}

std::map<std::int64_t, double> values_until(const Runs& runs, std::optional<double> tau) {
  std::map<std::int64_t, double> values;
  bool known = true;
  for (const auto& [seed, run] : runs) {
    values[seed] = tau ? std::min(run.time, *tau) : run.time;
    known = known && (run.arrived || (tau && run.time >= *tau));
  }
  if (known) return values;
  const auto n = static_cast<double>(runs.size());
  const std::vector<Observation> all = observations_of(runs);
  double end = 0;  // where all arrive in the end, up to the last one
  for (const Observation& each : all) end = std::max(end, each.time);
  end = tau.value_or(end);
  const double mean_of_all = restricted_mean(all, end).value;
  std::vector<double> pseudo;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Observation> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const double of_others = others.empty() ? 0 : restricted_mean(others, end).value;
    pseudo.push_back(n * mean_of_all - (n - 1) * of_others);
  }
  const double shift = mean_of_all - mean(pseudo);
  std::size_t i = 0;
  for (auto& each : values) each.second = pseudo[i++] + shift;
  return values;
}

Comparison compare(const Runs& baseline, const Runs& runs, std::optional<double> tau, Better better,
                   std::optional<double> off_by, double level) {
  Runs of_baseline, of_runs;
  for (const auto& [seed, run] : runs)
    if (const auto found = baseline.find(seed); found != baseline.end()) {
      of_baseline.insert(*found);
      of_runs.emplace(seed, run);
    }
  Comparison comparison;
  comparison.pairs = of_runs.size();
  if (of_runs.empty()) return comparison;
  const std::size_t arrive = arrivals_by(of_baseline, tau), others = arrivals_by(of_runs, tau);
  comparison.unseen = arrive + others == 0;
  if (tau && arrive + others < 2 * comparison.pairs) comparison.until = tau;
  const auto first = values_until(of_baseline, tau), second = values_until(of_runs, tau);
  std::vector<Pair> pairs;
  for (const auto& [seed, value] : second) pairs.push_back({.baseline = first.at(seed), .value = value});
  comparison.difference = paired_difference(pairs, level);
  comparison.ratio = paired_ratio(pairs, level);
  comparison.speed_up = paired_speed_up(pairs, better, level);
  if (off_by) {
    comparison.off_by = off_by;
    comparison.difference->interval.reset();  // no chance, no interval
    for (auto* estimate : {&comparison.ratio, &comparison.speed_up})
      if (*estimate) (*estimate)->interval.reset();
  }
  add_arrivals(of_baseline, of_runs, tau, *comparison.difference);
  return comparison;
}

Verdict verdict(const Comparison& comparison, double corrected_p, double level) {
  if (!comparison.difference) return Verdict::unknown;
  if (comparison.unseen) return Verdict::unseen;
  const Difference& difference = *comparison.difference;
  if (difference.value == 0 || (difference.interval && corrected_p > 1 - level)) return Verdict::tie;
  if (!difference.interval && !comparison.off_by) return Verdict::unknown;
  if (comparison.off_by && std::fabs(difference.value) <= *comparison.off_by) return Verdict::undecided;
  return difference.value < 0 ? Verdict::less : Verdict::more;
}

std::vector<double> corrected(const std::vector<Comparison>& comparisons) {
  std::vector<double> p, all(comparisons.size(), 1);
  std::vector<std::size_t> tested;
  for (std::size_t i = 0; i < comparisons.size(); ++i)
    if (comparisons[i].difference && comparisons[i].difference->interval) {
      p.push_back(comparisons[i].difference->p);
      tested.push_back(i);
    }
  p = holm(p);
  for (std::size_t i = 0; i < tested.size(); ++i) all[tested[i]] = p[i];
  return all;
}

std::vector<Verdict> verdicts(const std::vector<Comparison>& comparisons, double level) {
  const std::vector<double> p = corrected(comparisons);
  std::vector<Verdict> all;
  for (std::size_t i = 0; i < comparisons.size(); ++i) all.push_back(verdict(comparisons[i], p[i], level));
  return all;
}

Contest contest(const std::vector<Runs>& groups, Better better, const OffBy& off_by,
                const std::vector<std::optional<double>>& shown) {
  CHECK(shown.empty() || shown.size() == groups.size(), "What is shown is of each group.");
  Contest made;
  made.tau = common_tau(groups);
  made.verdicts.assign(groups.size(), Verdict::unknown);
  made.against_best.resize(groups.size());
  std::size_t known = 0, arrived = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<double> values;
    for (const auto& each : values_until(groups[i], made.tau)) values.push_back(each.second);
    made.means.push_back(values.empty() ? std::nullopt : std::optional(mean(values)));
    known += groups[i].empty() ? 0U : 1U;
    arrived += arrivals_by(groups[i], made.tau);
  }
  if (better == Better::neither || known < 2 || arrived == 0) return made;
  const std::vector<std::optional<double>>& by = shown.empty() ? made.means : shown;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].empty() || !by[i]) continue;
    if (!made.best || (better == Better::less ? *by[i] < *by[*made.best] : *by[i] > *by[*made.best]))
      made.best = i;
  }
  if (!made.best) return made;
  std::vector<Comparison> comparisons;
  std::vector<std::size_t> compared;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == *made.best || groups[i].empty()) continue;
    comparisons.push_back(compare(groups[*made.best], groups[i], made.tau, better,
                                  off_by ? off_by(*made.best, i) : std::nullopt));
    made.against_best[i] = comparisons.back();
    compared.push_back(i);
  }
  const std::vector<Verdict> found = verdicts(comparisons);
  for (std::size_t i = 0; i < compared.size(); ++i) made.verdicts[compared[i]] = found[i];
  return made;
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kShareRounding = 1e-12;  // of shares, products of small fractions

std::size_t arrivals(const std::vector<Observation>& observations) {
  return static_cast<std::size_t>(
      std::ranges::count_if(observations, [](const Observation& each) { return each.arrived; }));
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
  std::ranges::sort(sorted, [](const Observation& a, const Observation& b) {
    return a.time != b.time ? a.time < b.time : a.arrived > b.arrived;
  });
  std::vector<SurvivalStep> steps;
  double share = 1, sum = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    const std::size_t at_risk = sorted.size() - i;
    std::size_t arrived = 0;
    const double time = sorted[i].time;
    for (; i < sorted.size() && sorted[i].time == time; ++i) arrived += sorted[i].arrived ? 1U : 0U;
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
