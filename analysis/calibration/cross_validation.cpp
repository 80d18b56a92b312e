#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/calibration/search.hpp"
#include "analysis/calibration/uncertainty.hpp"

namespace simsgd {

Fitter::Fitter(const Spec& spec, const ModelSpec& model, const Points& points, int jobs,
               std::function<bool()> interrupted)
    : spec_(spec),
      model_(model),
      points_(points),
      predictor_(points, jobs),
      interrupted_(std::move(interrupted)) {}

Fitted Fitter::fit(const WeightedPoints& what, const Fitted* start, int iterations) const {
  const Patch tables = start == nullptr ? find_tables(predictor_, points_, model_, what)
                                        : refit_tables(predictor_, points_, model_, what, start->tables);
  return fit_parameters(predictor_, points_, model_, what, tables,
                        {.outlier = spec_.fit.outlier,
                         .iterations = iterations,
                         .tolerance = runs() ? 1e-5 : 1e-10,
                         .starts = runs() ? 1 : 12,
                         .start = start,
                         .interrupted = interrupted_});
}

std::vector<double> Fitter::predict(const Fitted& fitted, const std::vector<std::size_t>& which,
                                    double factor) const {
  return predictor_.predict(factor == 1 ? patch_of(model_, fitted) : scaled_patch(model_, fitted, factor),
                            which);
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

std::string part_of(const Spec& spec, const Point& point) {
  if (spec.fit.leave_out == "octave")
    return point.bytes() > 0 ? fmt::format("octave {:02.0f}", std::floor(std::log2(point.bytes())))
                             : "no bytes";
  return fmt::format("{} {}", spec.fit.leave_out,
                     column_of(point.measurement, spec.fit.leave_out).value_or("(none)"));
}

}  // namespace

std::vector<LeftOut> cross_validate(const Fitter& fitter, const Fitted* best) {
  std::map<std::string, std::vector<std::size_t>> parts;
  const std::vector<std::size_t> all = fitter.fitted_points();
  for (const std::size_t i : all) parts[part_of(fitter.spec(), fitter.points().points[i])].push_back(i);
  std::vector<LeftOut> left_out;
  if (parts.size() < 2) return left_out;
  for (const auto& [name, which] : parts) {
    std::vector<std::size_t> rest;
    for (const std::size_t i : all)
      if (part_of(fitter.spec(), fitter.points().points[i]) != name) rest.push_back(i);
    const Fitted fitted = best == nullptr ? fitter.fit(fitter.weighted(rest))
                                          : fitter.fit(fitter.weighted(rest), best, kLeftOutIterations);
    left_out.push_back({name, which, log_errors(fitter.points(), which, fitter.predict(fitted, which))});
  }
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
