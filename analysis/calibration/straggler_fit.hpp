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
//               (straggler_families.hpp); measured quantiles where no family fits
// Covariances are compared with what they are expected to be in so few steps, not with their limit. Smoothed
// noise is nearer to a Gaussian than true noise where the slow part is strong: shapes are then understated.
// Intervals: the model is simulated (through the plug-in) and fitted again.
// Checked by tests/calibration/straggler_fit.cpp.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/calibration/straggler_families.hpp"
#include "analysis/calibration/straggler_series.hpp"
#include "sim/base/field.hpp"

namespace simsgd::calibration {

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
