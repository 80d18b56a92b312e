#include "analysis/calibration/fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <boost/random/uniform_01.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analysis/calibration/ensemble.hpp"
#include "analysis/calibration/solver.hpp"
#include "scenarios/language/calibration_draws.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

using Scales = ParameterSpec::Scales;

constexpr double kStartTolerance = 1e-4;
constexpr int kStartIterations = 12;  // tell a good start from a bad one
constexpr int kLooks = 32;            // places that are looked at, for each from which a fit goes down
constexpr int kHops = 4;              // other values of each parameter from which it goes down again
constexpr double kWorthAHop = 1e-6;   // of the loss: less is rounding

/// Where fits begin: a loss whose operations take the faster of several ways has many valleys.
class Starts {
 public:
  explicit Starts(const FitProblem& problem) : fit_(problem) {}

  /// Of `looks` points of Sobol's sequence inside the bounds, the first of which is their middle, the `count`
  /// with the least loss, on the parameters' scales, best first; infinite losses are among them if need be.
  /// Sobol, USSR Comput. Math. Math. Phys. 7(4), 1967, doi:10.1016/0041-5553(67)90144-9: few points of his
  /// sequence leave no large part of the bounds without one.
  std::vector<std::vector<double>> best(int looks, int count) const {
    boost::random::sobol sequence(fit_.model.parameters.size());
    std::vector<std::vector<double>> places(static_cast<std::size_t>(looks));
    std::vector<Patch> patches;
    for (std::vector<double>& x : places) {
      std::vector<double> values;
      for (const ParameterSpec& parameter : fit_.model.parameters) {
        x.push_back(at_share(parameter, boost::random::uniform_01<double>()(sequence)));
        values.push_back(value_at(parameter, x.back()));
      }
      patches.push_back(patch_of(fit_.model, values, fit_.tables));
    }
    if (looks == 1) return places;
    const std::vector<std::vector<double>> predicted = fit_.predictor.predict(patches, fit_.what.which);
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double square = mean_square(fit_.points, fit_.what, predicted[i], fit_.settings.outlier);
      order.emplace_back(std::isfinite(square) ? square : std::numeric_limits<double>::infinity(), i);
    }
    std::ranges::sort(order);
    order.resize(static_cast<std::size_t>(count));
    std::vector<std::vector<double>> chosen;
    for (const auto& [square, i] : order) chosen.push_back(std::move(places[i]));
    return chosen;
  }

  /// Down from the best of many places; then from there with each parameter elsewhere, one at a time.
  Solved solve(Solver& solver) const {
    const int starts = fit_.settings.starts;
    if (starts == 1) return down(solver, best(1, 1).front());
    const Solved first = down(solver, best_after_steps(solver, best(kLooks * starts, starts)));
    if (!std::isfinite(first.loss)) return first;
    std::vector<std::vector<double>> beside;
    for (std::size_t j = 0; j < first.x.size(); ++j)
      for (int hop = 0; hop < kHops; ++hop) {
        beside.push_back(first.x);
        beside.back()[j] = at_share(fit_.model.parameters[j], (hop + 0.5) / kHops);
      }
    Solved second = down(solver, best_after_steps(solver, std::move(beside)));
    return second.loss < first.loss * (1 - kWorthAHop) ? second : first;
  }

 private:
  static double at_share(const ParameterSpec& parameter, double share) {
    const double low = scale_of(parameter, parameter.low), high = scale_of(parameter, parameter.high);
    return low + share * (high - low);
  }
  Solved down(Solver& solver, std::vector<double> x) const {
    return solver.solve(std::move(x), fit_.settings.iterations, fit_.settings.tolerance);
  }
  std::vector<double> best_after_steps(const Solver& solver, std::vector<std::vector<double>> places) const {
    std::vector<Solved> from(places.size());
    fit_.predictor.each(from.size(), [&](std::size_t i) {
      from[i] = Solver(solver).solve(std::move(places[i]), kStartIterations, kStartTolerance);
    });
    return std::ranges::min_element(from, [](const Solved& a, const Solved& b) { return a.loss < b.loss; })
        ->x;
  }

  FitProblem fit_;
};

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
  return static_cast<std::size_t>(
      std::ranges::count_if(model.parameters, [](const ParameterSpec& each) { return !each.usual; }));
}

Fitted fit_parameters(const Predictor& predictor, const Points& points, const ModelSpec& model,
                      const WeightedPoints& what, const Patch& tables, const FitSettings& settings) {
  Fitted fitted{{}, tables, 0, {}};
  if (model.parameters.empty()) return fitted;
  const FitProblem problem{predictor, points, model, what, tables, settings};
  Solver solver(problem);
  const Starts starts(problem);
  const auto from = [&](std::vector<double> x) {
    return solver.solve(std::move(x), settings.iterations, settings.tolerance);
  };
  Solved best;
  if (settings.start != nullptr) {
    std::vector<double> x;
    for (std::size_t j = 0; j < model.parameters.size(); ++j)
      x.push_back(scale_of(model.parameters[j], settings.start->values[j]));
    best = from(std::move(x));
  } else if (settings.rounds > 0) {  // each place costs a simulation of every measurement
    best = from(starts.best(settings.starts, 1).front());
  } else {
    best = starts.solve(solver);
  }
  if (!std::isfinite(best.loss))
    throw RunError(
        "The fit failed: for some measurement the simulator predicts no value with any parameters within their bounds" +
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
