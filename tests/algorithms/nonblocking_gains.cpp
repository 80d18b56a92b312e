// Non-blocking SGD against the closed forms and the table of gains in samples per second over the blocking
// method (no communication, n = 8 workers, M = 8 micro-batches, a full batch of c = 1 s at speed 1). Longer
// than a unit test.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/algorithms/nonblocking_support.hpp"

namespace simsgd::test::algorithms_nonblocking_gains {

namespace {

constexpr std::uint64_t kRounds = 4000;
const std::vector<double> kEqual(8, 1.0);

struct Outcome {
  double round_s, samples_per_s;
};

Outcome outcome(const std::vector<double>& speeds, const Json& parameters, const Json& straggler,
                std::uint64_t rounds) {
  Job job = round_job(speeds, parameters, rounds);
  if (!straggler.is_null()) add_straggler(job, straggler);
  const RunRecord record = simulate_job(job);
  double samples = 0;
  for (const WorkerRecord& worker : record.workers) samples += worker.samples;
  return {record.end_s / static_cast<double>(rounds), samples / record.end_s};
}

double gain(const std::vector<double>& speeds, const std::string& preempt, const Json& straggler = nullptr) {
  const std::uint64_t rounds = straggler.is_null() ? 10 : kRounds;
  const double blocking = outcome(speeds, {{"trigger", "none"}}, straggler, rounds).samples_per_s;
  return outcome(speeds, {{"preempt", preempt}}, straggler, rounds).samples_per_s / blocking;
}

std::vector<double> some_slow(int count, double speed) {
  std::vector<double> speeds = kEqual;
  for (int i = 0; i < count; ++i) speeds[static_cast<std::size_t>(i)] = speed;
  return speeds;
}

// Exp(mean 0.5 c), once per batch up front or for each of the eight micro-batches an eighth of it.
Json exponential(const std::string& per) {
  return {{"name", "exponential"}, {"mean", 0.5}, {"relative", true}, {"per", per}};
}

}  // namespace

TEST_CASE("blocking, delays Exp(theta): a round takes c + theta H_n; non-blocking, drop: c + theta / n") {
  const double harmonic = 1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5. + 1 / 6. + 1 / 7. + 1 / 8.;
  const Json once = exponential("step");
  // The maximum of n exponentials has variance theta^2 sum 1/i^2 < 1.65 theta^2; the minimum theta^2 / n^2.
  const double sigma = 0.5 / std::sqrt(static_cast<double>(kRounds));
  CHECK(std::fabs(outcome(kEqual, {{"trigger", "none"}}, once, kRounds).round_s - (1 + 0.5 * harmonic)) <
        4 * 1.28 * sigma);
  CHECK(std::fabs(outcome(kEqual, {{"preempt", "drop"}}, once, kRounds).round_s - (1 + 0.5 / 8)) <
        4 * sigma / 8);
}

TEST_CASE("gains over blocking where speeds are constant are exact") {
  // The fast workers are through after 1 s. One at half speed has then finished 4 of 8 micro-batches: gain
  // 7.5 / 8 x 2. With "finish" the fifth, begun at that instant, makes the round 1.25 s: 7.625 / 8 x 2
  // / 1.25.
  CHECK(gain(kEqual, "drop") == doctest::Approx(1.0).epsilon(1e-9));
  CHECK(gain(kEqual, "finish") == doctest::Approx(1.0).epsilon(1e-9));
  CHECK(gain(some_slow(1, 0.5), "drop") == doctest::Approx(1.875).epsilon(1e-9));
  CHECK(gain(some_slow(1, 0.5), "finish") == doctest::Approx(1.525).epsilon(1e-9));
  // At 0.4 speed: 3 of 8 after 1 s, the fourth at 1.25 s; blocking takes 2.5 s.
  CHECK(gain(some_slow(1, 0.4), "drop") == doctest::Approx(7.375 / 8 * 2.5).epsilon(1e-9));
  CHECK(gain(some_slow(1, 0.4), "finish") == doctest::Approx(7.5 / 8 * 2).epsilon(1e-9));
  CHECK(gain(some_slow(4, 0.5), "drop") == doctest::Approx(1.5).epsilon(1e-9));
  CHECK(gain(some_slow(4, 0.5), "finish") == doctest::Approx(1.3).epsilon(1e-9));
}

TEST_CASE("gains over blocking under random delays agree with the table within sampling error") {
  // Table: 1.27 / 1.02 once per batch, 1.12 / 1.09 per micro-batch, to two places. The mean of 4,000 rounds
  // has a standard error of 0.004; the table's own is not known.
  constexpr double kError = 0.005 + 3 * 0.004;
  CHECK(std::fabs(gain(kEqual, "drop", exponential("step")) - 1.27) < kError);
  CHECK(std::fabs(gain(kEqual, "finish", exponential("step")) - 1.02) < kError);
  CHECK(std::fabs(gain(kEqual, "drop", exponential("micro_batch")) - 1.12) < kError);
  CHECK(std::fabs(gain(kEqual, "finish", exponential("micro_batch")) - 1.09) < kError);
}

}  // namespace simsgd::test::algorithms_nonblocking_gains
