#include "analysis/calibration/straggler_memories.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlopt.hpp>
#include <stdexcept>

#include "analysis/calibration/straggler_series.hpp"

namespace simsgd::calibration {

namespace {

/// low, low + step, ... below `high`.
std::vector<double> from_to(double low, double high, double step) {
  std::vector<double> all;
  for (int i = 0; low + i * step < high; ++i) all.push_back(low + i * step);
  return all;
}

// A chain of less memory is as good as none: rho 0.007.
constexpr double kShortestSteps = 0.2;
constexpr double kLeastSlowSteps = 3;
// Below, the two scales are one: nothing could tell their variances apart.
constexpr double kLeastRatio = 3;

// Longer memories of n steps are not memory but a trend: what they ask for is a mean that n steps do not
// know.
constexpr double kLongestShare = 2;
double rho_of(double steps) { return steps <= kShortestSteps ? 0 : std::exp(-1 / steps); }

using Kernel = std::vector<double>;
using Objective = std::function<double(const std::vector<double>&)>;

// Covariances at long lags are mostly chance. On simulated series this weight halves the error of the
// memories against 1/(1 + lag).
double weight(std::size_t lag) { return 1 / (static_cast<double>(1 + lag) * static_cast<double>(1 + lag)); }

double inner(const Kernel& a, const Kernel& b) {
  double sum = 0;
  for (std::size_t lag = 0; lag < a.size(); ++lag) sum += a[lag] * b[lag] * weight(lag);
  return sum;
}

/// The least of `objective` near the best point of a grid.
std::vector<double> least(const Objective& objective, const std::vector<std::vector<double>>& grid,
                          const std::vector<double>& low, const std::vector<double>& high) {
  std::vector<double> best;
  double value = std::numeric_limits<double>::infinity();
  for (const auto& point : grid)
    if (const double here = objective(point); best.empty() || here < value) best = point, value = here;
  nlopt::opt search(nlopt::LN_NELDERMEAD, static_cast<unsigned>(low.size()));
  search.set_lower_bounds(low);
  search.set_upper_bounds(high);
  search.set_initial_step(0.3);
  search.set_xtol_abs(1e-4);
  search.set_maxeval(200);
  search.set_min_objective([](const std::vector<double>& x, std::vector<double>&,
                              void* data) { return (*static_cast<const Objective*>(data))(x); },
                           const_cast<void*>(static_cast<const void*>(&objective)));
  double reached = 0;
  try {
    search.optimize(best, reached);
  } catch (const std::runtime_error&) {  // rounding ends the search: it has its best
  }
  return best;
}

/// The variance of at least 0 whose kernel is nearest.
double variance_of(const Kernel& covariance, const Kernel& kernel) {
  return std::max(0.0, inner(covariance, kernel) / inner(kernel, kernel));
}

double distance(const Kernel& covariance, double v, const Kernel& fast, double u, const Kernel& slow) {
  double sum = 0;
  for (std::size_t lag = 0; lag < covariance.size(); ++lag) {
    const double off = covariance[lag] - v * fast[lag] - u * slow[lag];
    sum += off * off * weight(lag);
  }
  return sum;
}

struct Two {
  double fast = 0, slow = 0, distance = 0;
};

/// The two variances of at least 0 whose kernels are nearest.
Two variances_of(const Kernel& covariance, const Kernel& fast, const Kernel& slow) {
  const double ff = inner(fast, fast), fs = inner(fast, slow), ss = inner(slow, slow);
  const double f = inner(covariance, fast), s = inner(covariance, slow), determinant = ff * ss - fs * fs;
  if (determinant > 1e-9 * ff * ss) {
    const double v = (f * ss - s * fs) / determinant, u = (s * ff - f * fs) / determinant;
    if (v >= 0 && u >= 0) return {v, u, distance(covariance, v, fast, u, slow)};
  }
  const double v = variance_of(covariance, fast), u = variance_of(covariance, slow);
  const double of_fast = distance(covariance, v, fast, 0, slow),
               of_slow = distance(covariance, 0, fast, u, slow);
  return of_fast <= of_slow ? Two{v, 0, of_fast} : Two{0, u, of_slow};
}

void fit_common(const Kernel& cross, std::size_t n, Memories& to) {
  const double high = std::log(static_cast<double>(n) / kLongestShare);
  const auto kernel = [&](double log_steps) {
    return expected_covariance(rho_of(std::exp(log_steps)), n, cross.size() - 1);
  };
  const Objective objective = [&](const std::vector<double>& x) {
    const Kernel of = kernel(x[0]);
    return distance(cross, variance_of(cross, of), of, 0, of);
  };
  std::vector<std::vector<double>> grid;
  for (const double at : from_to(std::log(kShortestSteps), high, 0.5)) grid.push_back({at});
  const double best = least(objective, grid, {std::log(kShortestSteps)}, {high})[0];
  to.common_variance = variance_of(cross, kernel(best));
  to.common_rho = to.common_variance > 0 ? rho_of(std::exp(best)) : 0;
}

void fit_scales(const std::vector<Kernel>& own, std::size_t n, Memories& to) {
  const std::size_t lags = own.front().size() - 1;
  const double high = std::log(static_cast<double>(n) / kLongestShare);
  const Objective objective = [&](const std::vector<double>& x) {
    if (std::exp(x[1] - x[0]) < kLeastRatio) return 1e3;  // in units of a worker's squared variance: far off
    const Kernel fast = expected_covariance(rho_of(std::exp(x[0])), n, lags);
    const Kernel slow = expected_covariance(rho_of(std::exp(x[1])), n, lags);
    double sum = 0;
    for (const Kernel& each : own)
      if (each[0] > 0) sum += variances_of(each, fast, slow).distance / (each[0] * each[0]);
    return sum / static_cast<double>(own.size());
  };
  std::vector<std::vector<double>> grid;
  for (const double fast : from_to(std::log(kShortestSteps), high, 0.7))
    for (const double slow : from_to(std::log(kLeastSlowSteps), high, 0.5)) grid.push_back({fast, slow});
  const std::vector<double> best =
      least(objective, grid, {std::log(kShortestSteps), std::log(kLeastSlowSteps)}, {high, high});
  to.fast_rho = rho_of(std::exp(best[0]));
  to.slow_rho = rho_of(std::exp(best[1]));
  const Kernel fast = expected_covariance(to.fast_rho, n, lags),
               slow = expected_covariance(to.slow_rho, n, lags);
  for (const Kernel& each : own) {
    const Two variances = variances_of(each, fast, slow);
    to.fast_variances.push_back(variances.fast);
    to.slow_variances.push_back(variances.slow);
  }
}

}  // namespace

double steps_of(double rho) { return rho > 0 ? -1 / std::log(rho) : 0; }

Memories fit_memories(const std::vector<std::vector<double>>& logs) {
  const std::size_t n = logs.front().size();
  const std::size_t lags = std::min<std::size_t>(n / 3, 200);
  Covariances of = covariances(logs, lags);
  Memories fitted;
  if (logs.size() > 1) fit_common(of.cross, n, fitted);
  const Kernel common = expected_covariance(fitted.common_rho, n, lags);
  for (Kernel& own : of.own)
    for (std::size_t lag = 0; lag <= lags; ++lag) own[lag] -= fitted.common_variance * common[lag];
  fit_scales(of.own, n, fitted);
  return fitted;
}

}  // namespace simsgd::calibration
