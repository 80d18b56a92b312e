// Jitter: every message of every operation has a draw of its own, the same wherever it is asked for, and the
// table of quantiles that draws come from has the distribution's mean and quantiles.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "support.hpp"

namespace simsgd::test::collectives_jitter {

using Kind = Distribution::Kind;

namespace {

const Distribution kDistributions[] = {
    {Kind::uniform, 1e-6, 4e-6, 1, {}, {}},
    {Kind::exponential, 2e-6, 5e-6, 1, {}, {}},
    {Kind::lognormal, 0, 5e-6, 0.5, {}, {}},
    {Kind::gamma, 0, 2e-6, 2.5, {}, {}},
    {Kind::weibull, 0, 5e-6, 1.5, {}, {}},
    {Kind::pareto, 0, 5e-6, 3, {}, {}},
    {Kind::histogram, 0, 0, 1, {0, 1e-6, 4e-6}, {0.25, 1}},
};

double probability_of(std::uint32_t bits) { return (bits + 0.5) * 0x1p-32; }

}  // namespace

TEST_CASE("a row holds what `at` gives, for any number of senders") {
  const JitterTable table(lognormal(5e-6, 1.5));
  for (const std::size_t senders :
       {1u, 3u, 4u, 7u, 8u, 63u, 64u, 65u, 66u, 127u, 128u, 200u, 1024u, 70000u}) {
    for (const JitterDraws& draws :
         {JitterDraws{&table, 1, 0, 0}, JitterDraws{&table, ~std::uint64_t{0}, 3, 7},
          JitterDraws{&table, 12345, 40, std::uint64_t{1} << 33}}) {
      for (const std::uint32_t step : {0u, 1u, 2045u, 130000u}) {
        CAPTURE(senders);
        CAPTURE(step);
        std::vector<double> row(senders);
        draws.row(step, row);
        std::size_t different = 0;
        for (std::size_t i = 0; i < senders; ++i)
          different += row[i] == draws.at(step, static_cast<std::uint32_t>(i)) ? 0 : 1;
        CHECK(different == 0);
      }
    }
  }
}

TEST_CASE("draws of different messages, operations, channels and seeds differ") {
  const JitterTable table(lognormal(5e-6, 0.5));
  std::set<double> seen;
  std::size_t count = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    for (std::uint32_t channel = 0; channel < 3; ++channel)
      for (const std::uint64_t operation : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32})
        for (std::uint32_t step = 0; step < 12; ++step)
          for (std::uint32_t sender = 0; sender < 20; ++sender, ++count)
            seen.insert(JitterDraws{&table, seed, channel, operation}.at(step, sender));
  CHECK(seen.size() == count);
}

TEST_CASE("the table's mean is the distribution's to 1e-4") {
  // The mean of the quantile function, by the midpoint rule: 64 points in each of the 4096 intervals.
  for (const Distribution& distribution : kDistributions) {
    CAPTURE(static_cast<int>(distribution.kind));
    const JitterTable table(distribution);
    double sum = 0;
    constexpr std::uint32_t kPoints = 1u << 18;
    for (std::uint32_t i = 0; i < kPoints; ++i) sum += table.draw((i << 14) + (1u << 13));
    CHECK(sum / kPoints == doctest::Approx(distribution.mean()).epsilon(1e-4));
  }
}

TEST_CASE("the table's quantiles are the distribution's, exactly in the outermost two intervals") {
  for (const Distribution& distribution : kDistributions) {
    CAPTURE(static_cast<int>(distribution.kind));
    const JitterTable table(distribution);
    for (const std::uint32_t bits :
         {0u, 1u, 77777u, (1u << 20) - 1, ~0u, ~0u - 1, ~0u - 77777, ~0u - (1u << 20) + 1})
      CHECK(table.draw(bits) == distribution.quantile(probability_of(bits)));
    // Inside, a chord of 1/4096 of the probability: worst next to a thick tail.
    for (const double probability : {0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999}) {
      CAPTURE(probability);
      const auto bits = static_cast<std::uint32_t>(probability * 0x1p32);
      CHECK(table.draw(bits) == doctest::Approx(distribution.quantile(probability_of(bits))).epsilon(2e-3));
    }
  }
}

TEST_CASE("draws grow with their uniform number, also where table and tail meet") {
  for (const Distribution& distribution : kDistributions) {
    CAPTURE(static_cast<int>(distribution.kind));
    const JitterTable table(distribution);
    for (const std::uint32_t edge : {1u << 20, 2u << 20, 2048u << 20, 4095u << 20}) {
      CAPTURE(edge);
      CHECK(table.draw(edge - 1) <= table.draw(edge));
      CHECK(table.draw(edge - 1) == doctest::Approx(table.draw(edge)).epsilon(1e-3));
    }
  }
}

TEST_CASE("the mean of a million draws is the distribution's within four standard errors") {
  for (const Distribution& distribution : {kDistributions[1], kDistributions[2], kDistributions[4]}) {
    CAPTURE(static_cast<int>(distribution.kind));
    const JitterTable table(distribution);
    std::vector<double> row(1000);
    double sum = 0, squares = 0;
    for (std::uint32_t step = 0; step < 1000; ++step) {
      JitterDraws{&table, 2, 1, 5}.row(step, row);
      for (const double draw : row) {
        sum += draw;
        squares += draw * draw;
      }
    }
    const double mean = sum / 1e6, error = std::sqrt((squares / 1e6 - mean * mean) / 1e6);
    CHECK(std::fabs(mean - distribution.mean()) < 4 * error);
  }
}

TEST_CASE("jitter of a message is added to its latency: P = 2 by hand") {
  const JitterTable table(lognormal(5e-6, 0.5));
  const JitterDraws draws{&table, 1, 1, 3};
  const Plan plan = plan_of(CollectiveOp::all_reduce, "ring", 1e6, star(2));
  // Two steps; in each both messages start together and both ranks wait for the later one.
  double expected = 0;
  for (const std::uint32_t step : {0u, 1u})
    expected += kAlpha + 0.5e6 / kBandwidth + std::max(draws.at(step, 0), draws.at(step, 1));
  for (const double end : ends_of(plan, {0, 0}, &draws))
    CHECK(end == doctest::Approx(expected).epsilon(1e-14));
}

}  // namespace simsgd::test::collectives_jitter
