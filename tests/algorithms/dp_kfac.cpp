// DP-KFAC against a model of its own; what it is among one; what it sends.
#include <doctest/doctest.h>

#include <Eigen/LU>
#include <nlohmann/json.hpp>

#include "tests/algorithms/kfac_support.hpp"
#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test::algorithms_dp_kfac {

using doctest::Approx;

namespace {

using Dense = Matrix<double>;

/// The factors of a worker's mini-batch at `x`.
std::vector<float> factors_at(const Job& job, const FactorLayout& layout, const Vector& x, int worker,
                              std::uint64_t step) {
  const Eigen::VectorXf at = x.cast<float>();
  std::vector<float> gradient(static_cast<std::size_t>(at.size())), factors;
  LayerTap<float> tap;
  job.learner->gradient({at.data(), gradient.size()}, job.learner->samples(worker, step), gradient, &tap);
  compute_factors<float>(layout, tap, factors);
  return factors;
}

Dense part(const std::vector<float>& factors, std::size_t offset, std::int64_t dim) {
  return unpack_symmetric<float>({factors.data() + offset, triangle(static_cast<std::size_t>(dim))}, dim)
      .cast<double>();
}

/// Four steps' bytes of one worker.
std::vector<double> bytes_of(const std::string& method) {
  Job job = kfac_workload(4);
  use_algorithm(job, method);
  use_rings(job);
  job.stop.steps = 4;
  const RunRecord record = simulate_job(job);
  std::vector<double> sums(3, 0.0);
  for (const WorkerRecord& worker : record.workers) {
    sums[0] += sent_bytes(worker, Traffic::gradient);
    sums[1] += sent_bytes(worker, Traffic::factor) + sent_bytes(worker, Traffic::inverse);
    sums[2] += spent_s(worker, Activity::factor);
  }
  return sums;
}

}  // namespace

TEST_CASE(
    "dp_kfac is its paper's algorithm: one worker's own factors precondition the mean gradient of a layer") {
  // Factors, their inverses and products are computed in float32, here in double. With a damping of 0.1 that
  // leaves losses alone; with the default of 0.002 an inverse multiplies rounding by up to 500, and losses of
  // 50 steps part by some 1e-5.
  for (const double kl_clip : {0.0, 0.001}) {
    CAPTURE(kl_clip);
    Job job =
        kfac_job(4, "dp_kfac",
                 {{"damping", 0.1}, {"ema", 0.9}, {"kl_clip", kl_clip}, {"inverse_interval", 2}}, kSteps);
    job.optimizer.rule = sgd_rule(0);
    const FactorLayout layout = factor_layout(job.learner->model().layers());
    REQUIRE(layout.layers.size() == 3);
    // By descending cost: conv2 with an A of 576 x 576, fc with one of 97 x 97, conv1; the learner's
    // likewise.
    const std::vector<int> owner = {2, 0, 1};
    Workers workers(job);
    std::vector<Dense> a, g, inverse_a(3), inverse_g(3);
    for (const LayerFactors& layer : layout.layers) {
      a.push_back(Dense::Identity(layer.a_dim, layer.a_dim));
      g.push_back(Dense::Identity(layer.g_dim, layer.g_dim));
    }
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      Vector mean = Vector::Zero(workers[0].size());
      for (std::size_t i = 0; i < 4; ++i) mean += workers.gradient(i, step) / 4;
      Vector direction = mean;
      double alignment = 0;
      for (std::size_t l = 0; l < 3; ++l) {
        const LayerFactors& layer = layout.layers[l];
        const std::vector<float> fresh = factors_at(job, layout, workers[0], owner[l], step);
        a[l] = 0.9 * a[l] + 0.1 * part(fresh, layer.a_offset, layer.a_dim);
        g[l] = 0.9 * g[l] + 0.1 * part(fresh, layer.g_offset, layer.g_dim);
        if (step % 2 == 1) {
          inverse_a[l] = (a[l] + 0.1 * Dense::Identity(layer.a_dim, layer.a_dim)).inverse();
          inverse_g[l] = (g[l] + 0.1 * Dense::Identity(layer.g_dim, layer.g_dim)).inverse();
        }
        const auto offset = static_cast<Eigen::Index>(layer.layer.offset);
        const Dense own = Eigen::Map<const Dense>(mean.data() + offset, layer.g_dim, layer.a_dim);
        const Dense v = inverse_g[l] * own * inverse_a[l];
        alignment += (v.array() * own.array()).sum();
        Eigen::Map<Dense>(direction.data() + offset, layer.g_dim, layer.a_dim) = v;
      }
      const double change = std::abs(alignment) * kRate * kRate;
      const double nu = kl_clip > 0 && change > kl_clip ? std::sqrt(kl_clip / change) : 1;
      for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * nu * direction;
    }
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[3]);
    workers.check_against(result);
  }
}

TEST_CASE("dp_kfac among one is kfac") {
  const FakeResult alone = run_fake(kfac_job(1, "dp_kfac", Json::object(), 20));
  const FakeResult kfac = run_fake(kfac_job(1, "kfac", Json::object(), 20));
  CHECK(alone.models[0] == kfac.models[0]);
}

TEST_CASE(
    "dp_kfac: no factor travels; the layers' gradients do, once more; a layer's factors cost one worker") {
  // Layers of 64 x 27, 96 x 576 and 10 x 97, beside 128 numbers: 58,122 of them. An all-reduce sends 2 (3/4)
  // of it from each of four, a broadcast three times all of it.
  const std::vector<double> dp = bytes_of("dp_kfac"), d = bytes_of("d_kfac");
  const double layers = 64 * 27 + 96 * 576 + 10 * 97;
  CHECK(dp[0] == Approx(4 * 4 * (6 * (layers + 128) + 3 * layers)).epsilon(1e-12));
  CHECK(dp[1] == 0);
  CHECK(d[1] > 0);
  CHECK(dp[2] == Approx(d[2] / 4).epsilon(1e-9));
}

TEST_CASE("dp_kfac: a worker holds the factors of its own layers") {
  Job job = kfac_workload(4);
  use_algorithm(job, "dp_kfac");
  double factors = 0;
  for (const MemoryPart& part : job.algorithm->memory({job.workload, job.optimizer, 4}))
    if (part.name == "factors") factors = part.bytes;
  CHECK(factors == 4.0 * (576 * 576 + 96 * 96));
}

}  // namespace simsgd::test::algorithms_dp_kfac
