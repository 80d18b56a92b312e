// The bootstrap: campaigns drawn with replacement where there are three or more, else points; each draw is
// fitted again from the best fit on. Where parameters are as many as what would be drawn the fit goes through
// all of it, and its residuals say nothing: measurements are then moved by the noise that repeats of them
// show. And the model's own error: parts that are left out show it, as one factor on all that goes with
// time; and how far off they were, whatever their times go with.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "analysis/calibration/ensemble.hpp"
#include "analysis/calibration/judge.hpp"
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

constexpr int kLeastCampaigns = 3;
constexpr std::uint64_t kDrawSeed = 1;
constexpr double kLeastSlope = 0.02;  // a prediction that hardly goes with the factor says nothing of it

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

/// How far off a point is beyond what members of an ensemble differ in: draws have other members already.
double unexplained(const LeftOut& part, std::size_t i) {
  const double error = part.log_errors[i], spread = part.spreads.empty() ? 0 : part.spreads[i];
  return std::sqrt(std::max(0.0, error * error - spread * spread));
}

/// So that half, and nine tenths, of what was left out is as near as Student's t says: the larger of the two.
/// Not from squares, which one part at the end of the range would decide.
double model_sigma(const Fitter& fitter, const Fitted& best, const std::vector<LeftOut>& left_out) {
  if (left_out.size() < 2) return 0;
  std::vector<std::pair<double, double>> sizes;  // and weights
  for (const LeftOut& part : left_out) {
    const WeightedPoints what = fitter.weighted(part.which);
    const std::vector<double> slopes = sensitivities(fitter, best, part.which);
    for (std::size_t i = 0; i < part.which.size(); ++i)
      if (std::isfinite(part.log_errors[i]) && std::fabs(slopes[i]) > kLeastSlope)
        sizes.emplace_back(unexplained(part, i) / std::fabs(slopes[i]), what.weights[i]);
  }
  if (sizes.empty()) return 0;
  const boost::math::students_t distribution(static_cast<double>(left_out.size() - 1));
  double sigma = 0;
  for (const double level : {0.5, 0.9})
    sigma = std::max(sigma,
                     weighted_quantile(sizes, level) / boost::math::quantile(distribution, (1 + level) / 2));
  return sigma;
}

/// How far off half and nine tenths of the left-out cells were: of n the L (n + 1)-th, as a new one is to be
/// among them (split conformal prediction).
Reach left_out_reach(const Fitter& fitter, const std::vector<LeftOut>& left_out) {
  std::vector<std::pair<double, double>> sizes;  // and weights
  for (const LeftOut& part : left_out) {
    const WeightedPoints what = fitter.weighted(part.which);
    for (std::size_t i = 0; i < part.which.size(); ++i)
      if (std::isfinite(part.log_errors[i]))
        sizes.emplace_back(std::fabs(part.log_errors[i]), what.weights[i]);
  }
  Reach reach{};
  if (sizes.empty()) return reach;
  const auto count = static_cast<double>(sizes.size());
  for (std::size_t i = 0; i < reach.size(); ++i)
    reach[i] = weighted_quantile(sizes, std::min(1.0, kIntervalLevels[i] * (count + 1) / count));
  return reach;
}

/// Whether some part held all cells of a workload, or of a method: "/workload", "/algorithm".
bool whole_left_out(const Fitter& fitter, const std::vector<LeftOut>& left_out, const std::string& section) {
  const std::set<std::string> all = names_of_runs(fitter.points(), fitter.fitted_points(), section);
  return std::any_of(left_out.begin(), left_out.end(), [&](const LeftOut& part) {
    std::vector<std::size_t> rest;
    for (const std::size_t i : fitter.fitted_points())
      if (std::find(part.which.begin(), part.which.end(), i) == part.which.end()) rest.push_back(i);
    return names_of_runs(fitter.points(), rest, section).size() < all.size();
  });
}

