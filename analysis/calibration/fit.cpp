#include "analysis/calibration/fit.hpp"

#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analysis/calibration/ensemble.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd {

namespace {

using Scales = ParameterSpec::Scales;

/// A parameter as the solver sees it: its logarithm, or its share of the upper bound where it may be 0.
double to_scale(const ParameterSpec& parameter, double value) {
  return parameter.low > 0 ? std::log(value) : value / parameter.high;
}
double from_scale(const ParameterSpec& parameter, double x) {
  return std::clamp(parameter.low > 0 ? std::exp(x) : x * parameter.high, parameter.low, parameter.high);
}

Patch patch_of(const ModelSpec& model, const std::vector<double>& values, const Patch& tables) {
  Patch patch = tables;
  for (std::size_t i = 0; i < model.parameters.size(); ++i)
    for (std::size_t p = 0; p < model.parameters[i].pointers.size(); ++p)
      patch.emplace_back(
          model.parameters[i].key(model.parameters[i].pointers[p]),
          values[i] * (model.parameters[i].factors.empty() ? 1 : model.parameters[i].factors[p]));
  return patch;
}

/// Half the robust square of r is 1/2 h(r)^2: as r^2 / 2 near 0, in proportion to |r| beyond `outlier`.
double robust_root(double r, double outlier) {
  const double share = r / outlier;
  // 2 (sqrt(1 + s^2) - 1), without the difference of nearly equal numbers
  const double square = 2 * share * share / (std::sqrt(1 + share * share) + 1);
  return std::copysign(outlier * std::sqrt(square), r);
}

constexpr double kStartTolerance = 1e-4;
constexpr int kStartIterations = 12;  // tell a good start from a bad one

class Residuals final : public ceres::CostFunction {
 public:
  Residuals(const Predictor& predictor, const Points& points, const ModelSpec& model,
            const WeightedPoints& what, const Patch& tables, const FitSettings& settings)
      : predictor_(predictor),
        points_(points),
        model_(model),
        what_(what),
        tables_(tables),
        settings_(settings) {
    mutable_parameter_block_sizes()->push_back(static_cast<int>(model.parameters.size()));
    set_num_residuals(static_cast<int>(what.which.size()));
  }

  bool Evaluate(double const* const* x, double* residuals, double** jacobians) const override {
    if (settings_.interrupted && settings_.interrupted()) throw Interrupted();
    const std::size_t count = model_.parameters.size();
    const bool slopes = jacobians != nullptr && jacobians[0] != nullptr;
    std::vector<double> at(x[0], x[0] + count), steps(count, 0.0);
    std::vector<Patch> patches{patch_at(at)};
    for (std::size_t j = 0; slopes && j < count; ++j) {
      std::vector<double> beside = at;
      const double top = to_scale(model_.parameters[j], model_.parameters[j].high);
      steps[j] = at[j] + kStep > top ? -kStep : kStep;
      beside[j] += steps[j];
      patches.push_back(patch_at(beside));
    }
    const std::vector<std::vector<double>> values = predictor_.predict(patches, what_.which);
    std::vector<double> here(what_.which.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      here[i] = residual(i, values[0][i]);
      if (!std::isfinite(here[i])) return false;
      residuals[i] = here[i];
    }
    for (std::size_t j = 0; slopes && j < count; ++j)
      for (std::size_t i = 0; i < here.size(); ++i) {
        const double there = residual(i, values[j + 1][i]);
        if (!std::isfinite(there)) return false;
        jacobians[0][i * count + j] = (there - here[i]) / steps[j];
      }
    return true;
  }

 private:
  static constexpr double kStep = 1e-4;  // of a logarithm: far above the rounding of a simulated time

  Patch patch_at(const std::vector<double>& x) const {
    std::vector<double> values(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) values[j] = from_scale(model_.parameters[j], x[j]);
    return patch_of(model_, values, tables_);
  }
  double residual(std::size_t i, double predicted) const {
    const double error = std::log(predicted / points_.points[what_.which[i]].measurement.value);
    return std::sqrt(what_.weights[i]) * robust_root(error, settings_.outlier);
  }

