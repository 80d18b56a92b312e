// Parameters from measurements: the least of a robust sum of squares of log(predicted / measured), inside the
// bounds. Never least squares in seconds: large sizes would be all that counts.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "analysis/calibration/predictor.hpp"

namespace simsgd {

/// How logarithms of predictions go with the parameters' scales: by point, of each parameter.
using Slopes = std::map<std::size_t, std::vector<double>>;

/// A model with values.
struct Fitted {
  std::vector<double> values;     ///< of its parameters, SI
  Patch tables;                   ///< found by searches
  double loss = 0;                ///< mean over the weights of half the robust square
  std::vector<bool> at_bound;     ///< of each parameter: no better one inside
  std::size_t member = 0;         ///< of the model's ensemble, that the values were fitted with
  std::vector<double> weights{};  ///< of all its members; empty without an ensemble
  std::vector<std::vector<double>> member_values{};  ///< of the parameters with each member
  Slopes slopes{};                                   ///< of runs, about where the fit ended; else empty
};

Patch patch_of(const ModelSpec& model, const Fitted& fitted);
Patch patch_of(const ModelSpec& model, const std::vector<double>& values, const Patch& tables);
/// The same where everything that goes with time takes `factor` times as long, and rates are as much lower.
Patch scaled_patch(const ModelSpec& model, const Fitted& fitted, double factor);

/// What is fitted, and how much each point counts.
struct WeightedPoints {
  std::vector<std::size_t> which;
  std::vector<double> weights;  ///< their sum is 1
};

/// The points `which` of a fit: octaves of size of one number of workers and operation weigh the same, or all
/// points do.
WeightedPoints weigh(const Points& points, const std::vector<std::size_t>& which, bool octaves_equal);

/// What a parameter's usual value weighs beside the points: as much as one of them.
double usual_weight(const WeightedPoints& what);
/// Parameters that nothing but measurements tells.
std::size_t free_parameters(const ModelSpec& model);

struct FitSettings {
  double outlier = 0.1;
  int iterations = 60;
  double tolerance = 1e-10;  ///< of the loss, relative
  int starts = 6;            ///< places inside the bounds from which it goes down; of runs: that it looks at
  const Fitted* start = nullptr;  ///< where it begins instead
  /// Of runs: so often are slopes simulated anew, as long as it gains something; between, they follow from
  /// the steps that were made, and those of the start come first. 0: slopes are taken at every step.
  int rounds = 0;
  std::function<bool()> interrupted{};
};

/// Mean over the weights of the robust squares of log(predicted / measured): twice the loss.
double mean_square(const Points& points, const WeightedPoints& what, const std::vector<double>& predicted,
                   double outlier);

/// Throws RunError where nothing can be predicted.
Fitted fit_parameters(const Predictor& predictor, const Points& points, const ModelSpec& model,
                      const WeightedPoints& what, const Patch& tables, const FitSettings& settings);

/// Moves a parameter by `step` of its scale, a logarithm or a share of its upper bound, and not beyond its
/// bounds.
void move_inside(const ParameterSpec& parameter, double& value, double step);
/// The same in the direction in which there is room; returns the step that was made.
double step_inside(const ParameterSpec& parameter, double& value, double step);

/// Where a value is on the parameter's scale: its logarithm, or its share of the upper bound where it may be
/// 0.
double scale_of(const ParameterSpec& parameter, double value);
/// The value there, inside the bounds.
double value_at(const ParameterSpec& parameter, double x);

/// log(predicted / measured) of each; NaN where nothing was predicted.
std::vector<double> log_errors(const Points& points, const std::vector<std::size_t>& which,
                               const std::vector<double>& predicted);

// Tables by size from measurements: where one entry ends and the next begins by dynamic programming over the
// measured sizes, each entry a fit that is linear in its costs and allows none below 0, in relative errors;
// how many entries by cross-validation over sizes.

/// The model's tables, at their pointers.
Patch find_tables(const Predictor& predictor, const Points& points, const ModelSpec& model,
                  const WeightedPoints& what);

/// The same entries, their costs fitted again.
Patch refit_tables(const Predictor& predictor, const Points& points, const ModelSpec& model,
                   const WeightedPoints& what, const Patch& tables);

}  // namespace simsgd
