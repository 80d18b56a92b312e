#include "analysis/calibration/fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <boost/random/uniform_01.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analysis/calibration/ensemble.hpp"
#include "analysis/calibration/solver.hpp"
#include "scenarios/language/calibration_draws.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

namespace simsgd {

namespace {

using Scales = ParameterSpec::Scales;

constexpr double kStartTolerance = 1e-4;
constexpr int kStartIterations = 12;  // tell a good start from a bad one

/// Where the solver begins: in the middle of all bounds first, then anywhere inside them.
std::vector<double> inside(const ModelSpec& model, int start) {
  Stream stream({.seed = 1,
                 .purpose = Purpose::resampling,
                 .entity = 0xF17,
                 .step = static_cast<std::uint64_t>(start)});
  std::vector<double> x;
  for (const ParameterSpec& parameter : model.parameters) {
    const double low = scale_of(parameter, parameter.low), high = scale_of(parameter, parameter.high);
    x.push_back(low + (start == 0 ? 0.5 : stream.uniform()) * (high - low));
  }
  return x;
}

/// Where `start` is, or the best of several places.
Solved solve_from_start(Solver& solver, const ModelSpec& model, const FitSettings& settings) {
  if (settings.start != nullptr) {
    std::vector<double> x;
    for (std::size_t j = 0; j < model.parameters.size(); ++j)
      x.push_back(scale_of(model.parameters[j], settings.start->values[j]));
    return solver.solve(std::move(x), settings.iterations, settings.tolerance);
  }
  if (settings.starts == 1) return solver.solve(inside(model, 0), settings.iterations, settings.tolerance);
  std::vector<Solved> from(static_cast<std::size_t>(settings.starts));
  solver.predictor().each(from.size(), [&](std::size_t start) {
    from[start] =
        Solver(solver).solve(inside(model, static_cast<int>(start)), kStartIterations, kStartTolerance);
  });
  Solved best;
  for (Solved& each : from)
    if (each.loss < best.loss * (1 - 1e-9) || best.x.empty()) best = std::move(each);
  return solver.solve(std::move(best.x), settings.iterations, settings.tolerance);
}

bool scales_with_time(const std::string& key) {
  return key == "latency" || key == "launch" || key == "step_latency" || key == "payload" || key == "time";
}

/// Numbers of a table that go with time, and rates, scaled.
void scale_table(Json& node, double factor) {
  if (node.is_array())
    for (Json& each : node) scale_table(each, factor);
  if (!node.is_object()) return;
  for (auto& member : node.items()) {
    if (member.value().is_structured())
      scale_table(member.value(), factor);
    else if (member.value().is_number() && scales_with_time(member.key()))
      member.value() = member.value().get<double>() * factor;
    else if (member.value().is_number() && member.key() == "bandwidth")
      member.value() = member.value().get<double>() / factor;
  }
}

/// " (of FILE: NAME from LOW to HIGH, ...)".
std::string bounds_shown(const ModelSpec& model) {
  std::vector<std::string> all;
  for (const ParameterSpec& each : model.parameters)
    all.push_back(fmt::format("{} from {:g} to {:g}", each.name, each.low, each.high));
  return fmt::format(" (of {}: {})", model.file, fmt::join(all, ", "));
}

Patch joined_patch(Patch first, Patch second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
  return first;
}

/// Where a fit of runs begins, on the parameters' scales: the best of `settings.starts` points of Sobol's
/// sequence inside the bounds, the first of which is their middle. Each costs a simulation of every
/// measurement, so they are looked at, not descended from. Sobol, USSR Comput. Math. Math. Phys. 7(4), 1967,
/// doi:10.1016/0041-5553(67)90144-9: few points of his sequence leave no large part of the bounds without
/// one.
std::vector<double> best_of_starts(const Predictor& predictor, const Points& points, const ModelSpec& model,
                                   const WeightedPoints& what, const Patch& tables,
                                   const FitSettings& settings) {
  boost::random::sobol sequence(model.parameters.size());
  std::vector<std::vector<double>> places;
  std::vector<Patch> patches;
  for (int start = 0; start < settings.starts; ++start) {
    std::vector<double> x, values;
    for (const ParameterSpec& parameter : model.parameters) {
      const double low = scale_of(parameter, parameter.low), high = scale_of(parameter, parameter.high);
      x.push_back(low + boost::random::uniform_01<double>()(sequence) * (high - low));
      values.push_back(value_at(parameter, x.back()));
    }
    patches.push_back(patch_of(model, values, tables));
    places.push_back(std::move(x));
  }
  if (places.size() == 1) return places.front();
  const std::vector<std::vector<double>> predicted = predictor.predict(patches, what.which);
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double square = mean_square(points, what, predicted[i], settings.outlier);
    if (!(square < least)) continue;  // nor where it is not a number
    least = square;
    best = i;
  }
  return places[best];
}

}  // namespace

Patch patch_of(const ModelSpec& model, const std::vector<double>& values, const Patch& tables) {
  Patch patch = tables;
  for (std::size_t i = 0; i < model.parameters.size(); ++i)
    for (std::size_t p = 0; p < model.parameters[i].pointers.size(); ++p)
      patch.emplace_back(
          model.parameters[i].key(model.parameters[i].pointers[p]),
          values[i] * (model.parameters[i].factors.empty() ? 1 : model.parameters[i].factors[p]));
  return patch;
}

