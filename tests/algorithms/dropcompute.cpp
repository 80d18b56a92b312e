// DropCompute is a choice of Non-blocking SGD's options.
#include <doctest/doctest.h>

#include "analysis/runner.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::algorithms_dropcompute {

namespace {

/// The metrics of 20 steps with that algorithm, of workers whose steps of about 8 ms are late by 4 ms.
std::vector<double> metrics(const Json& algorithm) {
  Json scenario = small_scenario();
  scenario["workload"]["layers"][0]["forward"] = "2.5 ms";
  scenario["workload"]["compute_factor"] = {{"name", "lognormal"}, {"mean", 1}, {"cv", 0.3}};
  scenario["learner"] = small_learner();
  scenario["optimizer"] = {{"name", "sgd"}, {"momentum", 0.9}};
  scenario["stragglers"] = {{{"name", "exponential"}, {"mean", "4 ms"}}};
  scenario["stop"]["steps"] = 20;
  scenario["algorithm"] = algorithm;
  std::vector<double> numbers;
  const RunOutcome outcome = run_scenario(load(scenario), {});
  for (const auto& metric : outcome.document["metrics"].items())
    numbers.push_back(metric.value().get<double>());
  return numbers;
}

}  // namespace

TEST_CASE("DropCompute gives the metrics of Non-blocking SGD with a deadline, drop, no carry, and sample") {
  const auto nonblocking = [](const Json& changes) {
    Json algorithm = {{"name", "nonblocking"}, {"micro_batches", 4}, {"trigger", "deadline"},
                      {"deadline", "9 ms"},    {"preempt", "drop"},  {"carry", false},
                      {"weighting", "sample"}};
    algorithm.update(changes);
    return metrics(algorithm);
  };
  const std::vector<double> drop =
      metrics({{"name", "dropcompute"}, {"deadline", "9 ms"}, {"micro_batches", 4}});
  REQUIRE(drop.size() > 30);
  CHECK(drop == nonblocking(Json::object()));
  // Each of these choices shows.
  CHECK(drop != nonblocking({{"carry", true}}));
  CHECK(drop != nonblocking({{"preempt", "finish"}}));
  CHECK(drop != nonblocking({{"weighting", "worker"}}));
  CHECK(drop != nonblocking({{"deadline", "8 ms"}}));
  CHECK(drop != nonblocking({{"micro_batches", 8}}));
}

}  // namespace simsgd::test::algorithms_dropcompute
