// How far off: what a model misses on parts that were left out of its fit, and what its parameters may be.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/calibration/ensemble.hpp"
#include "analysis/calibration/fit.hpp"
#include "analysis/widening.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

/// Parameters of a model that change no prediction of what is fitted.
class IdleParameters : public ConfigError {
 public:
  IdleParameters(std::vector<InputError> errors, std::string of_model, std::vector<std::string> parameters)
      : ConfigError(std::move(errors)), model(std::move(of_model)), names(std::move(parameters)) {}
  std::string model;
  std::vector<std::string> names;
};

/// Fits one model to any part of the points: its tables first, then its parameters.
class Fitter {
 public:
  /// All must outlive it.
  Fitter(const Spec& spec, const ModelSpec& model, const Points& points, const PredictorSettings& settings);

  /// From `start` on where there is one. `rounds`: FitSettings, of runs.
  Fitted fit(const WeightedPoints& what, const Fitted* start = nullptr, int iterations = 60,
             int rounds = 4) const;
  /// The tables that a fit to these points begins with; they go with no parameter.
  Patch tables(const WeightedPoints& what) const;
  std::vector<double> predict(const Fitted& fitted, const std::vector<std::size_t>& which,
                              double factor = 1) const;
  std::vector<std::vector<double>> predict(const std::vector<Patch>& patches,
                                           const std::vector<std::size_t>& which) const {
    return predictor_.predict(patches, which);
  }
  /// As Predictor's; one at a time with an ensemble, whose members remember outcomes.
  void each(std::size_t count, const std::function<void(std::size_t)>& body) const;

  const ModelSpec& model() const { return model_; }
  const Points& points() const { return points_; }
  const Spec& spec() const { return spec_; }
  WeightedPoints weighted(const std::vector<std::size_t>& which) const {
    return weigh(points_, which, spec_.fit.octaves_equal);
  }
  /// Of each member of the ensemble; empty where its weight is negligible.
  std::vector<std::vector<double>> predict_members(const Fitted& fitted,
                                                   const std::vector<std::size_t>& which,
                                                   double factor = 1) const;
  /// Points that are fitted.
  std::vector<std::size_t> fitted_points() const;
  /// Whether some points are runs: each prediction then takes a simulation.
  bool runs() const;
  const RunMemo& memo() const { return predictor_.memo(); }

 private:
  struct Effort {
    int iterations, rounds;
  };
  using WithMember = std::function<Fitted(std::size_t member, const Fitted* from, Effort effort)>;
  Fitted fit_ensemble(const WeightedPoints& what, const Fitted* start, Effort effort,
                      const WithMember& with_member) const;
  void fit_likely_members(const WeightedPoints& what, Fitted& best, Effort effort,
                          const WithMember& with_member) const;
  std::vector<double> member_squares(const WeightedPoints& what, const Fitted& fitted) const;
  std::vector<double> weigh_outcomes(const WeightedPoints& what, const Fitted& fitted,
                                     std::vector<std::size_t>& first) const;

  const Spec& spec_;
  const ModelSpec& model_;
  const Points& points_;
  Predictor predictor_;
  Members members_;
  std::function<bool()> interrupted_;
};

/// A part that was left out of a fit, and how the fit to the others predicts it.
struct LeftOut {
  std::string part;
  std::vector<std::size_t> which;
  std::vector<double> log_errors;  ///< log(predicted / measured)
};

/// Each part that `leave_out` of the spec tells apart, left out in turn; empty where there is only one.
/// `best`: the fit to everything, where parameters begin; null: everything, tables too, is found anew.
std::vector<LeftOut> cross_validate(const Fitter& fitter, const Fitted* best);
/// The mean relative error of each part, whose points weigh as in the fit.
std::vector<double> part_errors(const Fitter& fitter, const std::vector<LeftOut>& all);

/// How the logarithms of predictions go with the parameters' scales (fit.hpp), at the best fit: a row for
/// each point.
Eigen::MatrixXd slopes_of(const Fitter& fitter, const Fitted& best, const std::vector<std::size_t>& which);
/// How much the logarithm of a prediction grows with that of a factor on all that goes with time.
std::vector<double> sensitivities(const Fitter& fitter, const Fitted& best,
                                  const std::vector<std::size_t>& which);

