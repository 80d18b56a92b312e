// A step that is computed in several micro-batches: which of them a straggler delays.
#include <doctest/doctest.h>

#include <set>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_micro_batches {

namespace {

Straggle at(const Stragglers& all, std::uint32_t micro_batch, std::uint64_t step = 3) {
  return all.at({.seed = 1,
                 .rank = 2,
                 .workers = 8,
                 .step = step,
                 .nominal_compute_s = 0.8,
                 .micro_batch = micro_batch,
                 .micro_batches = 4});
}

}  // namespace

TEST_CASE("a delay per step comes before the first micro-batch alone; a factor holds for all") {
  const Stragglers all = stragglers(R"({"name": "constant", "delay": "40 ms", "factor": 2})", 8);
  CHECK(at(all, 0).delay_s == doctest::Approx(0.04));
  CHECK(at(all, 1).delay_s == 0);
  CHECK(at(all, 3).factor == 2);
}

TEST_CASE("a delay per micro-batch is drawn for each, and is relative to its own compute time") {
  const Stragglers all =
      stragglers(R"({"name": "constant", "delay": 0.5, "relative": true, "per": "micro_batch"})", 8);
  for (const std::uint32_t micro_batch : {0U, 1U, 3U})
    CHECK(at(all, micro_batch).delay_s == doctest::Approx(0.1));  // half of 0.8 s / 4
  const Stragglers drawn = stragglers(R"({"name": "exponential", "mean": "1 s", "per": "micro_batch"})", 8);
  std::set<double> draws;
  for (std::uint64_t step = 1; step <= 50; ++step)
    for (std::uint32_t micro_batch = 0; micro_batch < 4; ++micro_batch)
      draws.insert(at(drawn, micro_batch, step).delay_s);
  CHECK(draws.size() == 200);
}

TEST_CASE("the first micro-batch is as late as a step in one piece, and models of both kinds compose") {
  const std::string mean = R"("name": "exponential", "mean": "1 s")";
  const Stragglers per_step = stragglers("{" + mean + "}", 8);
  const Stragglers per_micro_batch = stragglers("{" + mean + R"(, "per": "micro_batch"})", 8);
  CHECK(at(per_step, 0).delay_s == at(per_micro_batch, 0).delay_s);
  const Stragglers both =
      stragglers("[{" + mean + R"(, "per": "micro_batch"}, {"name": "constant", "delay": "1 s"}])", 8);
  CHECK(at(both, 0).delay_s == doctest::Approx(at(per_micro_batch, 0).delay_s + 1));
  CHECK(at(both, 2).delay_s == at(per_micro_batch, 2).delay_s);
}

}  // namespace simsgd::test::cluster_micro_batches
