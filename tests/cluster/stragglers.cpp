// How stragglers compose, and that one never changes what another draws.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_stragglers {

namespace {

const std::string kExponential = R"({"name": "exponential", "mean": 1})";

double delay(const Stragglers& all, int rank, std::uint64_t step, std::uint64_t seed = 1) {
  return all.at(seed, rank, 8, step, 1.0).delay_s;
}

}  // namespace

TEST_CASE("without stragglers nobody is late") {
  const Straggle none = Stragglers().at(1, 0, 8, 1, 1.0);
  CHECK(none.delay_s == 0);
  CHECK(none.factor == 1);
}

TEST_CASE("delays add up and factors multiply") {
  const Stragglers all = stragglers(R"([{"name": "constant", "factor": 2, "delay": "100 ms"},
                                        {"name": "constant", "factor": 1.5, "workers": [3]},
                                        {"name": "constant", "delay": "50 ms"}])",
                                    8);
  CHECK(all.at(1, 0, 8, 1, 1.0).factor == 2);
  CHECK(all.at(1, 3, 8, 1, 1.0).factor == 3);
  CHECK(all.at(1, 3, 8, 1, 1.0).delay_s == doctest::Approx(0.15));
}

TEST_CASE("a constant delay may be relative to the compute time; its factor always is") {
  const Stragglers all =
      stragglers(R"({"name": "constant", "factor": 2, "delay": 0.25, "relative": true})", 8);
  CHECK(all.at(1, 0, 8, 1, 0.4).delay_s == 0.1);
  CHECK(all.at(1, 0, 8, 1, 0.4).factor == 2);
}

TEST_CASE("a relative distribution draws multiples of the compute time") {
  const Stragglers seconds = stragglers(kExponential, 8);
  const Stragglers relative = stragglers(R"({"name": "exponential", "mean": 1, "relative": true})", 8);
  CHECK(relative.at(1, 2, 8, 5, 0.125).delay_s == 0.125 * seconds.at(1, 2, 8, 5, 0.125).delay_s);
}

TEST_CASE("the same seed, rank and step always draw the same, others draw something else") {
  const Stragglers all = stragglers(kExponential, 8);
  std::set<double> draws;
  for (int rank = 0; rank < 8; ++rank)
    for (std::uint64_t step = 1; step <= 50; ++step) {
      CHECK(delay(all, rank, step) == delay(stragglers(kExponential, 8), rank, step));
      draws.insert(delay(all, rank, step));
      draws.insert(delay(all, rank, step, 2));
    }
  CHECK(draws.size() == 8 * 50 * 2);
}

TEST_CASE("a second model does not shift the draws of the first, and draws its own") {
  const Stragglers alone = stragglers(kExponential, 8);
  const Stragglers both = stragglers("[" + kExponential + "," + kExponential + "]", 8);
  const Stragglers second = stragglers(R"([{"name": "constant", "delay": 0},)" + kExponential + "]", 8);
  for (std::uint64_t step = 1; step <= 50; ++step) {
    CHECK(delay(both, 3, step) == delay(alone, 3, step) + delay(second, 3, step));
    CHECK(delay(alone, 3, step) != delay(second, 3, step));
  }
}

TEST_CASE("a draw depends neither on the number of workers nor on the order of asking") {
  const Stragglers small = stragglers(kExponential, 8);
  const Stragglers large = stragglers(kExponential, 1024);
  for (std::uint64_t step = 20; step >= 1; --step)
    CHECK(large.at(1, 7, 1024, step, 1.0).delay_s == small.at(1, 7, 8, step, 1.0).delay_s);
}

TEST_CASE("twice the mean is twice the delay in every draw") {
  const Stragglers once = stragglers(kExponential, 8);
  const Stragglers twice = stragglers(R"({"name": "exponential", "mean": 2})", 8);
  for (std::uint64_t step = 1; step <= 50; ++step) CHECK(delay(twice, 1, step) == 2 * delay(once, 1, step));
}

TEST_CASE("every distribution of delays is a straggler under its own name") {
  std::set<std::string> kinds;
  for (const StragglerPlugin& plugin : straggler_plugins()) kinds.insert(plugin.info.name);
  for (const DistributionPlugin& plugin : distribution_plugins()) CHECK(kinds.contains(plugin.info.name));
  CHECK(kinds.contains("k_of_p"));
  CHECK(kinds.contains("trace"));
}

TEST_CASE("every kind describes its parameters and has the common options") {
  for (const StragglerPlugin& plugin : straggler_plugins()) {
    CAPTURE(plugin.info.name);
    CHECK(!plugin.info.summary.empty());
    Json form;
    plugin.form(form);
    for (const auto& [key, schema] : form["properties"].items()) {
      CAPTURE(key);
      CHECK(!schema.value("description", "").empty());
    }
    for (const std::string key : form["required"]) CHECK(form["properties"].contains(key));
    for (const char* key : {"workers", "relative", "probability", "from_step", "to_step"})
      CHECK(form["properties"].contains(key));
  }
}

TEST_CASE("a step beyond 2^38 is a defect of the caller") {
  CHECK_THROWS_AS(delay(stragglers(kExponential, 8), 0, std::uint64_t{1} << 38), std::logic_error);
}

}  // namespace simsgd::test::cluster_stragglers