/// Before any parameter is fitted, with the tables that the fit will have: throws IdleParameters where
/// parameters change no prediction of what is fitted, by no member of an ensemble, in the middle of their
/// bounds; nor, by the first, with all at their lower bounds, and at their upper ones. draw_parameters() asks
/// again at the best fit.
void refuse_idle(const Fitter& fitter);

/// One possible truth: parameters, and the factor by which the model is too slow or too fast as a whole.
struct Draw {
  Fitted fitted;
  double factor = 1;
};

struct Uncertainty {
  std::vector<Draw> draws;
  /// What the bootstrap drew: "campaigns" or "points"; "noise": the fit goes through all that was measured,
  /// which was moved by the noise of a measurement; "nothing": and that is unknown, so there are no draws.
  std::string resampled;
  int parts = 0;  ///< that were left out
  /// How far off what is like them is, as logarithms; 0 without any. And whether all cells
  /// of a workload, or of a method, were among what was left out at once.
  Reach reach{};
  bool workloads = false, algorithms = false;
  /// Where octaves of size were left out: how far off their cells are in the fit to everything, and how many
  /// doublings they lay from the nearest size of the others, in the mean; 0: something else was left out.
  Reach fitted{};
  double doublings = 0;

  /// As if errors were normal: the standard deviation of as many inside nine tenths.
  double model_sigma() const { return reach.back() / kNormalReach.back(); }
};

inline constexpr std::size_t kMostDraws = 20;  ///< of a cluster's file: as many as a run draws

/// What the section "calibration" of a cluster says of its intervals beside draws: where it was measured, and
/// how far off what was left out of the fit was.
Json calibration_told(const Points& points, const Uncertainty& uncertainty);

/// Six digits: intervals are wider.
double rounded(double value);
Json rounded_json(Json value);

/// Names of the workloads, or methods, of the runs among some points.
std::set<std::string> names_of_runs(const Points& points, const std::vector<std::size_t>& which,
                                    const std::string& section);

/// `best` is the fit to everything; `noise` of one measurement, relative, where repeats of what was fitted
/// tell it. What was left out was measured, so its errors hold the noise; where nothing was, intervals reach
/// as far as that. Throws ConfigError, naming them, where parameters change no prediction of what is fitted.
/// Deterministic.
Uncertainty draw_parameters(const Fitter& fitter, const Fitted& best, const std::vector<LeftOut>& left_out,
                            std::optional<double> noise = {});

// How far off a further prediction is, from how far off some were whose measurements the fit had not seen.

/// An error, and how much it counts.
struct CountedError {
  double log_error = 0;  ///< log(predicted / measured)
  double count = 1;
  double slope = 1;  ///< how much the logarithm of the prediction grows with that of a factor on all that
                     ///< goes with time
};

/// How many errors the `cells` of a part count as that was left out as a whole, all together: the root of
/// their number. They are off together in part, so it lies between one and all of them (docs/calibration.md).
double count_of_part(std::size_t cells);

/// Errors are Student's t with two degrees of freedom around 0, of a scale that nothing but `errors` tells
/// (as likely in every octave beforehand): within what half, and nine tenths, of a further one lie. Few
/// errors give wide intervals, and one that is far out does not decide alone. Two: of the
/// book's left-out cells they hold 53 and 90 %, 1.5 degrees 52 and 92 %, three 56 and 89 %
/// (docs/calibration.md). All 0 where nothing tells.
Reach reach_of_errors(const std::vector<CountedError>& errors);

/// Which share of the squares of `errors` goes with their slopes, as far as they show it: 0 where one scale
/// for all is as likely (by the ratio of likelihoods, at 95 %).
double share_with_slopes(const std::vector<CountedError>& errors);

/// What is below the probability `u`, of such a t whose nine tenths lie within `nine_tenths`.
double drawn_error(double nine_tenths, double u);

}  // namespace simsgd