/// Whether any of some members predicts something else with a parameter at a bound.
bool changes_anything(const Fitter& fitter, const Fitted& at, std::size_t j,
                      const std::vector<std::size_t>& members, const std::vector<std::size_t>& which) {
  const ParameterSpec& parameter = fitter.model().parameters[j];
  return std::any_of(members.begin(), members.end(), [&](std::size_t member) {
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
    errors.push_back(
        spec.error_at(fmt::format("/models/{}/parameters/{}", &model - spec.models.data(), parameter.written),
                      fmt::format("\"{}\" changes no prediction of what is fitted, from {:g} to {:g}",
                                  parameter.name, parameter.low, parameter.high),
                      Json(parameter.pointers).dump(), "Leave it out, or fit measurements that go with it"));
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

double factor_of(double sigma, int parts, std::uint64_t draw) {
  if (!(sigma > 0) || parts < 2) return 1;
  Stream stream({.seed = kDrawSeed, .purpose = Purpose::resampling, .entity = 1, .step = draw});
  const boost::math::students_t distribution(parts - 1);
  const double u = std::clamp(stream.uniform(), 1e-3, 1 - 1e-3);  // of few parts: no draw beyond reason
  return std::exp(sigma * boost::math::quantile(distribution, u));
}

/// The fit to points that were drawn, by one step of Gauss and Newton from the best fit: as far as
/// predictions are straight in the parameters, no further simulation is needed.
Fitted one_step(const Fitter& fitter, const Fitted& best, const Eigen::MatrixXd& slopes,
                const std::vector<double>& errors, const std::vector<double>& weights) {
  const Eigen::Index count = slopes.cols();
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(count, count);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(count);
  for (Eigen::Index i = 0; i < slopes.rows(); ++i) {
    const double error = errors[static_cast<std::size_t>(i)];
    const double share = error / fitter.spec().fit.outlier;
    const double weight = weights[static_cast<std::size_t>(i)] / std::sqrt(1 + share * share);
    normal += weight * slopes.row(i).transpose() * slopes.row(i);
    right -= weight * error * slopes.row(i).transpose();
  }
  double sum = 0;
  for (const double weight : weights) sum += weight;
  for (Eigen::Index j = 0; j < count; ++j) {
    const ParameterSpec& parameter = fitter.model().parameters[static_cast<std::size_t>(j)];
    if (!parameter.usual) continue;
    const double weight = sum / static_cast<double>(weights.size());
    normal(j, j) += weight;
    right[j] -= weight * (scale_of(parameter, best.values[static_cast<std::size_t>(j)]) -
                          scale_of(parameter, *parameter.usual));
  }
  constexpr double kDamping = 1e-6;  // of a parameter that the points say nothing of
  const double most = normal.diagonal().maxCoeff();
  normal.diagonal().array() += kDamping * (most > 0 ? most : 1);
  const Eigen::VectorXd step = normal.ldlt().solve(right);
  Fitted drawn = best;
  for (Eigen::Index j = 0; j < count; ++j)
    move_inside(fitter.model().parameters[static_cast<std::size_t>(j)],
                drawn.values[static_cast<std::size_t>(j)], step[j]);
  return drawn;
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
  const Eigen::MatrixXd slopes = slopes_of(fitter, best, which);
  refuse_idle(fitter, best, which, slopes);
  all.parts = static_cast<int>(left_out.size());
  all.model_sigma = model_sigma(fitter, best, left_out);
  all.reach = left_out_reach(fitter, left_out);
  if (left_out.empty() && noise)
    for (std::size_t i = 0; i < all.reach.size(); ++i) all.reach[i] = kNormalReach[i] * *noise;
  all.workloads = whole_left_out(fitter, left_out, "/workload");
  all.algorithms = whole_left_out(fitter, left_out, "/algorithm");
  if (all.resampled == "nothing") return all;
  const std::vector<double> errors = log_errors(fitter.points(), which, fitter.predict(best, which));
  for (int draw = 0; draw < fitter.spec().fit.draws; ++draw) {
    Stream stream({.seed = kDrawSeed,
                   .purpose = Purpose::resampling,
                   .entity = 0,
                   .step = static_cast<std::uint64_t>(draw)});
    std::vector<double> weights(which.size(), 0.0), drawn_errors = errors;
    if (exact) {
      weights = what.weights;
      for (double& error : drawn_errors) error += *noise * stream.normal();
    } else {
      for (std::size_t unit = 0; unit < units.size(); ++unit)
        for (const std::size_t i : units[stream.below(static_cast<std::uint32_t>(units.size()))])
          weights[i] += what.weights[i];
    }
    Fitted fitted = best;
    if (!model.searches.empty()) fitted = fitter.fit({which, weights}, &best, 0);
    if (model.searches.empty() && !model.parameters.empty())
      fitted = one_step(fitter, best, slopes, drawn_errors, weights);
    move_to_member(model, best, drawn_member(best, stream.uniform()), fitted);
    all.draws.push_back(
        {std::move(fitted), factor_of(all.model_sigma, all.parts, static_cast<std::uint64_t>(draw))});
  }
  return all;
}

}  // namespace simsgd
