// Groups of runs that are compared: tau, restricted means, Holm and ties against a model of other means, and
// the cases in which a table once said something else than was seen.
#include "analysis/statistics/contest.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/random.hpp"

namespace simsgd::test::analysis_contest {

using namespace statistics;
using doctest::Approx;

namespace {

/// Seeds from 1; below 0: seen until then, and not arrived.
Runs runs_of(const std::vector<double>& times) {
  Runs runs;
  for (std::size_t i = 0; i < times.size(); ++i)
    runs[static_cast<std::int64_t>(i) + 1] = {std::fabs(times[i]), times[i] > 0};
  return runs;
}

Verdict verdict_of(const std::vector<double>& baseline, const std::vector<double>& times) {
  const Runs one = runs_of(baseline), other = runs_of(times);
  return verdicts({compare(one, other, common_tau({one, other}), Better::less)}).front();
}

// --- The model. ------------------------------------------------------------------------------------------

/// Efron 1967: from left to right, a run that is not seen any longer leaves its share to those that are.
double model_mean(std::vector<double> times, double end) {
  std::sort(times.begin(), times.end(), [](double a, double b) {
    return std::fabs(a) != std::fabs(b) ? std::fabs(a) < std::fabs(b) : a > b;
  });
  std::vector<double> shares(times.size(), 1 / static_cast<double>(times.size()));
  double mean = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] < 0 && i + 1 < times.size()) {
      for (std::size_t j = i + 1; j < times.size(); ++j)
        shares[j] += shares[i] / static_cast<double>(times.size() - i - 1);
      continue;
    }
    mean += shares[i] * (times[i] < 0 ? end : std::min(times[i], end));
  }
  return mean;
}

/// Infinite where everybody's last run arrives.
double model_tau(const std::vector<std::vector<double>>& groups) {
  double tau = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& times : groups)
    for (const double last : times)
      if (last < 0 && std::all_of(times.begin(), times.end(),
                                  [&](double each) { return std::fabs(each) <= std::fabs(last); }))
        tau = std::min(tau, -last);
  return tau;
}

std::vector<double> model_values(const std::vector<double>& times, double tau) {
  double end = tau;
  if (std::isinf(end)) {
    end = 0;
    for (const double each : times) end = std::max(end, std::fabs(each));
  }
  std::vector<double> values;
  double sum = 0;
  const auto n = static_cast<double>(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::vector<double> others = times;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    values.push_back(n * model_mean(times, end) - (n - 1) * (others.empty() ? 0 : model_mean(others, end)));
    sum += values.back() / n;
  }
  for (double& each : values) each += model_mean(times, end) - sum;
  return values;
}

/// P(|T| >= t) of Student's T, by Simpson's rule over the angle of its tangent.
double model_student(double t, double degrees) {
  const double from = std::atan(std::fabs(t) / std::sqrt(degrees)), to = std::acos(-1) / 2;
  const auto density = [&](double angle) { return std::pow(std::cos(angle), degrees - 1); };
  const auto area = [&](double a, double b) {
    constexpr int kParts = 2000;
    const double width = (b - a) / kParts;
    double sum = density(a) + density(b);
    for (int i = 1; i < kParts; ++i) sum += density(a + i * width) * (i % 2 == 1 ? 4 : 2);
    return sum * width / 3;
  };
  return area(from, to) / area(0, to);
}

/// Of `all` seeds that favour one of two, that as few or fewer favour either: counted over all throws of
/// coins.
double model_coins(int few, int all) {
  int as_few = 0;
  for (unsigned throws = 0; throws < 1U << all; ++throws) {
    const int heads = __builtin_popcount(throws);
    as_few += std::min(heads, all - heads) <= few ? 1 : 0;
  }
  return static_cast<double>(as_few) / static_cast<double>(1U << all);
}

double model_p(const std::vector<double>& a, const std::vector<double>& b) {
  const double tau = model_tau({a, b});
  const std::vector<double> first = model_values(a, tau), second = model_values(b, tau);
  const auto n = static_cast<double>(a.size());
  double mean = 0, square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) mean += (second[i] - first[i]) / n;
  for (std::size_t i = 0; i < a.size(); ++i) square += std::pow(second[i] - first[i] - mean, 2);
  double p = model_student(mean / std::sqrt(square / (n - 1) / n), n - 1);
  int sooner = 0, later = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool one = a[i] > 0 && a[i] <= tau, other = b[i] > 0 && b[i] <= tau;
    sooner += other && !one;
    later += one && !other;
  }
  if (sooner + later == 0) return p;
  const bool agree = (sooner > later) == (mean < 0);
  return std::min(1.0, 2 * std::min(p, agree ? model_coins(std::min(sooner, later), sooner + later) : 1.0));
}

}  // namespace

