// The same algorithm source learns the same in both worlds: on 1, 2 and 4 ranks, 60 steps on Fashion-MNIST.
// Both add up in rank order, so the curves are the same numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/measure/run_command.hpp"
#include "tests/support/fashion_mnist.hpp"

namespace simsgd::test::measure_curves {

using nlohmann::json;

namespace {

constexpr const char* kScenario = R"({
  "name": "curves",
  "cluster": {"use": "clusters/infiniband-100g.json", "workers": 1, "gpus_per_node": 1,
              "device": {"use": "devices/cpu_core.json"}},
  "workload": "self",
  "learner": {"model": {"name": "mlp", "hidden": [64]}, "batch": 32,
              "data": {"name": "fashion_mnist", "train_samples": 4000, "test_samples": 500}},
  "optimizer": {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9},
  "algorithm": {"name": "allreduce_sgd"},
  "stop": {"steps": 60},
  "record": {"evaluate_every": 24}
})";

json document(const Ran& ran) {
  INFO(ran.errors);
  REQUIRE(ran.code == 0);
  return json::parse(ran.output);
}

// The largest relative difference of `key` between two series of the same steps.
double difference(const json& simulated, const json& real, const char* key) {
  REQUIRE(simulated.size() == real.size());
  double largest = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    REQUIRE(simulated[i]["step"] == real[i]["step"]);
    const double expected = simulated[i][key].get<double>();
    largest = std::max(largest, std::abs(real[i][key].get<double>() - expected) / std::abs(expected));
  }
  return largest;
}

void check_same_learning(const std::string& algorithm, const std::vector<int>& numbers_of_ranks = {2, 4}) {
  if (fashion_mnist_is_missing()) return;
  for (const int ranks : numbers_of_ranks) {
    CAPTURE(algorithm);
    CAPTURE(ranks);
    const std::string arguments = " run - --json --set '/algorithm=" + algorithm + "'";
    const json simulated = document(run_command(
        SIMSGD_PROGRAM + arguments + " --set /cluster/workers=" + std::to_string(ranks), kScenario));
    const std::string measured = SIMSGD_MEASURE_PROGRAM + arguments;
    const json real =
        document(ranks == 1 ? run_command(measured, kScenario) : run_ranks(ranks, measured, kScenario));
    const json &curve = simulated["series"], &real_curve = real["series"];
    REQUIRE(curve["train"].size() == 60);
    REQUIRE(curve["test"].size() == 3);  // after 24, 48 and 60 steps
    const double loss = difference(curve["train"], real_curve["train"], "train_loss");
    const double test_loss = difference(curve["test"], real_curve["test"], "test_loss");
    MESSAGE(algorithm << " on " << ranks << " ranks: losses differ by " << loss << ", test losses by "
                      << test_loss);
    CHECK(loss == 0);
    CHECK(test_loss == 0);
    for (std::size_t i = 0; i < 3; ++i) {
      const double expected = curve["test"][i]["consensus_distance"];
      CHECK(real_curve["test"][i]["consensus_distance"].get<double>() ==
            doctest::Approx(expected).epsilon(1e-6));
    }
  }
}

}  // namespace

TEST_CASE("Allreduce-SGD learns over MPI what it learns in the simulation") {
  check_same_learning(R"({"name": "allreduce_sgd"})", {1, 2, 4});
}

TEST_CASE("Allreduce-SGD with every tensor in a bucket of its own does so too") {
  check_same_learning(R"({"name": "allreduce_sgd", "fusion": "none"})");
}

TEST_CASE("local SGD that averages after every fourth step does so too") {
  check_same_learning(R"({"name": "local_sgd", "period": 4})");
}

TEST_CASE("gTop-k does so too: its merges have an order of their own") {
  check_same_learning(R"({"name": "gtopk", "density": 0.01})");
}

}  // namespace simsgd::test::measure_curves
