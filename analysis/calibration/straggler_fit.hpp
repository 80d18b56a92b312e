// Fits the straggler compute_noise to times of workers and steps, with an interval for every parameter.
//   ln T_{w,k} = ln base + ln F_w + a_{w,k} + s_{w,k} + c_k
// Fast and slow noise of worker w, common factor of step k; all Gaussian AR(1) but for the fast one's
// marginal.
//   common      from covariances between different workers; what is left of each worker's own is
//   fast, slow  v_w rho^lag + u_w exp(-lag/steps): memories of all workers, variances of each, at least 0; by
//               least squares over lags with weights 1/(1 + lag)^2 (NLopt)
//   F_w         means of times, drawn together by what the noise of a mean explains (empirical Bayes: Efron,
//               Morris, JASA 70, 1975), so that the slowest of many is not the luckiest
//   marginal    of the fast noise that smoothing leaves, scaled to its variance, on a thinned series
//               (Family); measured quantiles where no family fits
// Covariances are compared with what they are expected to be in so few steps, not with their limit. Smoothed
// noise is nearer to a Gaussian than true noise where the slow part is strong: shapes are then understated.
// Intervals: the model is simulated (through the plug-in) and fitted again.
// Checked by tests/calibration/straggler_fit.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/field.hpp"

namespace simsgd::calibration {

// What a straggler fit is made of: times as a table of workers and steps, their covariances at lags, what a
// sum of AR(1) kernels gives for these, and the split of a series into its parts.

/// How long a worker computed in a step.
struct WorkerStep {
  int worker = 0;
  std::uint64_t step = 0;
  double seconds = 0;
};

/// The steps in which every worker was measured.
struct StepTable {
  std::vector<int> workers = {};                  ///< as the rows name them, ascending
  std::vector<std::uint64_t> steps = {};          ///< the same
  std::vector<std::vector<double>> times_s = {};  ///< of each worker, by step
  std::size_t dropped = 0;                        ///< rows of steps that some worker lacks

  std::size_t count() const { return steps.size(); }
};

double mean_of(std::span<const double> values);
/// 0 of a series that does not vary.
double autocorrelation(const std::vector<double>& values, std::size_t lag);

/// Throws std::invalid_argument, naming worker and step, for a time that is not above 0 and for a row that
/// comes twice.
StepTable step_table(std::span<const WorkerStep> rows);
/// The steps [first, first + count) of a table.
StepTable part(const StepTable& table, std::size_t first, std::size_t count);

/// Whether a series stays in its regime: quarters of it, and blocks of these. F compares the blocks' means of
/// the logarithm of the slowest worker's time between quarters and within them (analysis of variance;
/// correlated steps make it too large, so only p below kRegimeLevel counts). Of fewer than kFewestOfRegimes
/// steps nothing is told.
struct Regimes {
  std::vector<StepTable> quarters{};
  double f = 0, p = 1;
  bool differ = false;
};
inline constexpr std::size_t kQuarters = 4, kFewestOfRegimes = 64;
inline constexpr double kRegimeLevel = 0.001;
Regimes regimes_of(const StepTable& table);
/// Equal parts, one after the other; steps at the end that fill none are left out.
std::vector<StepTable> parts(const StepTable& table, std::size_t count);
/// The slowest worker's time of each step.
std::vector<double> slowest_of(const StepTable& table);

/// Covariances of ln(time) with each worker's mean taken off, at lags 0 to `lags`.
struct Covariances {
  std::vector<std::vector<double>> own;  ///< of each worker with itself
  std::vector<double> cross;             ///< mean over pairs of different workers; 0 of a single worker
};
Covariances covariances(const std::vector<std::vector<double>>& logs, std::size_t lags);

/// What such a covariance is expected to be of n steps of a chain of variance 1 and correlations rho^lag:
/// below rho^lag, since the mean of few steps takes slow changes with it. Exact.
std::vector<double> expected_covariance(double rho, std::size_t n, std::size_t lags);
/// Variance of the mean of n steps of that chain.
double mean_variance(double rho, std::size_t n);

/// A stationary Gaussian AR(1).
struct Chain {
  double variance = 0, rho = 0;
};
/// The expected values of the chain `wanted` given the sum of it and the chain `other`: Kalman filter and
/// smoother (Rauch, Tung, Striebel, AIAA Journal 3, 1965). Variances above 0.
std::vector<double> smoothed(const std::vector<double>& sum, const Chain& wanted, const Chain& other);

// Its second moments: variances and memories of fast, slow and common noise.

/// Of logarithms.
struct Memories {
  std::vector<double> fast_variances, slow_variances;  ///< of each worker
  double fast_rho = 0, slow_rho = 0;                   ///< correlation of neighbouring steps
  double common_variance = 0, common_rho = 0;
};

/// logs: ln(time) of each worker by step.
Memories fit_memories(const std::vector<std::vector<double>>& logs);

/// Steps until a correlation rho of neighbours has become 1/e; 0 for none.
double steps_of(double rho);

// Families of distributions of times, fitted by maximum likelihood with and without a shift (a floor below
// which nothing is), compared by AIC, and tested. With y = x - shift > 0:
//   lognormal         ln y normal: mean ln(scale), deviation shape
//   gamma             shape, scale                     weibull           shape, scale
//   exponential       scale = mean                     pareto            scale = least y, shape = alpha
//   inverse_gaussian  scale = mean, shape = lambda     log_laplace       ln y Laplace: median ln(scale),
//   shape = b
// Given the shift all but gamma and Weibull are closed (Johnson, Kotz, Balakrishnan, Continuous Univariate
// Distributions, Wiley 1994/95), these solve one equation. A likelihood that knows a shift may have no
// maximum where the shift reaches the least value (Smith, Biometrika 72, 1985): it stays (mean - least) / n
// below. AIC and tests suppose independent values: thin a series first (thinning_lag). Checked by
// tests/calibration/straggler_fit.cpp.

enum class Family : std::uint8_t {
  lognormal,
  gamma,
  weibull,
  exponential,
  pareto,
  inverse_gaussian,
  log_laplace
};
inline constexpr Family kFamilies[] = {Family::lognormal,   Family::gamma,  Family::weibull,
                                       Family::exponential, Family::pareto, Family::inverse_gaussian,
                                       Family::log_laplace};

/// As the straggler compute_noise writes it; "exponential" is a Weibull there.
std::string family_name(Family family);

struct FamilyFit {
  Family family = Family::lognormal;
  bool shifted = false;
  double shift = 0, scale = 0, shape = 0;  ///< in the unit of the values
  double log_likelihood = 0;
  int parameters = 0;
  double aic() const { return 2 * parameters - 2 * log_likelihood; }
};

/// Of at least three positive values, not all the same. Throws std::invalid_argument else.
FamilyFit fit_family(Family family, bool shifted, std::span<const double> values);
double cdf(const FamilyFit& fit, double value);
double quantile(const FamilyFit& fit, double probability);

/// Distances of the values from the fit, and how often values drawn from the fit and fitted again are as far:
/// the parametric bootstrap (Stute, Gonzalez Manteiga, Presedo Quindimil, Metrika 40, 1993), without which a
/// fitted law is never rejected.
struct Goodness {
  double ks = 0, ks_p = 1;                              ///< Kolmogorov-Smirnov
  double anderson_darling = 0, anderson_darling_p = 1;  ///< weighs tails
  int draws = 0;
};
Goodness goodness(const FamilyFit& fit, std::span<const double> values, int draws, std::uint64_t seed);

struct FamilyChoice {
  std::vector<FamilyFit> fits;  ///< by AIC, the best first
  Goodness best;                ///< of the first
  bool none_fits = false;       ///< its p-values: one is below `significance`
  double significance = 0.05;
  std::size_t count = 0;  ///< values that were judged
  /// At probabilities 0, 1/m, ..., 1 of all values: what to use where none fits.
  std::vector<double> quantiles;
};
FamilyChoice choose_family(std::span<const double> values, int draws, std::uint64_t seed,
                           double significance = 0.05);

/// The first lag at which the mean autocorrelation of the series is below `threshold`; at least 1.
std::size_t thinning_lag(const std::vector<std::vector<double>>& series, double threshold = 0.1);
/// Every lag-th value of each series, in one.
std::vector<double> thinned(const std::vector<std::vector<double>>& series, std::size_t lag);

/// Memories are correlations of the logarithm: with the step before (fast), after so many steps 1/e (slow,
/// common; 0: none).
struct StragglerParameters {
  double base_s = 0;                           ///< mean time of the mean worker
  std::vector<double> factors{};               ///< of each worker, mean 1
  std::vector<double> fast_cvs{}, slow_cvs{};  ///< of each worker
  double fast_correlation = 0;
  double slow_steps = 0;
  double common_cv = 0, common_steps = 0;
  bool by_quantiles = false;  ///< else `family` with `floor`
  Family family = Family::lognormal;
  double floor = 0;                 ///< share of the mean below which nothing is
  std::vector<double> quantiles{};  ///< of the fast noise

