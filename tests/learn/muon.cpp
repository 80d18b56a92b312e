// Muon against a model of its own, matrix by matrix in double; what it leaves to AdamW; what it costs.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "sim/learn/model.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"
#include "sim/learn/optimizers/registry.hpp"

#include "tests/support/numbers.hpp"

namespace simsgd::test::learn_muon {

namespace {

std::shared_ptr<const UpdateRule> made(const std::string& name, const Json& options = Json::object()) {
  return find_plugin(optimizer_plugins(), name, "optimizer").make(options);
}

Tensor vector_of(Executor& executor, const std::vector<float>& values) {
  return executor.constant({values, {}, {}});
}

/// Numbers that are all different, of about 1.
std::vector<float> numbers(int step, std::size_t size) {
  std::vector<float> all;
  for (std::size_t i = 0; i < size; ++i)
    all.push_back(static_cast<float>(std::cos(1.7 * step + static_cast<double>(i * i))));
  return all;
}

/// An embedding of 6, a matrix of 4 x 3 with 4 biases, one of 2 x 5, and the last layer, of 3 x 2.
std::vector<LayerInfo> layers() {
  std::vector<LayerInfo> all(4);
  all[0].offset = 0, all[0].rows = 2, all[0].columns = 3;
  all[1].offset = 6, all[1].rows = 4, all[1].columns = 3, all[1].bias = true;
  all[2].offset = 22, all[2].rows = 2, all[2].columns = 5;
  all[3].offset = 32, all[3].rows = 3, all[3].columns = 2;
  all[1].kind = all[2].kind = all[3].kind = LayerInfo::Kind::linear;
  return all;
}
constexpr std::size_t kSize = 38;

/// U p(S) V^T, where d = U S V^T of Frobenius norm 1 and p is the quintic, five times.
Eigen::MatrixXd orthogonal(const Eigen::MatrixXd& d) {
  Eigen::JacobiSVD<Eigen::MatrixXd> svd(d, Eigen::ComputeThinU | Eigen::ComputeThinV);
  Eigen::VectorXd s = svd.singularValues() / (d.norm() + 1e-7);
  for (int i = 0; i < 5; ++i)
    for (double& x : s) x = 3.4445 * x - 4.7750 * std::pow(x, 3) + 2.0315 * std::pow(x, 5);
  return svd.matrixU() * s.asDiagonal() * svd.matrixV().transpose();
}

}  // namespace

TEST_CASE("muon: matrices move along their momentum with its singular values made equal, all else by AdamW") {
  Executor executor(1);
  const auto rule = rule_of_model(made("muon", {{"weight_decay", 0.2}}), layers());
  const auto adamw = made("adamw", {{"beta2", 0.95}, {"weight_decay", 0.2}});
  ReplicaState state{vector_of(executor, numbers(0, kSize)), {}}, other = state;
  struct Matrix {
    std::size_t offset;
    Eigen::MatrixXd w, u;
  };
  std::vector<Matrix> matrices;
  for (const std::size_t l : {1U, 2U}) {
    const LayerInfo info = layers()[l];
    const std::vector<float> start = numbers(0, kSize);
    const Eigen::MatrixXd w =
        Eigen::Map<const Eigen::MatrixXf>(start.data() + info.offset, info.rows, info.columns).cast<double>();
    matrices.push_back({info.offset, w, 0 * w});
  }
  for (int step = 1; step <= 50; ++step) {
    CAPTURE(step);
    const double rate = 0.05 / std::sqrt(step);
    const std::vector<float> gradient = numbers(step, kSize);
    state = rule->step(executor, rate, state, vector_of(executor, gradient));
    other = adamw->step(executor, rate, other, vector_of(executor, gradient));
    std::vector<float> expected = executor.get(other.parameters).values;
    for (Matrix& each : matrices) {
      const Eigen::MatrixXd g =
          Eigen::Map<const Eigen::MatrixXf>(gradient.data() + each.offset, each.w.rows(), each.w.cols())
              .cast<double>();
      each.u = 0.95 * each.u + g;
      const auto longer = static_cast<double>(std::max(each.w.rows(), each.w.cols()));
      each.w = (1 - rate * 0.2) * each.w - rate * 0.2 * std::sqrt(longer) * orthogonal(g + 0.95 * each.u);
      Eigen::Map<Eigen::MatrixXf>(expected.data() + each.offset, each.w.rows(), each.w.cols()) =
          each.w.cast<float>();
    }
    const std::vector<float>& seen = executor.get(state.parameters).values;
    CHECK(worst_difference(seen, expected) < 1e-5);
  }
}

TEST_CASE("muon: a step's singular values are about equal, whatever the gradient's are") {
  Executor executor(1);
  std::vector<LayerInfo> one(2);
  one[0].rows = 3, one[0].columns = 3, one[0].kind = LayerInfo::Kind::linear;
  one[1].offset = 9, one[1].rows = 1, one[1].columns = 1, one[1].kind = LayerInfo::Kind::linear;
  const auto rule = rule_of_model(made("muon", {{"weight_decay", 0}}), one);
  const std::vector<float> gradient = {5, 0, 0, 0, 1, 0, 0, 0, 0.2F, 1};  // 5, 1, 0.2
  const ReplicaState next = rule->step(executor, 1, {vector_of(executor, std::vector<float>(10, 0.0F)), {}},
                                       vector_of(executor, gradient));
  const std::vector<float>& w = executor.get(next.parameters).values;
  for (const std::size_t i : {0U, 4U, 8U}) {
    CHECK(-w[i] / (0.2 * std::numbers::sqrt3) > 0.65);
    CHECK(-w[i] / (0.2 * std::numbers::sqrt3) < 1.25);
  }
}

TEST_CASE("muon: three products for each of five iterations, on the shorter side") {
  const auto rule = made("muon");
  const auto* of_matrices = dynamic_cast<const MatrixRule*>(rule.get());
  REQUIRE(of_matrices != nullptr);
  double flop = 0;
  for (const MatrixProduct& each : of_matrices->products(100, 10)) flop += 2 * each.m * each.n * each.k;
  CHECK(flop == 5 * 2 * (10 * 10 * 100 + 10 * 10 * 10 + 10 * 100 * 10));
  CHECK(rule->state_names().size() == 2);
  CHECK(dynamic_cast<const MatrixRule*>(made("adamw").get()) == nullptr);
}

}  // namespace simsgd::test::learn_muon
