#include "analysis/calibration/uncertainty.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "analysis/calibration/fit.hpp"

namespace simsgd {

Fitter::Fitter(const Spec& spec, const ModelSpec& model, const Points& points,
               const PredictorSettings& settings)
    : spec_(spec),
      model_(model),
      points_(points),
      predictor_(points, settings),
      members_(predictor_, points, model),
      interrupted_(settings.interrupted) {}

Patch Fitter::tables(const WeightedPoints& what) const {
  return find_tables(predictor_, points_, model_, what);
}

Fitted Fitter::fit(const WeightedPoints& what, const Fitted* start, int iterations, int rounds) const {
  const Patch tables =
      start == nullptr ? this->tables(what) : refit_tables(predictor_, points_, model_, what, start->tables);
  FitSettings settings{.outlier = spec_.fit.outlier,
                       .tolerance = runs() ? 1e-4 : 1e-10,
                       .starts = spec_.fit.starts.value_or(runs() ? 1 : 6),
                       .interrupted = interrupted_};
  const auto with_member = [&](std::size_t member, const Fitted* from, Effort effort) {
    Patch patch = member_patch(model_, member);
    patch.insert(patch.end(), tables.begin(), tables.end());
    settings.start = from;
    settings.iterations = effort.iterations;
    settings.rounds = runs() ? effort.rounds : 0;
    Fitted fitted = fit_parameters(predictor_, points_, model_, what, patch, settings);
    fitted.tables = tables;
    fitted.member = member;
    return fitted;
  };
  if (model_.ensemble.empty()) return with_member(0, start, {iterations, rounds});
  return fit_ensemble(what, start, {iterations, rounds}, with_member);
}

/// Mean squares of all members, each with its own values; infinity of those that are hopeless.
std::vector<double> Fitter::member_squares(const WeightedPoints& what, const Fitted& fitted) const {
  const std::vector<std::vector<std::size_t>> cells = members_.cells(what.which);
  std::map<std::size_t, double> weight_of;
  for (std::size_t i = 0; i < what.which.size(); ++i) weight_of[what.which[i]] += what.weights[i];
  const auto squares = [&](const std::vector<std::pair<std::size_t, std::size_t>>& asked) {
    std::vector<std::vector<std::size_t>> members(cells.size()), places(cells.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      members[asked[i].second].push_back(asked[i].first);
      places[asked[i].second].push_back(i);
    }
    std::vector<double> all(asked.size());
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (members[c].empty()) continue;
      WeightedPoints part{cells[c], {}};
      for (const std::size_t i : cells[c]) part.weights.push_back(weight_of[i]);
      const auto predicted = members_.predict(members[c], fitted, cells[c]);
      for (std::size_t i = 0; i < places[c].size(); ++i) {
        all[places[c][i]] = mean_square(points_, part, predicted[i], spec_.fit.outlier);
        if (!std::isfinite(all[places[c][i]]))
          throw RunError("With " + Json(member_patch(model_, members[c][i])).dump() +
                         " of the ensemble, the simulator cannot predict some measurement. " +
                         memo().failure);
      }
    }
    return all;
  };
  const std::size_t count = member_count(model_);
  const double hopeless = members_.many() ? hopeless_ratio(count, what.which.size(), model_.parameters.size())
                                          : std::numeric_limits<double>::infinity();
  return screened_sums(count, cells.size(), hopeless, squares);
}

/// The parameters with the likeliest outcome first; from there those of the others, as far as they may be as
/// likely; then the weights of all. From a fit to more points on, the others' move as the likeliest one's.
Fitted Fitter::fit_ensemble(const WeightedPoints& what, const Fitted* start, Effort effort,
                            const WithMember& with_member) const {
  Fitted best = with_member(start == nullptr ? 0 : start->member, start, effort);
  if (start != nullptr && !start->member_values.empty()) {
    best.member_values = start->member_values;
    for (std::vector<double>& values : best.member_values)
      for (std::size_t j = 0; j < values.size(); ++j)
        move_inside(model_.parameters[j], values[j],
                    scale_of(model_.parameters[j], best.values[j]) -
                        scale_of(model_.parameters[j], start->values[j]));
  } else {
    best.member_values.assign(member_count(model_), best.values);
    fit_likely_members(what, best, effort, with_member);
  }
  best.weights = member_weights(member_squares(what, best), what.which.size(), model_.parameters.size());
  return best;
}

