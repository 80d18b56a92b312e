#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "analysis/calibration/ensemble.hpp"
#include "analysis/calibration/search.hpp"
#include "analysis/calibration/uncertainty.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

Fitter::Fitter(const Spec& spec, const ModelSpec& model, const Points& points,
               const PredictorSettings& settings)
    : spec_(spec),
      model_(model),
      points_(points),
      predictor_(points, settings),
      interrupted_(settings.interrupted) {}

Fitted Fitter::fit(const WeightedPoints& what, const Fitted* start, int iterations, int rounds) const {
  const Patch tables = start == nullptr ? find_tables(predictor_, points_, model_, what)
                                        : refit_tables(predictor_, points_, model_, what, start->tables);
  FitSettings settings{.outlier = spec_.fit.outlier,
                       .tolerance = runs() ? 1e-4 : 1e-10,
                       .starts = spec_.fit.starts.value_or(runs() ? 1 : 12),
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

/// Mean squares of all members, each with its own values.
std::vector<double> Fitter::member_squares(const WeightedPoints& what, const Fitted& fitted) const {
  std::vector<Patch> patches;
  for (std::size_t m = 0; m < member_count(model_); ++m) {
    Fitted other = fitted;
    other.member = m;
    other.values = fitted.member_values[m];
    patches.push_back(patch_of(model_, other));
  }
  std::vector<double> all;
  for (const std::vector<double>& predicted : predictor_.predict(patches, what.which)) {
    const double square = mean_square(points_, what, predicted, spec_.fit.outlier);
    if (!std::isfinite(square))
      throw RunError("With " + Json(member_patch(model_, all.size())).dump() +
                     " of the ensemble some measurement is not predicted. " + memo().failure);
    all.push_back(square);
  }
  return all;
}

/// The parameters with the likeliest member first; from there those of the others, as far as they may be as
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

void Fitter::fit_likely_members(const WeightedPoints& what, Fitted& best, Effort effort,
                                const WithMember& with_member) const {
  constexpr std::size_t kMostFitted = 8;
  constexpr Effort kOfRuns{4, 1};  // from the likeliest member's values and slopes on
  constexpr int kRoundsAgain = 2;
  const std::vector<double> squares = member_squares(what, best);
  std::vector<std::size_t> order(squares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return squares[a] < squares[b]; });
  order.resize(std::min(order.size(), kMostFitted));
  std::vector<std::vector<double>> values = std::move(best.member_values);
  const Fitted from = best;
  for (const std::size_t m : order) {
    const Fitted fitted = with_member(m, &from, runs() ? kOfRuns : effort);
    values[m] = fitted.values;
    if (fitted.loss < best.loss) best = fitted;
  }
  if (best.member != from.member) {
    const Fitted begin = best;
    best = with_member(best.member, &begin, {effort.iterations, std::min(effort.rounds, kRoundsAgain)});
    values[best.member] = best.values;
  }
  best.member_values = std::move(values);
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
  std::vector<Patch> patches;
  std::vector<std::size_t> members;
  for (std::size_t m = 0; m < fitted.weights.size(); ++m) {
    if (fitted.weights[m] < kLeastWeight) continue;
    Fitted one = fitted;
    one.member = m;
    if (m != fitted.member && !fitted.member_values.empty()) one.values = fitted.member_values[m];
    patches.push_back(scaled_patch(model_, one, factor));
    members.push_back(m);
  }
  std::vector<std::vector<double>> all(fitted.weights.size());
  std::vector<std::vector<double>> predicted = predictor_.predict(patches, which);
  for (std::size_t i = 0; i < members.size(); ++i) all[members[i]] = std::move(predicted[i]);
  return all;
}

bool Fitter::runs() const {
  return std::any_of(points_.settings.begin(), points_.settings.end(),
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
  std::size_t begin = 0;
  for (std::size_t comma = 0; (comma = column.find(',', begin)) != std::string::npos; begin = comma + 1)
    values += value_of(column.substr(begin, comma - begin), point) + ", ";
  return fmt::format("{} {}{}", column, values, value_of(column.substr(begin), point));
}

/// The parts of one column.
void leave_out_each(const Fitter& fitter, const Fitted* best, const std::string& column,
                    std::vector<LeftOut>& left_out) {
  std::map<std::string, std::vector<std::size_t>> parts;
  const std::vector<std::size_t> all = fitter.fitted_points();
  for (const std::size_t i : all)
    if (fitter.spec().fit.leave_out_where.holds(fitter.points().points[i].measurement))
      parts[part_of(column, fitter.points().points[i])].push_back(i);
  if (parts.size() < 2) return;
  for (const auto& [name, which] : parts) {
    std::vector<std::size_t> rest;
    for (const std::size_t i : all)
      if (part_of(column, fitter.points().points[i]) != name) rest.push_back(i);
    const Fitted fitted = best == nullptr
                              ? fitter.fit(fitter.weighted(rest))
                              : fitter.fit(fitter.weighted(rest), best, kLeftOutIterations, kLeftOutRounds);
    left_out.push_back({name, which, log_errors(fitter.points(), which, fitter.predict(fitted, which))});
  }
}

}  // namespace

std::vector<LeftOut> cross_validate(const Fitter& fitter, const Fitted* best) {
  std::vector<LeftOut> left_out;
  for (const std::string& column : fitter.spec().fit.leave_out)
    leave_out_each(fitter, best, column, left_out);
  return left_out;
}

double mean_error(const Fitter& fitter, const std::vector<LeftOut>& all) {
  if (all.empty()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const LeftOut& part : all) {
    const WeightedPoints what = fitter.weighted(part.which);
    for (std::size_t i = 0; i < part.which.size(); ++i)
      sum += what.weights[i] * std::fabs(std::expm1(part.log_errors[i]));
  }
  return sum / static_cast<double>(all.size());
}

}  // namespace simsgd
