// Non-blocking SGD over gossip: with one micro-batch it is D-PSGD and MATCHA, and nobody waits for the
// slowest batch.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/algorithms/nonblocking_support.hpp"
#include "tests/support/graphs.hpp"

namespace simsgd::test::algorithms_nonblocking_gossip {

namespace {

Job gossip_job(const std::vector<double>& speeds, const std::string& algorithm, const Json& parameters,
               std::uint64_t rounds) {
  Job job = round_job(speeds, Json::object(), rounds);
  job.graph = graph_of("ring", job.workers());
  add_learner(job, 16);
  use_algorithm(job, algorithm, parameters);
  return job;
}

std::vector<double> losses(const std::vector<double>& speeds, const std::string& algorithm,
                           const Json& parameters) {
  return losses_of(simulate_job(gossip_job(speeds, algorithm, parameters, 50)));
}

double seconds(const std::vector<double>& speeds, const Json& parameters) {
  return simulate_job(gossip_job(speeds, "nonblocking", parameters, 10)).end_s / 10;
}

std::string refusal(const Json& parameters) {
  try {
    gossip_job({1, 1, 1, 1}, "nonblocking", parameters, 1);
  } catch (const ParameterError& error) {
    return error.key + ": " + error.problem + ". " + error.remedy;
  }
  return "";
}

const std::vector<double> kEqual(6, 1.0);

}  // namespace

TEST_CASE("over D-PSGD with one micro-batch the losses are D-PSGD's, and over MATCHA MATCHA's") {
  for (const std::string over : {"d_psgd", "matcha"}) {
    CAPTURE(over);
    const std::vector<double> blocking = losses(kEqual, over, Json::object());
    const std::vector<double> one = losses(kEqual, "nonblocking", {{"over", over}, {"micro_batches", 1}});
    REQUIRE(blocking.size() == 50);
    CHECK(blocking.back() < 0.7 * blocking.front());
    for (std::size_t i = 0; i < blocking.size(); ++i)
      CHECK(std::fabs(one[i] - blocking[i]) < 1e-5 * blocking[i]);
  }
}

TEST_CASE("over gossip, too, a round ends with the first worker that is through") {
  // The slowest takes 2 s for its batch, and has then finished 4 of 8 micro-batches of 0.25 s.
  const std::vector<double> speeds = {1, 1, 0.5, 1, 1, 1};
  for (const std::string over : {"d_psgd", "matcha"}) {
    CAPTURE(over);
    const Json parameters = {{"over", over}, {"coupling", "global"}, {"preempt", "drop"}};
    CHECK(seconds(speeds, parameters) == doctest::Approx(1.0).epsilon(1e-9));
    CHECK(seconds(speeds, with(parameters, {{"trigger", "none"}})) == doctest::Approx(2.0).epsilon(1e-9));
  }
}

TEST_CASE("what belongs to another synchroniser is refused with the remedy") {
  CHECK(refusal({{"weights", "laplacian"}}) ==
        "/weights: applies only with \"over\": \"d_psgd\". Leave it out, or set \"over\": \"d_psgd\"");
  CHECK(refusal({{"over", "d_psgd"}, {"budget", 0.5}}) ==
        "/budget: applies only with \"over\": \"matcha\". Leave it out, or set \"over\": \"matcha\"");
  CHECK(
      refusal({{"coupling", "global"}}) ==
      "/coupling: has no effect with \"over\": \"allreduce\". Leave it out, or set \"over\" to \"d_psgd\" or \"matcha\"");
  CHECK(
      refusal({{"micro_batches", 32}}) ==
      "/micro_batches: is more than the 16 samples of the learner's batch. Give at most 16, or raise /learner/batch");
}

}  // namespace simsgd::test::algorithms_nonblocking_gossip
