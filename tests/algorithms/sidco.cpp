// SIDCo against a model of its own; how near its thresholds come to k entries.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/observer.hpp"
#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test::algorithms_sidco {

using doctest::Approx;

namespace {

Vector over(const Vector& v, double threshold) {
  std::vector<double> kept;
  for (const double x : v)
    if (x > threshold) kept.push_back(x);
  return Eigen::Map<const Vector>(kept.data(), static_cast<Eigen::Index>(kept.size()));
}

/// The formulas of the method's header, on vectors.
double exponential(const Vector& x, double d) { return -x.mean() * std::log(d); }
double pareto(const Vector& x, double d) {
  const double mean = x.mean();
  const double var = (x.array() - mean).square().sum() / static_cast<double>(x.size() - 1);
  const double c = (mean * mean / var - 1) / 2, b = mean * (mean * mean / var + 1) / 2;
  return b * (1 - std::pow(d, c)) / c;
}
double gamma(const Vector& x, double d) {
  const double s = std::log(x.mean()) - (x.array() + 2.220446049250313e-16).log().mean();
  const double alpha = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  return -x.mean() / alpha * (std::log(d) + std::lgamma(alpha));
}

double threshold(const std::string& law, const Vector& a, double d, int stages) {
  const auto first = law == "exponential" ? exponential : law == "gamma" ? gamma : pareto;
  const auto later = law == "exponential" ? exponential : pareto;
  Vector x = a.cwiseAbs();
  if (stages == 1 || d >= 0.25) return first(x, d);
  double eta = first(x, 0.25);
  for (int stage = 2; stage <= stages; ++stage) {
    x = over(x, eta);
    if (x.size() < 2 || x.maxCoeff() == x.minCoeff()) break;
    eta = x.minCoeff() + later((x.array() - x.minCoeff()).matrix(), std::pow(d / 0.25, 1.0 / (stages - 1)));
  }
  return eta;
}

}  // namespace

TEST_CASE("sidco is its paper's algorithm: thresholds from fitted laws, stages that adapt, error feedback") {
  for (const std::string law : {"exponential", "gamma", "generalized_pareto"})
    for (const int stages : {1, 2}) {
      CAPTURE(law);
      CAPTURE(stages);
      const Job job = learning_job(4, "sidco", {{"k", 4}, {"distribution", law}, {"stages", stages}});
      Workers workers(job);
      std::vector<Vector> residual(4, Vector::Zero(36));
      std::vector<int> now(4, stages);
      std::vector<double> sum(4, 0.0);
      for (std::uint64_t step = 1; step <= kSteps; ++step) {
        Vector mean = Vector::Zero(36);
        for (std::size_t i = 0; i < 4; ++i) {
          residual[i] += workers.gradient(i, step);
          const double eta = std::max(0.0, threshold(law, residual[i], 4.0 / 36, now[i]));
          for (Eigen::Index e = 0; e < 36; ++e) {
            if (std::abs(residual[i][e]) < eta) continue;
            mean[e] += residual[i][e] / 4;
            residual[i][e] = 0;
            sum[i] += 0.25;
          }
          if (step % 5 != 0) continue;
          if (sum[i] / 5 > 1.2) --now[i];
          if (sum[i] / 5 < 0.8) ++now[i];
          now[i] = std::clamp(now[i], 1, 4);  // log2 9 is 3.2
          sum[i] = 0;
        }
        for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * mean;
      }
      const FakeResult result = run_fake(job);
      CHECK(result.models[0] == result.models[3]);
      workers.check_against(result);
    }
}

TEST_CASE(
    "sidco: a pass for the fit and one for the choice, and one more for each further stage; sends what topk_sgd sends") {
  const auto run = [](const std::string& method, Json parameters) {
    Job job = scripted_job(star(4, 1e-5, 1e9), nullptr, 1e6);
    job.cluster.device.memory_Bps = 1e11;
    parameters["k"] = 1000;
    use_algorithm(job, method, parameters);
    job.stop.steps = 2;
    const RunRecord record = simulate_job(job);
    return std::vector<double>{sent_bytes(record.workers[1], Traffic::gradient),
                               spent_s(record.workers[1], Activity::selection)};
  };
  const std::vector<double> one = run("sidco", Json::object());
  CHECK(one[0] == run("topk_sgd", Json::object())[0]);
  CHECK(one[0] == Approx(2 * 3 * 8000).epsilon(1e-12));
  CHECK(one[1] == Approx(2 * (4e6 + 4e6 + 8000) / 1e11).epsilon(1e-12));
  // Of 4 MB a quarter is left after the first stage, and sqrt(0.001 / 0.25) = 0.0632 of that after the
  // second.
  const double second = 1e6, third = 1e6 * std::sqrt(0.001 / 0.25);
  CHECK(run("sidco", {{"stages", 3}})[1] ==
        Approx(one[1] + 2 * (4e6 + 2 * second + second + 2 * third) / 1e11).epsilon(1e-12));
}

}  // namespace simsgd::test::algorithms_sidco