/// What the members of each outcome weigh together, at its first member.
std::vector<double> Fitter::weigh_outcomes(const WeightedPoints& what, const Fitted& fitted,
                                           std::vector<std::size_t>& first) const {
  const std::vector<double> squares = member_squares(what, fitted);
  std::vector<bool> hopeless;
  for (const double square : squares) hopeless.push_back(!std::isfinite(square));
  first = members_.outcomes(members_.cells(what.which), hopeless);
  return outcome_weights(member_weights(squares, what.which.size(), model_.parameters.size()), first);
}

void Fitter::fit_likely_members(const WeightedPoints& what, Fitted& best, Effort effort,
                                const WithMember& with_member) const {
  constexpr std::size_t kMostFitted = 8;
  constexpr Effort kOfRuns{4, 1};  // from the likeliest member's values and slopes on
  constexpr int kRoundsAgain = 2, kPasses = 3;
  std::set<std::size_t> known;
  for (int pass = 0; pass < kPasses; ++pass) {
    std::vector<std::size_t> first;
    const std::vector<double> weights = weigh_outcomes(what, best, first);
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
    order.resize(std::min(order.size(), kMostFitted));
    std::vector<std::vector<double>> values = std::move(best.member_values);
    const Fitted from = best;
    for (const std::size_t m : order) {
      if (!(weights[m] > 0) || !known.insert(m).second) continue;
      const Fitted fitted = with_member(m, &from, runs() ? kOfRuns : effort);
      for (std::size_t other = 0; other < first.size(); ++other)
        if (first[other] == m) values[other] = fitted.values;
      if (fitted.loss < best.loss) best = fitted;
    }
    if (best.member != from.member) {
      const Fitted begin = best;
      best = with_member(best.member, &begin, {effort.iterations, std::min(effort.rounds, kRoundsAgain)});
      for (std::size_t other = 0; other < first.size(); ++other)
        if (first[other] == first[best.member]) values[other] = best.values;
    }
    // Those that have no values of their own yet begin where the likeliest one ended.
    for (std::size_t m = 0; m < values.size(); ++m)
      if (!known.contains(first[m])) values[m] = best.values;
    const bool settled = best.member == from.member;
    best.member_values = std::move(values);
    if (settled || !members_.many()) return;
  }
}

std::vector<double> Fitter::predict(const Fitted& fitted, const std::vector<std::size_t>& which,
                                    double factor) const {
  if (fitted.weights.empty())
    return predictor_.predict(factor == 1 ? patch_of(model_, fitted) : scaled_patch(model_, fitted, factor),
                              which);
  return ensemble_mean(predict_members(fitted, which, factor), fitted.weights);
}

std::vector<std::vector<double>> Fitter::predict_members(const Fitted& fitted,
                                                         const std::vector<std::size_t>& which,
                                                         double factor) const {
  if (fitted.weights.empty()) return {};
  const double least = kLeastWeight * *std::ranges::max_element(fitted.weights);
  std::vector<std::size_t> members;
  for (std::size_t m = 0; m < fitted.weights.size(); ++m)
    if (fitted.weights[m] >= least) members.push_back(m);
  std::map<std::size_t, std::size_t> place;
  for (std::size_t i = 0; i < which.size(); ++i) place[which[i]] = i;
  std::vector<std::vector<double>> all(fitted.weights.size());
  for (const std::size_t m : members) all[m].resize(which.size());
  for (const std::vector<std::size_t>& cell : members_.cells(which)) {
    const auto predicted = members_.predict(members, fitted, cell, factor);
    for (std::size_t k = 0; k < members.size(); ++k)
      for (std::size_t i = 0; i < cell.size(); ++i) all[members[k]][place[cell[i]]] = predicted[k][i];
  }
  return all;
}

void Fitter::each(std::size_t count, const std::function<void(std::size_t)>& body) const {
  if (model_.ensemble.empty()) return predictor_.each(count, body);
  for (std::size_t i = 0; i < count; ++i) body(i);
}

bool Fitter::runs() const {
  return std::ranges::any_of(points_.settings,
                             [](const Setting& each) { return each.kind == PredictSpec::Kind::run; });
}

std::vector<std::size_t> Fitter::fitted_points() const {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < points_.points.size(); ++i)
    if (points_.points[i].fitted) which.push_back(i);
  return which;
}

