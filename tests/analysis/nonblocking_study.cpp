// Non-blocking SGD with one slow device of 8 on 100 Gb/s: the first seed of its study, four points of it.
// docs/papers/nonblocking.md has all of them, with intervals.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "analysis/runner.hpp"
#include "scenarios/language/scenario.hpp"
#include "scenarios/language/study.hpp"
#include "tests/support/fashion_mnist.hpp"

namespace simsgd::test::analysis_nonblocking_study {

namespace {

/// Simulated seconds to the study's training loss with `algorithm` and batches of `batch` samples.
double time_to_target(const Json& algorithm, int batch) {
  const Study study = expand_study(SIMSGD_SOURCE_DIR "/scenarios/studies/nonblocking_slow_device.json");
  for (const StudyPoint& point : study.points) {
    const Scenario scenario = load_point(study, point);
    bool wanted = scenario.resolved["seed"] == 1 && scenario.resolved["workload"]["batch"] == batch;
    for (const auto& [key, value] : algorithm.items())
      wanted = wanted && scenario.resolved["algorithm"].value(key, Json()) == value;
    if (wanted) return run_scenario(scenario, {}).document["metrics"]["time_to_target_s"];
  }
  throw std::runtime_error("the study has no such point");
}

}  // namespace

TEST_CASE(
    "to the same training loss it takes about half the time of blocking D-PSGD and MATCHA, at equal batch and at equal micro-batch") {
  if (fashion_mnist_is_missing()) return;
  for (const char* over : {"d_psgd", "matcha"}) {
    CAPTURE(over);
    const double nonblocking =
        time_to_target({{"over", over}, {"trigger", "first"}, {"preempt", "finish"}}, 256);
    for (const int batch : {256, 32}) {
      CAPTURE(batch);
      const double blocking = time_to_target({{"over", over}, {"trigger", "none"}}, batch);
      CHECK(nonblocking / blocking > 0.4);
      CHECK(nonblocking / blocking < 0.6);
    }
  }
}

}  // namespace simsgd::test::analysis_nonblocking_study