  const Predictor& predictor_;
  const Points& points_;
  const ModelSpec& model_;
  const WeightedPoints& what_;
  const Patch& tables_;
  const FitSettings& settings_;
};

/// Where the solver begins: in the middle of all bounds first, then anywhere inside them.
std::vector<double> inside(const ModelSpec& model, int start) {
  Stream stream({.seed = 1,
                 .purpose = Purpose::resampling,
                 .entity = 0xF17,
                 .step = static_cast<std::uint64_t>(start)});
  std::vector<double> x;
  for (const ParameterSpec& parameter : model.parameters) {
    const double low = to_scale(parameter, parameter.low), high = to_scale(parameter, parameter.high);
    x.push_back(low + (start == 0 ? 0.5 : stream.uniform()) * (high - low));
  }
  return x;
}

struct Solved {
  std::vector<double> x;
  double loss = std::numeric_limits<double>::infinity();
};

Solved solve(Residuals& residuals, const ModelSpec& model, std::vector<double> x, int iterations,
             double tolerance) {
  ceres::Problem::Options keep;
  keep.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(keep);
  problem.AddResidualBlock(&residuals, nullptr, x.data());
  for (std::size_t j = 0; j < x.size(); ++j) {
    const ParameterSpec& parameter = model.parameters[j];
    problem.SetParameterLowerBound(x.data(), static_cast<int>(j), to_scale(parameter, parameter.low));
    problem.SetParameterUpperBound(x.data(), static_cast<int>(j), to_scale(parameter, parameter.high));
  }
  ceres::Solver::Options options;
  options.logging_type = ceres::SILENT;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = iterations;
  options.function_tolerance = tolerance;
  options.num_threads = 1;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  if (!summary.IsSolutionUsable()) return {std::move(x), std::numeric_limits<double>::infinity()};
  return {std::move(x), summary.final_cost};
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

}  // namespace

namespace {

Patch joined_patch(Patch first, Patch second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
  return first;
}

}  // namespace

double scale_of(const ParameterSpec& parameter, double value) { return to_scale(parameter, value); }

void move_inside(const ParameterSpec& parameter, double& value, double step) {
  value = from_scale(parameter, to_scale(parameter, value) + step);
}

double step_inside(const ParameterSpec& parameter, double& value, double step) {
  if (to_scale(parameter, value) + step > to_scale(parameter, parameter.high)) step = -step;
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
  return joined_patch(member_patch(model, fitted.member), patch_of(model, values, tables));
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

Fitted fit_parameters(const Predictor& predictor, const Points& points, const ModelSpec& model,
                      const WeightedPoints& what, const Patch& tables, const FitSettings& settings) {
  Fitted fitted{{}, tables, 0, {}};
  if (model.parameters.empty()) return fitted;
  Residuals residuals(predictor, points, model, what, tables, settings);
  Solved best;
  if (settings.start != nullptr) {
    std::vector<double> x;
    for (std::size_t j = 0; j < model.parameters.size(); ++j)
      x.push_back(to_scale(model.parameters[j], settings.start->values[j]));
    best = solve(residuals, model, std::move(x), settings.iterations, settings.tolerance);
  } else {
    for (int start = 0; start < settings.starts; ++start) {
      Solved solved = solve(residuals, model, inside(model, start), kStartIterations, kStartTolerance);
      if (solved.loss < best.loss * (1 - 1e-9) || best.x.empty()) best = std::move(solved);
    }
    best = solve(residuals, model, std::move(best.x), settings.iterations, settings.tolerance);
  }
  if (!std::isfinite(best.loss))
    throw RunError(
        "Nothing can be fitted: the simulator predicts no value for some measurement, whatever the "
        "parameters inside their bounds.");
  fitted.loss = best.loss;
  for (std::size_t j = 0; j < best.x.size(); ++j) {
    const ParameterSpec& parameter = model.parameters[j];
    fitted.values.push_back(from_scale(parameter, best.x[j]));
    const double low = to_scale(parameter, parameter.low), high = to_scale(parameter, parameter.high);
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