namespace {

constexpr int kLeftOutIterations = 6;  // from the fit to everything on
constexpr int kLeftOutRounds = 2;      // from its slopes on, and once from slopes of their own

std::string value_of(const std::string& column, const Point& point) {
  return column_of(point.measurement, column).value_or("(none)");
}

/// Of several columns ("network,workers") each with each.
std::string part_of(const std::string& column, const Point& point) {
  if (column == "octave")
    return point.bytes() > 0 ? fmt::format("octave {:02.0f}", std::floor(std::log2(point.bytes())))
                             : "no bytes";
  std::string values;
  for (const std::string& each : columns_of(column))
    values += (values.empty() ? "" : ", ") + value_of(each, point);
  return fmt::format("{} {}", column, values);
}

/// What differs among the points that are not left out: repeats tell a fit nothing new.
std::size_t cells_beside(const Points& points, const std::vector<std::size_t>& all,
                         const std::vector<std::size_t>& left_out) {
  std::set<std::tuple<std::size_t, double, std::string>> cells;
  for (const std::size_t i : all)
    if (!std::ranges::binary_search(left_out, i))
      cells.emplace(points.points[i].setting, points.points[i].bytes(), points.points[i].metric);
  return cells.size();
}

Slopes slopes_by_point(const Fitter& fitter, const Fitted& best, const std::vector<std::size_t>& which) {
  if (!best.slopes.empty() || best.values.empty()) return best.slopes;
  const Eigen::MatrixXd slopes = slopes_of(fitter, best, which);
  Slopes all;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto row = slopes.row(static_cast<Eigen::Index>(i));
    all[which[i]] = std::vector<double>(row.begin(), row.end());
  }
  return all;
}

/// Where the fit to the points `rest` begins: parameters on which only what was left out depends go back to
/// the middle of their bounds, for no other point tells them. `slopes`: of all points, at `best`.
Fitted begin_without(const Fitter& fitter, const Fitted& best, const Slopes& slopes,
                     const std::vector<std::size_t>& left_out, const std::vector<std::size_t>& rest) {
  Fitted begin = best;
  for (std::size_t j = 0; j < begin.values.size(); ++j) {
    const auto depends = [&](std::size_t i) { return slopes.at(i)[j] != 0; };
    if (std::ranges::none_of(left_out, depends) || std::ranges::any_of(rest, depends)) continue;
    const ParameterSpec& parameter = fitter.model().parameters[j];
    begin.values[j] =
        value_at(parameter, (scale_of(parameter, parameter.low) + scale_of(parameter, parameter.high)) / 2);
    for (std::vector<double>& values : begin.member_values) values[j] = begin.values[j];
  }
  return begin;
}

/// The parts of one column.
void leave_out_each(const Fitter& fitter, const Fitted* best, const std::string& column,
                    std::vector<LeftOut>& left_out) {
  std::map<std::string, std::vector<std::size_t>> parts;
  const std::vector<std::size_t> all = fitter.fitted_points();
  for (const std::size_t i : all)
    if (fitter.spec().fit.leave_out_where.holds(fitter.points().points[i].measurement))
      parts[part_of(column, fitter.points().points[i])].push_back(i);
  std::erase_if(parts, [&](const auto& part) {
    return cells_beside(fitter.points(), all, part.second) < free_parameters(fitter.model());
  });
  if (parts.size() < 2) return;
  const std::size_t before = left_out.size();
  for (const auto& [name, which] : parts) left_out.push_back({name, which, {}});
  const Slopes slopes = best == nullptr ? Slopes{} : slopes_by_point(fitter, *best, all);
  fitter.each(parts.size(), [&](std::size_t part) {
    const std::vector<std::size_t>& which = left_out[before + part].which;
    std::vector<std::size_t> rest;
    std::set_difference(all.begin(), all.end(), which.begin(), which.end(), std::back_inserter(rest));
    Fitted fitted;
    if (best == nullptr) {
      fitted = fitter.fit(fitter.weighted(rest));
    } else {
      const Fitted begin = begin_without(fitter, *best, slopes, which, rest);
      fitted = fitter.fit(fitter.weighted(rest), &begin, kLeftOutIterations, kLeftOutRounds);
    }
    left_out[before + part].log_errors = log_errors(fitter.points(), which, fitter.predict(fitted, which));
  });
}

}  // namespace

std::vector<LeftOut> cross_validate(const Fitter& fitter, const Fitted* best) {
  std::vector<LeftOut> left_out;
  for (const std::string& column : fitter.spec().fit.leave_out)
    leave_out_each(fitter, best, column, left_out);
  return left_out;
}

