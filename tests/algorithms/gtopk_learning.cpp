// gTop-k S-SGD learns nearly what dense S-SGD learns, with a thousandth of the entries: on Fashion-MNIST,
// over five seeds. The same at length: scenarios/studies/gtopk_convergence.json, docs/papers/gtopk.md.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"
#include "tests/support/fashion_mnist.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_gtopk_learning {

namespace {

// Test losses after 8 epochs of 12,000 images, 94 steps of 4 x 32, of seeds 1 to 5.
std::vector<double> losses(const Json& algorithm) {
  std::vector<double> all;
  for (int seed = 1; seed <= 5; ++seed) {
    Json scenario = small_scenario();
    scenario["learner"] = {
        {"model", {{"name", "mlp"}, {"hidden", {32}}}},
        {"data", {{"name", "fashion_mnist"}, {"train_samples", 12000}, {"test_samples", 2000}}},
        {"batch", 32}};
    scenario["optimizer"] = {
        {"name", "sgd"}, {"learning_rate", 0.03}, {"momentum", 0.9}, {"schedule", {{"name", "cosine"}}}};
    scenario["algorithm"] = algorithm;
    scenario["stop"] = {{"steps", 8 * 94}};
    scenario["seed"] = seed;
    all.push_back(simulate_job(job_of(scenario)).evaluations.back().test_loss);
  }
  return all;
}

// Mean of the differences seed by seed, and the half width of its 95 % interval (Student, 4 degrees of
// freedom).
struct Difference {
  double mean = 0, half_width = 0;
};
Difference difference(const std::vector<double>& a, const std::vector<double>& b) {
  Difference out;
  for (std::size_t i = 0; i < a.size(); ++i) out.mean += (a[i] - b[i]) / static_cast<double>(a.size());
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(a[i] - b[i] - out.mean, 2);
  out.half_width = 2.776 * std::sqrt(squares / 4 / 5);
  return out;
}

}  // namespace

TEST_CASE(
    "after equal epochs gTop-k has gone nine tenths of dense S-SGD's way from ln 10, at 0.01 and at 0.001") {
  if (fashion_mnist_is_missing()) return;
  const std::vector<double> dense = losses({{"name", "allreduce_sgd"}});
  double mean = 0;
  for (const double loss : dense) mean += loss / 5;
  const double way = std::log(10.0) - mean;  // an untrained classifier's loss is about ln 10
  CAPTURE(mean);
  REQUIRE(way > 1.7);
  for (const double density : {0.01, 0.001}) {
    const Difference more = difference(losses({{"name", "gtopk"}, {"density", density}}), dense);
    CAPTURE(density);
    CAPTURE(more.mean);
    CAPTURE(more.half_width);
    CHECK(more.mean + more.half_width < 0.1 * way);
  }
}

}  // namespace simsgd::test::algorithms_gtopk_learning
