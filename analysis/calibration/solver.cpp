#include "analysis/calibration/solver.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/calibration/least_squares.hpp"
#include "sim/base/this_program.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd {

double robust_root(double r, double outlier) {
  const double share = r / outlier;
  // 2 (sqrt(1 + s^2) - 1), without the difference of nearly equal numbers
  const double square = 2 * share * share / (std::sqrt(1 + share * share) + 1);
  return std::copysign(outlier * std::sqrt(square), r);
}

double robust_slope(double r, double outlier) {
  const double root = robust_root(r, outlier);
  const double share = r / outlier;
  return root == 0 ? 1 : r / (std::sqrt(1 + share * share) * root);
}

double solve_least_squares(LeastSquares& problem, std::vector<double>& x) {
  static const auto solve = reinterpret_cast<double (*)(LeastSquares&, double*)>(
      function_of_own_library("libsimsgd_ceres.so", "simsgd_solve_least_squares"));
  return solve(problem, x.data());
}

/// A Solver as what finds the least sees it.
class Residuals final : public LeastSquares {
 public:
  explicit Residuals(Solver& solver) : solver_(solver) {
    residuals = static_cast<int>(solver.fit_.what.which.size() + solver.usual_.size());
    for (const ParameterSpec& parameter : solver.fit_.model.parameters) {
      low.push_back(scale_of(parameter, parameter.low));
      high.push_back(scale_of(parameter, parameter.high));
    }
  }

  bool evaluate(const double* x, double* out, double* slopes) override {
    const std::size_t count = low.size();
    const bool with_slopes = slopes != nullptr;
    Eigen::VectorXd logs;
    if (!solver_.evaluate({x, x + count}, logs, with_slopes)) return false;
    for (Eigen::Index i = 0; i < logs.size(); ++i) {
      const double error = logs[i] - solver_.measured_[i], outlier = solver_.fit_.settings.outlier;
      const double root_weight = std::sqrt(solver_.fit_.what.weights[static_cast<std::size_t>(i)]);
      out[i] = root_weight * robust_root(error, outlier);
      if (!with_slopes) continue;
      const double slope = root_weight * robust_slope(error, outlier);
      for (std::size_t j = 0; j < count; ++j)
        slopes[static_cast<std::size_t>(i) * count + j] =
            slope * solver_.slopes_(i, static_cast<Eigen::Index>(j));
    }
    const double weight = usual_weight(solver_.fit_.what);
    for (std::size_t k = 0; k < solver_.usual_.size(); ++k) {
      const auto [j, usual] = solver_.usual_[k];
      const double error = x[j] - usual, outlier = solver_.fit_.settings.outlier;
      const std::size_t row = solver_.fit_.what.which.size() + k;
      out[row] = std::sqrt(weight) * robust_root(error, outlier);
      if (!with_slopes) continue;
      std::fill_n(slopes + row * count, count, 0.0);
      slopes[row * count + j] = std::sqrt(weight) * robust_slope(error, outlier);
    }
    return true;
  }

 private:
  Solver& solver_;
};

namespace {

// Steps of a logarithm: far above the rounding of a time. Of runs larger, as choices that they make jump.
constexpr double kStep = 1e-4, kStepOfRuns = 1e-3;
constexpr double kWorthARound = 1e-3;  // of the loss
constexpr int kMostFailures = 6;       // steps in vain, each much shorter, before slopes are taken anew
constexpr double kRadiusOfRuns = 10;   // a step in vain costs as much as a good one: none that is daring

}  // namespace