  /// The straggler section of a scenario, an object of the list: compute_noise. `rank_mapping` as it has it.
  Json section(const std::string& rank_mapping = "exact") const;
  /// With their names, as in "factors/3": what intervals are given for.
  std::vector<std::pair<std::string, double>> named() const;
};

struct StragglerFitOptions {
  int draws = 200;           ///< refits for intervals; 0: none
  double level = 0.9;        ///< of intervals
  int goodness_draws = 200;  ///< of the p-values of the family; 0: the best by AIC is taken as it is
  std::uint64_t seed = 1;
};

struct ParameterInterval {
  std::string name;
  double value = 0, low = 0, high = 0;
};

struct StragglerFit {
  StragglerParameters parameters;
  FamilyChoice families;
  std::size_t thinning = 1;  ///< lag of the series that families were judged on
  std::size_t steps = 0;     ///< that it was fitted on
  Regimes regimes{};         ///< of these
  std::vector<ParameterInterval> intervals;
  std::vector<StragglerParameters> drawn;  ///< the refits
  /// Expected slow noise of each worker and common factor in the last step, logarithms.
  std::vector<double> last_slow;
  double last_common = 0;
};

/// Where the regime changes, those of factors and of the base hold what each quarter has.
/// From the refits' deviations, turned around (Davison, Hinkley, Bootstrap Methods, 1997, 5.2), so that what
/// a fit makes too large in the refits is taken off; of memories on a logarithmic scale. Bounded by 0.
std::vector<ParameterInterval> intervals_of(const StragglerFit& fit, double level);

/// Of at least kFewestSteps steps and one worker. Throws std::invalid_argument, with what is wrong with the
/// data.
StragglerFit fit_stragglers(const StepTable& table, const StragglerFitOptions& options);
inline constexpr std::size_t kFewestSteps = 30;

/// The parameters (the fit's or one of its refits) for the `steps` steps that follow those it was fitted on:
/// factors and base times what the slow noise and the common factor are expected to be there, given where
/// they ended. For another run of the same job the parameters are as they are.
StragglerParameters continued(const StragglerFit& fit, const StragglerParameters& parameters,
                              std::size_t steps);

/// `steps` steps as compute_noise makes them, workers named 0, 1, ....
StepTable simulated_steps(const StragglerParameters& parameters, std::size_t steps, std::uint64_t seed);

}  // namespace simsgd::calibration
