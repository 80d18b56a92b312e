#include "results/expected.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace simsgd::test::results_expected {

namespace {

ExpectedOutcome outcome(double expected, std::optional<double> simulated, double tolerance) {
  return {"", "throughput_samples_per_s", "1/s", expected, simulated, tolerance, "a paper"};
}

}  // namespace

TEST_CASE("a value holds within its relative tolerance, on both sides") {
  CHECK(outcome(100, 104, 0.05).holds());
  CHECK(outcome(100, 96, 0.05).holds());
  CHECK(!outcome(100, 106, 0.05).holds());
  CHECK(!outcome(100, 94, 0.05).holds());
  CHECK(outcome(-100, -104, 0.05).holds());
  CHECK(outcome(100, 106, 0.05).error() == doctest::Approx(0.06));
}

TEST_CASE("zero is met by zero alone, and nothing by what was not simulated") {
  CHECK(outcome(0, 0, 0).holds());
  CHECK(!outcome(0, 1e-12, 0.5).holds());
  CHECK(!outcome(1, std::nullopt, 0.5).holds());
  CHECK(!outcome(1, std::nan(""), 0.5).holds());
}

TEST_CASE("expected values are compared with the metrics of the document") {
  const auto document = nlohmann::ordered_json::parse(R"({
    "scenario": {"expected": [
      {"metric": "throughput_samples_per_s", "value": 200, "tolerance": 0.05, "source": "Table 1"},
      {"metric": "test_accuracy_final", "value": 0.9, "tolerance": 0.01, "source": "Fig. 2"}]},
    "metrics": {"throughput_samples_per_s": 195}})");
  const std::vector<ExpectedOutcome> outcomes = compare_expected(document);
  REQUIRE(outcomes.size() == 2);
  CHECK(!all_hold(outcomes));
  CHECK(all_hold({outcomes[0]}));
  CHECK(!all_hold({}));
  CHECK(expected_table(outcomes) ==
        "metric                    unit  expected  simulated    error  tolerance        source\n"
        "throughput_samples_per_s  1/s        200        195  -2.50 %        5 %    ok  Table 1\n"
        "test_accuracy_final       1          0.9       none        -        1 %  FAIL  Fig. 2\n"
        "1 of 2 expected values hold.\n");
}

}  // namespace simsgd::test::results_expected