Solver::Solver(const FitProblem& problem)
    : fit_(problem), measured_(static_cast<Eigen::Index>(problem.what.which.size())) {
  const Points& points = problem.points;
  const ModelSpec& model = problem.model;
  const WeightedPoints& what = problem.what;
  const FitSettings& settings = problem.settings;
  for (std::size_t i = 0; i < what.which.size(); ++i)
    measured_[static_cast<Eigen::Index>(i)] = std::log(points.points[what.which[i]].measurement.value);
  for (std::size_t j = 0; j < model.parameters.size(); ++j)
    if (const std::optional<double>& usual = model.parameters[j].usual)
      usual_.emplace_back(j, scale_of(model.parameters[j], *usual));
  goes_with_.resize(measured_.size(), static_cast<Eigen::Index>(model.parameters.size()));
  for (std::size_t i = 0; i < what.which.size(); ++i) {
    const std::vector<std::string>& left_alone =
        points.settings[points.points[what.which[i]].setting].left_alone;
    for (std::size_t j = 0; j < model.parameters.size(); ++j) {
      const ParameterSpec& parameter = model.parameters[j];
      const bool alone =
          parameter.for_some &&
          std::ranges::find(left_alone, parameter.key(parameter.pointers.front())) != left_alone.end();
      goes_with_(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = alone ? 0 : 1;
    }
  }
  if (settings.rounds == 0 || settings.start == nullptr || settings.start->slopes.empty()) return;
  slopes_.resize(measured_.size(), static_cast<Eigen::Index>(model.parameters.size()));
  for (std::size_t i = 0; i < what.which.size(); ++i)
    for (std::size_t j = 0; j < model.parameters.size(); ++j)
      slopes_(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          settings.start->slopes.at(what.which[i])[j];
}

Patch Solver::patch_at(const std::vector<double>& x) const {
  std::vector<double> values(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) values[j] = value_at(fit_.model.parameters[j], x[j]);
  return patch_of(fit_.model, values, fit_.tables);
}

Eigen::VectorXd Solver::logs_of(const std::vector<double>& predicted) const {
  Eigen::VectorXd logs(static_cast<Eigen::Index>(predicted.size()));
  for (std::size_t i = 0; i < predicted.size(); ++i)
    logs[static_cast<Eigen::Index>(i)] = std::log(predicted[i]);
  return logs;
}

/// Ceres asks for a step's residuals first, and for its slopes where it takes the step.
const Eigen::VectorXd& Solver::logs_at(const std::vector<double>& x) {
  if (seen_x_ == x) return seen_logs_;
  seen_logs_ = logs_of(fit_.predictor.predict(patch_at(x), fit_.what.which));
  seen_x_ = x;
  return seen_logs_;
}

bool Solver::simulate_slopes(const std::vector<double>& x, Eigen::VectorXd& logs) {
  std::vector<Patch> patches;
  std::vector<double> steps;
  for (std::size_t j = 0; j < x.size(); ++j) {
    std::vector<double> beside = x;
    const double top = scale_of(fit_.model.parameters[j], fit_.model.parameters[j].high);
    const double step = fit_.settings.rounds > 0 ? kStepOfRuns : kStep;
    steps.push_back(x[j] + step > top ? -step : step);
    beside[j] += steps[j];
    patches.push_back(patch_at(beside));
  }
  const std::vector<std::vector<double>> values = fit_.predictor.predict(patches, fit_.what.which);
  logs = logs_at(x);
  slopes_.resize(logs.size(), static_cast<Eigen::Index>(x.size()));
  for (std::size_t j = 0; j < x.size(); ++j)
    slopes_.col(static_cast<Eigen::Index>(j)) = (logs_of(values[j]) - logs) / steps[j];
  return logs.allFinite() && slopes_.allFinite();
}

/// So that slopes agree with the last step, and change least, of each point by the parameters that it goes
/// with.
void Solver::carry_slopes(const std::vector<double>& x, const Eigen::VectorXd& logs) {
  if (last_x_.empty()) return;
  Eigen::VectorXd step(slopes_.cols());
  for (std::size_t j = 0; j < x.size(); ++j) step[static_cast<Eigen::Index>(j)] = x[j] - last_x_[j];
  const Eigen::VectorXd missed = logs - last_logs_ - slopes_ * step;
  for (Eigen::Index i = 0; i < slopes_.rows(); ++i) {
    const Eigen::RowVectorXd own = step.transpose().cwiseProduct(goes_with_.row(i));
    const double square = own.squaredNorm();
    if (square > 0) slopes_.row(i) += missed[i] / square * own;
  }
}

bool Solver::evaluate(const std::vector<double>& x, Eigen::VectorXd& logs, bool with_slopes) {
  if (fit_.settings.interrupted && fit_.settings.interrupted()) throw Interrupted();
  if (!with_slopes) {
    logs = logs_at(x);
    return logs.allFinite();
  }
  if (fit_.settings.rounds == 0 || slopes_.size() == 0) {
    if (!simulate_slopes(x, logs)) return false;
  } else {
    logs = logs_at(x);
    if (!logs.allFinite()) return false;
    carry_slopes(x, logs);
  }
  last_x_ = x;
  last_logs_ = logs;
  return true;
}

Solved Solver::one_round(std::vector<double> x, int iterations, double tolerance) {
  // Ceres would say of it in its own words, whatever its logging_type.
  if (!logs_at(x).allFinite()) return {std::move(x), std::numeric_limits<double>::infinity(), {}};
  Residuals residuals(*this);
  residuals.iterations = iterations;
  residuals.tolerance = tolerance;
  if (fit_.settings.rounds > 0) {
    residuals.radius = kRadiusOfRuns;
    residuals.most_failures = kMostFailures;
  }
  const double loss = solve_least_squares(residuals, x);
  return {std::move(x), loss, {}};
}

Solved Solver::solve(std::vector<double> x, int iterations, double tolerance) {
  Solved best = one_round(std::move(x), iterations, tolerance);
  for (int round = 1; round < fit_.settings.rounds && std::isfinite(best.loss); ++round) {
    slopes_.resize(0, 0);
    Solved better = one_round(best.x, iterations, tolerance);
    const bool worth = better.loss < best.loss * (1 - kWorthARound);
    if (better.loss < best.loss) best = std::move(better);
    if (!worth) break;
  }
  for (Eigen::Index i = 0; fit_.settings.rounds > 0 && i < slopes_.rows(); ++i) {
    const Eigen::VectorXd row = slopes_.row(i);
    best.slopes[fit_.what.which[static_cast<std::size_t>(i)]].assign(row.begin(), row.end());
  }
  return best;
}

}  // namespace simsgd
