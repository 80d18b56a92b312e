// The full text of every message that an impossible straggler can cause, except traces (trace.cpp) and
// distributions (distribution_rejections.cpp).
#include <doctest/doctest.h>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_straggler_rejections {

namespace {

struct Case {
  const char* json;
  const char* text;
};

template <std::size_t count>
void check_all(const Case (&cases)[count]) {
  for (const Case& each : cases) {
    CAPTURE(std::string(each.json));
    CHECK(rejection([&] { stragglers(each.json, 8); }) == std::string(each.text));
  }
}

}  // namespace

TEST_CASE("a straggler needs the name of a kind") {
  check_all({
      {R"({"mean": 1})", "/name: is missing. Give a value for it"},
      {R"({"name": "exponentail", "mean": 1})",
       "/name: is not a kind of straggler. Did you mean \"exponential\"? Valid are constant, uniform, exponential, shifted_exponential, lognormal, gamma, weibull, pareto, histogram, k_of_p, markov, ar1, compute_noise or trace"},
      {R"({"name": "cosmic rays"})",
       "/name: is not a kind of straggler. Valid are constant, uniform, exponential, shifted_exponential, lognormal, gamma, weibull, pareto, histogram, k_of_p, markov, ar1, compute_noise or trace"},
  });
}

TEST_CASE("\"workers\" lists ranks of the job, each once") {
  check_all({
      {R"({"name": "constant", "factor": 2, "workers": []})",
       "/workers: is too short. Give at least 1 of them"},
      {R"({"name": "constant", "factor": 2, "workers": [0, 8]})",
       "/workers/1: is not a rank of the 8 workers. Give ranks from 0 to 7"},
      {R"({"name": "constant", "factor": 2, "workers": [-1]})",
       "/workers/0: is out of range. Give a number of at least 0"},
      {R"({"name": "constant", "factor": 2, "workers": [3, 3]})",
       "/workers/1: is listed twice. List each rank once"},
  });
}

TEST_CASE("\"count\", \"share\" and \"of\" draw some of the workers, and contradict nothing") {
  check_all({
      {R"({"name": "constant", "factor": 2, "count": 9})",
       "/count: is not from 1 to the 8 workers. Give at most 8"},
      {R"({"name": "constant", "factor": 2, "count": 0})",
       "/count: is out of range. Give a whole number of at least 1"},
      {R"({"name": "constant", "factor": 2, "count": 9, "of": "nodes"})",
       "/count: is not from 1 to the 8 nodes. Give at most 8"},
      {R"({"name": "constant", "factor": 2, "share": 10})",
       "/share: is out of range. Give a number above 0 and of at most 1"},
      {R"({"name": "constant", "factor": 2, "share": 0.1, "count": 2})",
       "/share: contradicts \"count\". Give one of the two"},
      {R"({"name": "constant", "factor": 2, "share": 0.1, "workers": [1]})",
       "/workers: contradicts \"share\". Give one of the two"},
      {R"({"name": "constant", "factor": 2, "count": 1, "workers": [1]})",
       "/workers: contradicts \"count\". Give one of the two"},
      {R"({"name": "constant", "factor": 2, "of": "nodes"})",
       "/of: has nothing to choose. Give \"count\" or \"share\" too, or leave it out"},
      {R"({"name": "constant", "factor": 2, "count": 1, "of": "racks"})",
       "/of: is not known. Use workers or nodes"},
  });
}

TEST_CASE("probabilities and steps are possible ones") {
  check_all({
      {R"({"name": "constant", "factor": 2, "probability": 1.5})",
       "/probability: is out of range. Give a number from 0 to 1"},
      {R"({"name": "constant", "factor": 2, "probability": -0.1})",
       "/probability: is out of range. Give a number from 0 to 1"},
      {R"({"name": "constant", "factor": 2, "from_step": 0})",
       "/from_step: is out of range. Give a whole number of at least 1"},
      {R"({"name": "constant", "factor": 2, "to_step": 0})",
       "/to_step: is out of range. Give a whole number of at least 1"},
      {R"({"name": "constant", "factor": 2, "from_step": 5, "to_step": 4})",
       "/to_step: is before \"from_step\". Give the same step or a later one"},
  });
}

TEST_CASE("a constant straggler has a factor, a delay or both") {
  check_all({
      {R"({"name": "constant"})", "/factor: is missing. Give \"factor\", \"delay\" or both"},
      {R"({"name": "constant", "factor": 0})", "/factor: is out of range. Give a number above 0"},
      {R"({"name": "constant", "delay": -1})", "/delay: is out of range. Give a time of at least 0"},
      {R"({"name": "constant", "factor": 2, "relative": true})",
       "/relative: has no delay to apply to. Give \"delay\", or leave \"relative\" out"},
  });
}

TEST_CASE("relative delays have no unit, in every kind and at every depth") {
  check_all({
      {R"({"name": "constant", "delay": "1 ms", "relative": true})",
       "/delay: is not a plain number, but \"relative\" asks for multiples of the compute time. Give a number without a unit, such as 0.5, or leave \"relative\" out"},
      {R"({"name": "lognormal", "mean": "20 ms", "sigma": 0.5, "relative": true})",
       "/mean: is not a plain number, but \"relative\" asks for multiples of the compute time. Give a number without a unit, such as 0.5, or leave \"relative\" out"},
      {R"({"name": "k_of_p", "k": 1, "delay": {"name": "uniform", "minimum": 0, "maximum": "1 s"}, "relative": true})",
       "/delay/maximum: is not a plain number, but \"relative\" asks for multiples of the compute time. Give a number without a unit, such as 0.5, or leave \"relative\" out"},
      {R"({"name": "histogram", "edges": [0, "1 s"], "weights": [1], "relative": true})",
       "/edges/1: is not a plain number, but \"relative\" asks for multiples of the compute time. Give a number without a unit, such as 0.5, or leave \"relative\" out"},
  });
}

TEST_CASE("k of P has a k that is possible") {
  check_all({
      {R"({"name": "k_of_p", "k": 9, "delay": 1})",
       "/k: is more than the 8 workers to choose from. Give at most 8, or \"draw\": \"independent\""},
      {R"({"name": "k_of_p", "k": 3, "delay": 1, "workers": [1, 2]})",
       "/k: is more than the 2 workers to choose from. Give at most 2, or \"draw\": \"independent\""},
      {R"({"name": "k_of_p", "k": -1, "delay": 1})",
       "/k: is out of range. Give a whole number from 0 to 1048575"},
      {R"({"name": "k_of_p", "delay": 1})", "/k: is missing. Give a value for it"},
      {R"({"name": "k_of_p", "k": 1})", "/delay: is missing. Give a value for it"},
      {R"({"name": "k_of_p", "k": 1, "delay": 1, "draw": "fair"})",
       "/draw: is not known. Use distinct or independent"},
      {R"({"name": "k_of_p", "k": 1, "delay": {"name": "pareto", "minimum": 1}})",
       "/delay/shape: is missing. Give a value for it"},
  });
}

}  // namespace simsgd::test::cluster_straggler_rejections