double scale_of(const ParameterSpec& parameter, double value) {
  return parameter.low > 0 ? std::log(value) : value / parameter.high;
}

double value_at(const ParameterSpec& parameter, double x) {
  return std::clamp(parameter.low > 0 ? std::exp(x) : x * parameter.high, parameter.low, parameter.high);
}

void move_inside(const ParameterSpec& parameter, double& value, double step) {
  value = value_at(parameter, scale_of(parameter, value) + step);
}

double step_inside(const ParameterSpec& parameter, double& value, double step) {
  if (scale_of(parameter, value) + step > scale_of(parameter, parameter.high)) step = -step;
  move_inside(parameter, value, step);
  return step;
}

Patch patch_of(const ModelSpec& model, const Fitted& fitted) {
  return joined_patch(member_patch(model, fitted.member), patch_of(model, fitted.values, fitted.tables));
}

Patch scaled_patch(const ModelSpec& model, const Fitted& fitted, double factor) {
  std::vector<double> values = fitted.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (model.parameters[i].scales == Scales::with_time) values[i] *= factor;
    if (model.parameters[i].scales == Scales::against_time) values[i] /= factor;
  }
  Patch tables = fitted.tables;
  for (auto& [pointer, value] : tables) {
    if (value.is_number() && pointer.ends_with("/bandwidth"))
      value = value.get<double>() / factor;
    else
      scale_table(value, factor);
  }
  Patch patch = joined_patch(member_patch(model, fitted.member), patch_of(model, values, tables));
  for (auto& [pointer, value] : patch)  // a share stays below 1
    if (value.is_number_float()) value = within_setting(pointer, value.get<double>());
  return patch;
}

double mean_square(const Points& points, const WeightedPoints& what, const std::vector<double>& predicted,
                   double outlier) {
  double sum = 0;
  for (std::size_t i = 0; i < what.which.size(); ++i) {
    const double root =
        robust_root(std::log(predicted[i] / points.points[what.which[i]].measurement.value), outlier);
    sum += what.weights[i] * root * root;
  }
  return sum;
}

WeightedPoints weigh(const Points& points, const std::vector<std::size_t>& which, bool octaves_equal) {
  WeightedPoints what{which, {}};
  std::map<std::tuple<std::string, int, int, double>, double> counts;
  const auto cell = [&](std::size_t i) {
    const Measurement& each = points.points[i].measurement;
    const double octave = each.bytes > 0 ? std::floor(std::log2(each.bytes)) : -1;
    return std::tuple(each.operation, each.workers, each.nodes, octave);
  };
  if (octaves_equal)
    for (const std::size_t i : which) ++counts[cell(i)];
  for (const std::size_t i : which)
    what.weights.push_back(octaves_equal ? 1 / (counts[cell(i)] * static_cast<double>(counts.size()))
                                         : 1 / static_cast<double>(which.size()));
  return what;
}

double usual_weight(const WeightedPoints& what) { return 1 / static_cast<double>(what.which.size()); }

std::size_t free_parameters(const ModelSpec& model) {
  return static_cast<std::size_t>(std::count_if(model.parameters.begin(), model.parameters.end(),
                                                [](const ParameterSpec& each) { return !each.usual; }));
}

Fitted fit_parameters(const Predictor& predictor, const Points& points, const ModelSpec& model,
                      const WeightedPoints& what, const Patch& tables, const FitSettings& settings) {
  Fitted fitted{{}, tables, 0, {}};
  if (model.parameters.empty()) return fitted;
  Solver solver(predictor, points, model, what, tables, settings);
  const bool looks_first = settings.rounds > 0 && settings.start == nullptr;
  const Solved best = looks_first
                          ? solver.solve(best_of_starts(predictor, points, model, what, tables, settings),
                                         settings.iterations, settings.tolerance)
                          : solve_from_start(solver, model, settings);
  if (!std::isfinite(best.loss))
    throw RunError(
        "Nothing can be fitted: the simulator predicts no value for some measurement, whatever the parameters inside their bounds" +
        bounds_shown(model) + "." +
        (predictor.memo().failure.empty() ? "" : " A run failed: " + predictor.memo().failure));
  fitted.loss = best.loss;
  fitted.slopes = best.slopes;
  for (std::size_t j = 0; j < best.x.size(); ++j) {
    const ParameterSpec& parameter = model.parameters[j];
    fitted.values.push_back(value_at(parameter, best.x[j]));
    const double low = scale_of(parameter, parameter.low), high = scale_of(parameter, parameter.high);
    const double margin = 1e-3 * (high - low);
    fitted.at_bound.push_back(best.x[j] <= low + margin || best.x[j] >= high - margin);
  }
  return fitted;
}

std::vector<double> log_errors(const Points& points, const std::vector<std::size_t>& which,
                               const std::vector<double>& predicted) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < which.size(); ++i)
    errors.push_back(std::log(predicted[i] / points.points[which[i]].measurement.value));
  return errors;
}

}  // namespace simsgd
