// The bootstrap: campaigns drawn with replacement where there are three or more, else points; each draw is
// fitted again from the best fit on. Where parameters are as many as what would be drawn the fit goes through
// all of it, and its residuals say nothing: measurements are then moved by the noise that repeats of them
// show. And the model's own error: how far off parts were that were left out, whatever their times go with;
// as one factor on all that goes with time where errors grow with its share.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/calibration/ensemble.hpp"
#include "analysis/calibration/uncertainty.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

namespace simsgd {

Eigen::MatrixXd slopes_of(const Fitter& fitter, const Fitted& best, const std::vector<std::size_t>& which) {
  constexpr double kStep = 1e-3;
  const ModelSpec& model = fitter.model();
  std::vector<Patch> patches{patch_of(model, best)};
  std::vector<double> steps;
  for (std::size_t j = 0; j < model.parameters.size(); ++j) {
    Fitted beside = best;
    steps.push_back(step_inside(model.parameters[j], beside.values[j], kStep));
    patches.push_back(patch_of(model, beside));
  }
  const std::vector<std::vector<double>> values = fitter.predict(patches, which);
  Eigen::MatrixXd slopes(static_cast<Eigen::Index>(which.size()), static_cast<Eigen::Index>(steps.size()));
  for (std::size_t j = 0; j < steps.size(); ++j)
    for (std::size_t i = 0; i < which.size(); ++i)
      slopes(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          std::log(values[j + 1][i] / values[0][i]) / steps[j];
  return slopes;
}

std::vector<double> sensitivities(const Fitter& fitter, const Fitted& best,
                                  const std::vector<std::size_t>& which) {
  constexpr double kStep = 1e-2;
  Fitted likeliest = best;
  likeliest.weights.clear();
  const std::vector<double> slower = fitter.predict(likeliest, which, std::exp(kStep));
  const std::vector<double> faster = fitter.predict(likeliest, which, std::exp(-kStep));
  std::vector<double> all;
  for (std::size_t i = 0; i < which.size(); ++i) all.push_back(std::log(slower[i] / faster[i]) / (2 * kStep));
  return all;
}

namespace {

constexpr std::size_t kLeastCampaigns = 3;
constexpr std::uint64_t kDrawSeed = 1;

/// Indices into the fitted points that are drawn together.
std::vector<std::vector<std::size_t>> units_of(const Fitter& fitter, const std::vector<std::size_t>& which,
                                               std::string& resampled) {
  std::map<std::string, std::vector<std::size_t>> campaigns;
  for (std::size_t i = 0; i < which.size(); ++i)
    campaigns[fitter.points().points[which[i]].measurement.campaign].push_back(i);
  std::vector<std::vector<std::size_t>> units;
  resampled = campaigns.size() >= kLeastCampaigns ? "campaigns" : "points";
  if (resampled == "campaigns")
    for (const auto& [name, members] : campaigns) units.push_back(members);
  else
    for (std::size_t i = 0; i < which.size(); ++i) units.push_back({i});
  return units;
}

/// Errors of what was left out. A point that several columns left out counts as much as one that one did.
std::vector<CountedError> counted_errors(const Fitter& fitter, const Fitted& best,
                                         const std::vector<LeftOut>& left_out) {
  std::map<std::size_t, double> slope_of, times;
  for (const LeftOut& part : left_out)
    for (const std::size_t point : part.which) ++times[point];
  std::vector<std::size_t> points;
  for (const auto& [point, count] : times) points.push_back(point);
  if (points.empty()) return {};
  const std::vector<double> slopes = sensitivities(fitter, best, points);
  for (std::size_t i = 0; i < points.size(); ++i) slope_of[points[i]] = slopes[i];
  std::vector<CountedError> all;
  for (const LeftOut& part : left_out) {
    const WeightedPoints what = fitter.weighted(part.which);
    for (std::size_t i = 0; i < part.which.size(); ++i)
      if (std::isfinite(part.log_errors[i]))
        all.push_back({part.log_errors[i],
                       what.weights[i] * count_of_part(part.which.size()) / times[part.which[i]],
                       slope_of[part.which[i]]});
  }
  return all;
}

/// Where sizes were left out, octave by octave, and nothing else.
void compare_with_fit(const Fitter& fitter, const Fitted& best, const std::vector<LeftOut>& left_out,
                      Uncertainty& all) {
  if (fitter.spec().fit.leave_out != std::vector<std::string>{"octave"} || left_out.empty()) return;
  const std::vector<Point>& points = fitter.points().points;
  std::vector<CountedError> errors;
  double doublings = 0, counts = 0;
  for (const LeftOut& part : left_out) {
    std::set<double> others;
    for (const std::size_t i : fitter.fitted_points())
      if (points[i].bytes() > 0 && std::ranges::find(part.which, i) == part.which.end())
        others.insert(points[i].bytes());
    const std::vector<double> off = log_errors(fitter.points(), part.which, fitter.predict(best, part.which));
    const WeightedPoints what = fitter.weighted(part.which);
    for (std::size_t i = 0; i < part.which.size(); ++i) {
      const double bytes = points[part.which[i]].bytes(),
                   count = what.weights[i] * count_of_part(part.which.size());
      if (!(bytes > 0)) return;
      if (std::isfinite(off[i])) errors.push_back({off[i], count});
      doublings += count * doublings_to_nearest(others, bytes);
      counts += count;
    }
  }
  all.fitted = reach_of_errors(errors);
  all.doublings = doublings / counts;
}

/// Whether some part held all cells of a workload, or of a method: "/workload", "/algorithm".
bool whole_left_out(const Fitter& fitter, const std::vector<LeftOut>& left_out, const std::string& section) {
  const std::set<std::string> all = names_of_runs(fitter.points(), fitter.fitted_points(), section);
  return std::ranges::any_of(left_out, [&](const LeftOut& part) {
    std::vector<std::size_t> rest;
    for (const std::size_t i : fitter.fitted_points())
      if (std::ranges::find(part.which, i) == part.which.end()) rest.push_back(i);
    return names_of_runs(fitter.points(), rest, section).size() < all.size();
  });
}

/// Whether any of some members predicts something else with a parameter at a bound.
bool changes_anything(const Fitter& fitter, const Fitted& at, std::size_t j,
                      const std::vector<std::size_t>& members, const std::vector<std::size_t>& which) {
  const ParameterSpec& parameter = fitter.model().parameters[j];
  return std::ranges::any_of(members, [&](std::size_t member) {
    std::vector<Patch> patches;
    for (const double value : {at.values[j], parameter.low, parameter.high}) {
      Fitted beside = at;
      beside.member = member;
      beside.values[j] = value;
      patches.push_back(patch_of(fitter.model(), beside));
    }
    const std::vector<std::vector<double>> values = fitter.predict(patches, which);
    return values[1] != values[0] || values[2] != values[0];
  });
}

/// Of parameters of which no value changes what is predicted.
void throw_if_any(const Fitter& fitter, const std::vector<std::size_t>& idle) {
  const ModelSpec& model = fitter.model();
  const Spec& spec = fitter.spec();
  std::vector<InputError> errors;
  std::vector<std::string> names;
  for (const std::size_t j : idle) {
    const ParameterSpec& parameter = model.parameters[j];
    names.push_back(parameter.name);
    errors.push_back(spec.error_at(
        fmt::format("/models/{}/parameters/{}", &model - spec.models.data(), parameter.written),
        fmt::format("\"{}\" changes no prediction of a fitted measurement anywhere from {:g} to {:g}",
                    parameter.name, parameter.low, parameter.high),
        Json(parameter.pointers).dump(), "Leave it out, or fit measurements that depend on it"));
  }
  if (!errors.empty()) throw IdleParameters(std::move(errors), model.name, std::move(names));
}

/// Fitted they would be what they began as, and as sure as that is. A slope of 0 may be the way of a policy
/// that others are faster than; at a bound it is taken.
void refuse_idle(const Fitter& fitter, const Fitted& best, const std::vector<std::size_t>& which,
                 const Eigen::MatrixXd& slopes) {
  std::vector<std::size_t> members{best.member}, idle;
  for (std::size_t m = 0; m < best.weights.size(); ++m)
    if (best.weights[m] > 0 && m != best.member) members.push_back(m);
  for (std::size_t j = 0; j < fitter.model().parameters.size(); ++j)
    if (slopes.col(static_cast<Eigen::Index>(j)).isZero(0) &&
        !changes_anything(fitter, best, j, members, which))
      idle.push_back(j);
  throw_if_any(fitter, idle);
}

/// All parameters as far from their lower bounds, of 0 to 1.
Fitted at_share(const ModelSpec& model, double share, const Patch& tables) {
  Fitted fitted{{}, tables, 0, {}};
  for (const ParameterSpec& each : model.parameters) {
    const double low = scale_of(each, each.low), high = scale_of(each, each.high);
    fitted.values.push_back(value_at(each, low + share * (high - low)));
  }
  return fitted;
}

/// What all that goes with time is off by, as far as errors were larger the more it takes of a time.
std::vector<double> drawn_factors(const std::vector<CountedError>& errors, const Reach& reach,
                                  std::size_t draws) {
  const double share = share_with_slopes(errors);
  double square = 0, count = 0;
  for (const CountedError& each : errors) square += each.count * each.slope * each.slope, count += each.count;
  std::vector<double> factors(draws, 1.0);
  for (std::size_t draw = 0; share > 0 && draw < draws; ++draw) {
    Stream stream({.seed = kDrawSeed, .purpose = Purpose::resampling, .entity = 1, .step = draw});
    const double u = std::clamp(stream.uniform(), 1e-3, 1 - 1e-3);  // of few parts: no draw beyond reason
    factors[draw] = std::exp(drawn_error(reach.back() * std::sqrt(share * count / square), u));
  }
  return factors;
}

/// What was drawn of the fitted points.
struct Resample {
  std::vector<double> weights, log_moves;  ///< how often each; how far each measurement is moved
};

/// The step of Gauss and Newton from the best fit to that of what was drawn, on the parameters' scales.
Eigen::VectorXd step_to(const Fitter& fitter, const Fitted& best, const Eigen::MatrixXd& slopes,
                        const std::vector<double>& errors, const Resample& drawn) {
  const Eigen::Index count = slopes.cols();
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(count, count);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(count);
  for (Eigen::Index i = 0; i < slopes.rows(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double error = errors[k] + drawn.log_moves[k];
    const double share = error / fitter.spec().fit.outlier;
    const double weight = drawn.weights[k] / std::sqrt(1 + share * share);
    normal += weight * slopes.row(i).transpose() * slopes.row(i);
    right -= weight * error * slopes.row(i).transpose();
  }
  double sum = 0;
  for (const double weight : drawn.weights) sum += weight;
  for (Eigen::Index j = 0; j < count; ++j) {
    const ParameterSpec& parameter = fitter.model().parameters[static_cast<std::size_t>(j)];
    if (!parameter.usual) continue;
    const double weight = sum / static_cast<double>(drawn.weights.size());
    normal(j, j) += weight;
    right[j] -= weight * (scale_of(parameter, best.values[static_cast<std::size_t>(j)]) -
                          scale_of(parameter, *parameter.usual));
  }
  constexpr double kDamping = 1e-6;  // of a parameter that the points say nothing of
  const double most = normal.diagonal().maxCoeff();
  normal.diagonal().array() += kDamping * (most > 0 ? most : 1);
  return normal.ldlt().solve(right);
}

Fitted moved(const Fitter& fitter, const Fitted& best, const Eigen::VectorXd& step, double share) {
  Fitted drawn = best;
  for (std::size_t j = 0; j < drawn.values.size(); ++j)
    move_inside(fitter.model().parameters[j], drawn.values[j], share * step[static_cast<Eigen::Index>(j)]);
  return drawn;
}

/// The fits to what was drawn: of each a step from the best fit, which is halved as long as it is further
/// from what was drawn than the best fit is. Predictions are not straight in the parameters, and what
/// measurements refute cannot be the truth.
std::vector<Fitted> refitted(const Fitter& fitter, const Fitted& best, const std::vector<std::size_t>& which,
                             const std::vector<double>& errors, const std::vector<Resample>& drawn) {
  constexpr int kHalvings = 6;
  const Eigen::MatrixXd slopes = slopes_of(fitter, best, which);
  const auto loss = [&](const Resample& each, const std::vector<double>& off) {
    double sum = 0;
    for (std::size_t i = 0; i < off.size(); ++i) {
      const double share = (off[i] + each.log_moves[i]) / fitter.spec().fit.outlier;
      if (each.weights[i] > 0) sum += each.weights[i] * (std::sqrt(1 + share * share) - 1);
    }
    return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
  };
  std::vector<Eigen::VectorXd> steps;
  std::vector<std::size_t> open(drawn.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (const Resample& each : drawn) steps.push_back(step_to(fitter, best, slopes, errors, each));
  std::vector<Fitted> all(drawn.size(), best);
  double share = 1;
  for (int halving = 0; halving <= kHalvings && !open.empty(); ++halving, share /= 2) {
    std::vector<Patch> patches;
    for (const std::size_t k : open)
      patches.push_back(patch_of(fitter.model(), moved(fitter, best, steps[k], share)));
    const std::vector<std::vector<double>> predicted = fitter.predict(patches, which);
    std::vector<std::size_t> further;
    for (std::size_t n = 0; n < open.size(); ++n) {
      const Resample& each = drawn[open[n]];
      if (loss(each, log_errors(fitter.points(), which, predicted[n])) <= loss(each, errors))
        all[open[n]] = moved(fitter, best, steps[open[n]], share);
      else
        further.push_back(open[n]);
    }
    open = std::move(further);
  }
  return all;
}

std::size_t drawn_member(const Fitted& best, double u) {
  for (std::size_t m = 0; m < best.weights.size(); ++m)
    if ((u -= best.weights[m]) < 0) return m;
  return best.member;
}

/// What was drawn around the likeliest member, around another one.
void move_to_member(const ModelSpec& model, const Fitted& best, std::size_t member, Fitted& drawn) {
  drawn.member = member;
  if (member == best.member || best.member_values.empty()) return;
  for (std::size_t j = 0; j < drawn.values.size(); ++j)
    move_inside(model.parameters[j], drawn.values[j],
                scale_of(model.parameters[j], best.member_values[member][j]) -
                    scale_of(model.parameters[j], best.values[j]));
}

}  // namespace

void refuse_idle(const Fitter& fitter) {
  const ModelSpec& model = fitter.model();
  if (model.parameters.empty()) return;
  const std::vector<std::size_t> which = fitter.fitted_points();
  const Patch tables = fitter.tables(fitter.weighted(which));
  const Fitted middle = at_share(model, 0.5, tables);
  std::vector<std::size_t> others(member_count(model) - 1);
  std::iota(others.begin(), others.end(), std::size_t{1});
  const Eigen::MatrixXd slopes = slopes_of(fitter, middle, which);
  std::vector<std::size_t> idle;
  for (std::size_t j = 0; j < model.parameters.size(); ++j) {
    if (!slopes.col(static_cast<Eigen::Index>(j)).isZero(0)) continue;
    const bool changes = changes_anything(fitter, middle, j, {0}, which) ||
                         changes_anything(fitter, at_share(model, 0, tables), j, {0}, which) ||
                         changes_anything(fitter, at_share(model, 1, tables), j, {0}, which) ||
                         changes_anything(fitter, middle, j, others, which);
    if (!changes) idle.push_back(j);
  }
  throw_if_any(fitter, idle);
}

std::set<std::string> names_of_runs(const Points& points, const std::vector<std::size_t>& which,
                                    const std::string& section) {
  std::set<std::string> names;
  for (const std::size_t i : which) {
    const Setting& setting = points.settings.at(points.points.at(i).setting);
    if (setting.kind == PredictSpec::Kind::run)
      names.insert(setting.scenario.resolved.at(Json::json_pointer(section + "/name")).get<std::string>());
  }
  return names;
}

Uncertainty draw_parameters(const Fitter& fitter, const Fitted& best, const std::vector<LeftOut>& left_out,
                            std::optional<double> noise) {
  Uncertainty all;
  const ModelSpec& model = fitter.model();
  const std::vector<std::size_t> which = fitter.fitted_points();
  const WeightedPoints what = fitter.weighted(which);
  const std::vector<std::vector<std::size_t>> units = units_of(fitter, which, all.resampled);
  const bool exact = units.size() <= free_parameters(model);
  if (exact) all.resampled = noise ? "noise" : "nothing";
  refuse_idle(fitter, best, which, slopes_of(fitter, best, which));
  const std::vector<CountedError> off = counted_errors(fitter, best, left_out);
  all.parts = static_cast<int>(left_out.size());
  all.reach = reach_of_errors(off);
  if (left_out.empty() && noise)
    for (std::size_t i = 0; i < all.reach.size(); ++i) all.reach[i] = kNormalReach[i] * *noise;
  compare_with_fit(fitter, best, left_out, all);
  all.workloads = whole_left_out(fitter, left_out, "/workload");
  all.algorithms = whole_left_out(fitter, left_out, "/algorithm");
  if (all.resampled == "nothing") return all;
  const auto draws = static_cast<std::size_t>(fitter.spec().fit.draws);
  std::vector<Resample> drawn;
  std::vector<std::size_t> members;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    Stream stream({.seed = kDrawSeed, .purpose = Purpose::resampling, .entity = 0, .step = draw});
    Resample each{std::vector<double>(which.size(), 0.0), std::vector<double>(which.size(), 0.0)};
    if (exact) {
      each.weights = what.weights;
      for (double& move : each.log_moves) move = *noise * stream.normal();
    } else {
      for (std::size_t unit = 0; unit < units.size(); ++unit)
        for (const std::size_t i : units[stream.below(static_cast<std::uint32_t>(units.size()))])
          each.weights[i] += what.weights[i];
    }
    members.push_back(drawn_member(best, stream.uniform()));
    drawn.push_back(std::move(each));
  }
  std::vector<Fitted> fits(draws, best);
  if (!model.searches.empty())
    fitter.each(draws, [&](std::size_t draw) {
      fits[draw] = fitter.fit({which, drawn[draw].weights}, &best, 0);
    });
  else if (!model.parameters.empty())
    fits =
        refitted(fitter, best, which, log_errors(fitter.points(), which, fitter.predict(best, which)), drawn);
  const std::vector<double> factors = drawn_factors(off, all.reach, draws);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    move_to_member(model, best, members[draw], fits[draw]);
    all.draws.push_back({std::move(fits[draw]), factors[draw]});
  }
  return all;
}

}  // namespace simsgd
