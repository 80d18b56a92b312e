#include "analysis/calibration/straggler_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlopt.hpp>
#include <numeric>
#include <set>
#include <stdexcept>

namespace simsgd::calibration {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double autocorrelation(const std::vector<double>& values, std::size_t lag) {
  const double mean = mean_of(values);
  double lagged = 0, square = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    square += (values[i] - mean) * (values[i] - mean);
    if (i >= lag) lagged += (values[i] - mean) * (values[i - lag] - mean);
  }
  return square > 0 ? lagged / square : 0;
}

StepTable step_table(std::span<const WorkerStep> rows) {
  std::map<std::uint64_t, std::map<int, double>> by_step;
  std::set<int> workers;
  for (const WorkerStep& row : rows) {
    if (!(row.seconds > 0) || !std::isfinite(row.seconds))
      throw std::invalid_argument(
          fmt::format("worker {} has a time of {} s in step {}: times must be above 0", row.worker,
                      row.seconds, row.step));
    if (!by_step[row.step].emplace(row.worker, row.seconds).second)
      throw std::invalid_argument(fmt::format("worker {} has step {} twice", row.worker, row.step));
    workers.insert(row.worker);
  }
  StepTable table;
  table.workers.assign(workers.begin(), workers.end());
  table.times_s.resize(workers.size());
  for (const auto& [step, times] : by_step) {
    if (times.size() < workers.size()) {
      table.dropped += times.size();
      continue;
    }
    table.steps.push_back(step);
    std::size_t w = 0;
    for (const auto& [worker, seconds] : times) table.times_s[w++].push_back(seconds);
  }
  return table;
}

