// 1-bit Adam against a model of its own; what it sends.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/learn/codec.hpp"
#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test::algorithms_onebit_adam {

using doctest::Approx;

namespace {

/// sign(v) times the mean magnitude.
Vector signs(const Vector& v) {
  return v.unaryExpr([](double x) { return x < 0 ? -1.0 : 1.0; }) * v.cwiseAbs().mean();
}

}  // namespace

TEST_CASE("onebit_adam is Adam, then its paper's algorithm") {
  for (const std::uint64_t warmup : {std::uint64_t{10}, kSteps}) {
    CAPTURE(warmup);
    const Job job = learning_job(4, "onebit_adam", {{"warmup_steps", warmup}, {"beta2", 0.99}});
    Workers workers(job);
    Vector m = Vector::Zero(36), v = m, served = m;
    std::vector<Vector> error(4, m);
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      std::vector<Vector> g;
      for (std::size_t i = 0; i < 4; ++i) g.push_back(workers.gradient(i, step));
      if (step <= warmup) {
        const Vector mean = (g[0] + g[1] + g[2] + g[3]) / 4;
        m = 0.9 * m + 0.1 * mean;
        v = 0.99 * v + 0.01 * mean.cwiseAbs2();
      } else {
        Vector sum = Vector::Zero(36);
        for (std::size_t i = 0; i < 4; ++i) {
          const Vector p = 0.9 * m + 0.1 * g[i] + error[i];
          error[i] = p - signs(p);
          sum += signs(p) / 4;
        }
        for (Eigen::Index part = 0; part < 36; part += 9) {
          const Vector q = sum.segment(part, 9) + served.segment(part, 9);
          m.segment(part, 9) = signs(q);
          served.segment(part, 9) = q - signs(q);
        }
      }
      const Vector direction = (m.array() / (v.array().sqrt() + 1e-8)).matrix();
      for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * direction;
    }
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[3]);
    workers.check_against(result);
  }
}

TEST_CASE("onebit_adam sends whole gradients in its warm-up, and then a bit for each number each way") {
  Job job = scripted_job(star(4, 0, 1e9), nullptr, 4096 * 64);
  use_rings(job);
  use_algorithm(job, "onebit_adam", {{"warmup_steps", 2}});
  job.stop.steps = 5;
  job.workload.layers.front().forward_s = 1;
  // N numbers, a scale for each 4,096 of them. Three quarters of a message go to others, and a quarter,
  // served, to three.
  const double n = 4096 * 64, coded = (n + 32 * 64) / 8;
  CHECK(sent_bytes(simulate_job(job).workers[1], Traffic::gradient) ==
        Approx(2 * 1.5 * 4 * n + 3 * (0.75 * coded + 3 * coded / 4)).epsilon(1e-12));
}

}  // namespace simsgd::test::algorithms_onebit_adam