TEST_CASE("tau, restricted means and p are those of a model that shares out and counts") {
  Stream stream({.seed = 22, .purpose = Purpose::resampling, .entity = 1, .step = 0});
  int censored = 0;
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    const std::size_t n = 3 + stream.below(5);
    const double end = 40 + 80 * stream.uniform();
    std::vector<std::vector<double>> groups(2);
    for (std::vector<double>& times : groups)
      for (std::size_t i = 0; i < n; ++i) {
        const double time = 10 + 100 * stream.uniform(),
                     seen = stream.below(4) == 0 ? 120 * stream.uniform() : end;
        times.push_back(time <= seen ? time : -seen);
      }
    const Runs a = runs_of(groups[0]), b = runs_of(groups[1]);
    const std::optional<double> tau = common_tau({a, b});
    CHECK(tau.value_or(std::numeric_limits<double>::infinity()) == model_tau(groups));
    for (std::size_t g = 0; g < 2; ++g) {
      const std::vector<double> model = model_values(groups[g], model_tau(groups));
      const std::map<std::int64_t, double> values = values_until(g == 0 ? a : b, tau);
      for (const auto& [seed, value] : values)
        CHECK(value == Approx(model[static_cast<std::size_t>(seed) - 1]).epsilon(1e-9));
    }
    const Comparison comparison = compare(a, b, tau, Better::less);
    if (comparison.difference->value == 0) continue;
    ++censored;
    CHECK(comparison.difference->p == Approx(model_p(groups[0], groups[1])).epsilon(1e-6));
  }
  CHECK(censored > 250);
}

TEST_CASE("Holm's p is the largest that any set of hypotheses with it has by Bonferroni") {
  Stream stream({.seed = 22, .purpose = Purpose::resampling, .entity = 2, .step = 0});
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> p(1 + stream.below(6));
    for (double& each : p) each = std::pow(stream.uniform(), 3);
    const std::vector<double> corrected = holm(p);
    for (std::size_t i = 0; i < p.size(); ++i) {
      double most = 0;
      for (unsigned set = 0; set < 1U << p.size(); ++set) {
        if ((set >> i & 1) == 0) continue;
        double least = 1;
        for (std::size_t j = 0; j < p.size(); ++j)
          if ((set >> j & 1) != 0) least = std::min(least, p[j]);
        most = std::max(most, std::min(1.0, __builtin_popcount(set) * least));
      }
      CHECK(corrected[i] == Approx(most).epsilon(1e-12));
    }
  }
}

TEST_CASE("a method that is stopped earlier is not better for it") {
  // The same runs; one of them is seen until 60 alone.
  const Contest contest =
      statistics::contest({runs_of({150, 160, 170}), runs_of({-60, -60, -60})}, Better::less);
  CHECK(contest.tau == 60);
  CHECK(!contest.best);  // nobody arrives by then
  const Contest some = statistics::contest({runs_of({50, 160, 170}), runs_of({50, -60, -60})}, Better::less);
  CHECK(some.means[0] == some.means[1]);
  CHECK(some.best == 0);
  CHECK(some.verdicts[1] == Verdict::tie);
}

TEST_CASE("none of seven against seven of seven is not a tie, nor are 351 s and 48 s") {
  CHECK(verdict_of({-400, -400, -400, -400, -400, -400, -400}, {300, 305, 310, 315, 320, 325, 330}) ==
        Verdict::less);
  // By the mean alone, (60 - 1 + 6 x 0.1) / 7 of a deviation of 22 is nothing.
  CHECK(verdict_of({-60, -60, -60, -60, -60, -60, -60}, {1, 59.9, 59.9, 59.9, 59.9, 59.9, 59.9}) ==
        Verdict::less);
  // Both wait at 45 s, where one run was last seen, is what restricting each pair there says.
  CHECK(verdict_of({351, 352, 350, 349, 351, 353, 351}, {48, 47, 49, 48, 50, 46, -45}) == Verdict::less);
  CHECK(verdict_of({-60, -60, -60}, {70, 80, 90}) ==
        Verdict::unseen);  // what was seen until 60 tells nothing
  CHECK(verdict_of({-60, -60, -60}, {-60, -60, -60}) == Verdict::unseen);
}

TEST_CASE(
    "one seed is unknown, equal values are a tie, and a difference below the model's error is undecided") {
  CHECK(verdict_of({10}, {12}) == Verdict::unknown);
  CHECK(verdict_of({10}, {10}) == Verdict::tie);
  const auto exact = [](double a, double b, double off_by) {
    return verdict(compare(runs_of({a}), runs_of({b}), {}, Better::less, off_by), 1);
  };
  CHECK(exact(10, 12, 1.9) == Verdict::more);
  CHECK(exact(10, 12, 2.1) == Verdict::undecided);
  CHECK(exact(10, 10, 2.1) == Verdict::tie);
}

TEST_CASE("nothing wins against nobody") {
  CHECK(!statistics::contest({runs_of({10, 20}), {}}, Better::less).best);
  CHECK(!statistics::contest({runs_of({10}), runs_of({20})}, Better::neither).best);
  CHECK(statistics::contest({runs_of({10}), {}, runs_of({20})}, Better::more).best == 2);
}

}  // namespace simsgd::test::analysis_contest