StepTable part(const StepTable& table, std::size_t first, std::size_t count) {
  const auto cut = [&](const auto& all) {
    using List = std::decay_t<decltype(all)>;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    return List(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  StepTable few{.workers = table.workers, .steps = cut(table.steps)};
  for (const auto& times : table.times_s) few.times_s.push_back(cut(times));
  return few;
}

std::vector<StepTable> parts(const StepTable& table, std::size_t count) {
  std::vector<StepTable> all;
  const std::size_t size = table.count() / count;
  for (std::size_t i = 0; i < count; ++i) all.push_back(part(table, i * size, size));
  return all;
}

std::vector<double> slowest_of(const StepTable& table) {
  std::vector<double> slowest(table.count());
  for (const auto& times : table.times_s)
    for (std::size_t i = 0; i < times.size(); ++i) slowest[i] = std::max(slowest[i], times[i]);
  return slowest;
}

Regimes regimes_of(const StepTable& table) {
  Regimes regimes;
  if (table.count() < kFewestOfRegimes) return regimes;
  regimes.quarters = parts(table, kQuarters);
  std::vector<double> means;  // of quarters
  double within = 0, between = 0;
  for (const StepTable& quarter : regimes.quarters) {
    std::vector<double> blocks;
    for (const StepTable& block : parts(quarter, kQuarters)) {
      std::vector<double> logs = slowest_of(block);
      for (double& each : logs) each = std::log(each);
      blocks.push_back(mean_of(logs));
    }
    means.push_back(mean_of(blocks));
    for (const double each : blocks) within += (each - means.back()) * (each - means.back());
  }
  const double middle = mean_of(means);
  for (const double each : means) between += (each - middle) * (each - middle);
  constexpr double k = kQuarters, kBetween = k - 1, kWithin = k * (k - 1);
  if (between <= 1e-20) return regimes;  // of times that never change
  regimes.f = k * between / kBetween / std::max(within / kWithin, 1e-20);
  regimes.p = boost::math::cdf(boost::math::complement(boost::math::fisher_f(kBetween, kWithin), regimes.f));
  regimes.differ = regimes.p < kRegimeLevel;
  return regimes;
}

namespace {

std::vector<double> lagged(const std::vector<double>& values, std::size_t lags) {
  std::vector<double> all;
  const std::size_t n = values.size();
  for (std::size_t lag = 0; lag <= lags; ++lag) {
    double sum = 0;
    for (std::size_t i = lag; i < n; ++i) sum += values[i] * values[i - lag];
    all.push_back(sum / static_cast<double>(n - lag));
  }
  return all;
}

}  // namespace

Covariances covariances(const std::vector<std::vector<double>>& logs, std::size_t lags) {
  Covariances all;
  std::vector<double> total(logs.front().size());
  for (std::vector<double> series : logs) {
    const double mean = mean_of(series);
    for (std::size_t i = 0; i < series.size(); ++i) total[i] += series[i] -= mean;
    all.own.push_back(lagged(series, lags));
  }
  // Of the sum over workers: all pairs, those of equal workers among them.
  all.cross = lagged(total, lags);
  const auto p = static_cast<double>(logs.size());
  for (std::size_t lag = 0; lag <= lags; ++lag) {
    for (const auto& own : all.own) all.cross[lag] -= own[lag];
    all.cross[lag] = p > 1 ? all.cross[lag] / (p * (p - 1)) : 0;
  }
  return all;
}

std::vector<double> expected_covariance(double rho, std::size_t n, std::size_t lags) {
  const auto count = static_cast<double>(n);
  // Of the kernel's matrix: the mean of each row, and sums of these over the first rows.
  std::vector<double> powers(n), sums(n + 1), row_sums(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    powers[i] = i == 0 ? 1 : powers[i - 1] * rho;
    sums[i + 1] = sums[i] + powers[i];
  }
  for (std::size_t i = 0; i < n; ++i) row_sums[i + 1] = row_sums[i] + (sums[i + 1] + sums[n - i] - 1) / count;
  const double all = row_sums[n] / count;
  std::vector<double> expected;
  for (std::size_t lag = 0; lag <= lags; ++lag) {
    const double pairs = count - static_cast<double>(lag);
    const double rows = row_sums[n - lag] + row_sums[n] - row_sums[lag];
    expected.push_back(powers[lag] - rows / pairs + all);
  }
  return expected;
}

double mean_variance(double rho, std::size_t n) {
  double sum = 0, power = 1;
  for (std::size_t lag = 0; lag < n; ++lag, power *= rho)
    sum += (lag == 0 ? 1 : 2) * static_cast<double>(n - lag) * power;
  return sum / (static_cast<double>(n) * static_cast<double>(n));
}

std::vector<double> smoothed(const std::vector<double>& sum, const Chain& wanted, const Chain& other) {
  using Vector = Eigen::Vector2d;
  using Matrix = Eigen::Matrix2d;
  const Vector memory(wanted.rho, other.rho), variances(wanted.variance, other.variance);
  const Matrix move = memory.asDiagonal();
  const Matrix noise = (variances.array() * (1 - memory.array().square())).matrix().asDiagonal();
  std::vector<Vector> predicted, filtered;
  std::vector<Matrix> predicted_cov, filtered_cov;
  Vector x = Vector::Zero();
  Matrix p = variances.asDiagonal();
  for (const double seen : sum) {
    predicted.push_back(x);
    predicted_cov.push_back(p);
    const Vector gain = p.rowwise().sum() / p.sum();
    x += gain * (seen - x.sum());
    p -= gain * p.colwise().sum();
    filtered.push_back(x);
    filtered_cov.push_back(p);
    x = move * x;
    p = move * p * move + noise;
  }
  std::vector<double> expected(sum.size());
  for (std::size_t i = sum.size(); i-- > 0;) {
    if (i + 1 == sum.size()) {
      x = filtered[i];
    } else {
      const Matrix back = filtered_cov[i] * move * predicted_cov[i + 1].inverse();
      x = filtered[i] + back * (x - predicted[i + 1]);
    }
    expected[i] = x[0];
  }
  return expected;
}

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