std::vector<double> part_errors(const Fitter& fitter, const std::vector<LeftOut>& all) {
  std::vector<double> errors;
  for (const LeftOut& part : all) {
    const WeightedPoints what = fitter.weighted(part.which);
    double& sum = errors.emplace_back(0);
    for (std::size_t i = 0; i < part.which.size(); ++i)
      sum += what.weights[i] * std::fabs(std::expm1(part.log_errors[i]));
  }
  return errors;
}

namespace {

// Student's t with two degrees of freedom has closed forms.
double share_within(double z) { return z / std::sqrt(2 + z * z); }
double quantile_of(double u) { return (2 * u - 1) / std::sqrt(2 * u * (1 - u)); }

/// Scales that may be the errors', as logarithms, from 1e-4 of the largest one to 1e3 times as much.
constexpr double kScaleStep = 0.1, kLeastScale = -9.2, kMostScale = 6.9;
constexpr int kScales = 162, kShares = 10;

/// Logarithm of the likelihood of a scale, but for a constant; of a share of squares that goes with slopes.
double log_likelihood(const std::vector<CountedError>& errors, double log_scale, double share,
                      double mean_square_slope) {
  double sum = 0;
  for (const CountedError& each : errors) {
    const double wider = share > 0 ? share * each.slope * each.slope / mean_square_slope + 1 - share : 1;
    const double log_own = log_scale + std::log(std::max(wider, 1e-12)) / 2;
    const double z = each.log_error * std::exp(-log_own);
    sum -= each.count * (1.5 * std::log1p(z * z / 2) + log_own);
  }
  return sum;
}

double largest(const std::vector<CountedError>& errors) {
  double most = 0;
  for (const CountedError& each : errors) most = std::max(most, std::fabs(each.log_error));
  return most;
}

/// Logarithms of the likelihoods of all scales.
std::vector<double> over_scales(const std::vector<CountedError>& errors, double share = 0,
                                double mean_square_slope = 1) {
  std::vector<double> all;
  const double most = std::log(largest(errors));
  for (int i = 0; i < kScales; ++i)
    all.push_back(log_likelihood(errors, most + kLeastScale + i * kScaleStep, share, mean_square_slope));
  return all;
}

}  // namespace

double count_of_part(std::size_t cells) { return std::sqrt(static_cast<double>(cells)); }

Reach reach_of_errors(const std::vector<CountedError>& errors) {
  Reach reach{};
  const double most = largest(errors);
  if (!(most > 0)) return reach;
  std::vector<double> weights = over_scales(errors);
  const double likeliest = *std::ranges::max_element(weights);
  double sum = 0;
  for (double& each : weights) sum += each = std::exp(each - likeliest);
  const auto beyond = [&](double log_size, double level) {
    double within = 0, log_scale = std::log(most) + kLeastScale;
    for (const double weight : weights) {
      within += weight * share_within(std::exp(log_size - log_scale));
      log_scale += kScaleStep;
    }
    return within / sum - level;
  };
  for (std::size_t i = 0; i < reach.size(); ++i) {
    std::uintmax_t steps = 100;
    const auto [low, high] = boost::math::tools::toms748_solve(
        [&](double log_size) { return beyond(log_size, kIntervalLevels[i]); },
        std::log(most) + 2 * kLeastScale, std::log(most) + 2 * kMostScale,
        boost::math::tools::eps_tolerance<double>(40), steps);
    reach[i] = std::exp((low + high) / 2);
  }
  return reach;
}

double share_with_slopes(const std::vector<CountedError>& errors) {
  constexpr double kLeastGain = 1.92;  // half of chi-squared's 95 %, one degree of freedom
  double square = 0, count = 0;
  for (const CountedError& each : errors) square += each.count * each.slope * each.slope, count += each.count;
  if (!(square > 0) || !(largest(errors) > 0)) return 0;
  double share = 0, least = kLeastGain, flat = 0;
  for (int i = 0; i <= kShares; ++i) {
    const double tried = static_cast<double>(i) / kShares;
    const std::vector<double> likelihoods = over_scales(errors, tried, square / count);
    const double best = *std::ranges::max_element(likelihoods);
    if (i == 0) flat = best;
    if (best - flat > least) share = tried, least = best - flat;
  }
  return share;
}

double drawn_error(double nine_tenths, double u) { return nine_tenths / quantile_of(0.95) * quantile_of(u); }

}  // namespace simsgd
