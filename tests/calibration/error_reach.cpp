// How far off a further prediction is, from few errors: by an independent sum over scales, by drawn errors of
// a known scale, and where one error is far out.
#include "analysis/calibration/uncertainty.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/random.hpp"

namespace simsgd::test::calibration_error_reach {

namespace {

double drawn(Stream& stream, double scale) {
  const double u = stream.uniform();
  return scale * (2 * u - 1) / std::sqrt(2 * u * (1 - u));
}

std::vector<CountedError> counted(const std::vector<double>& errors) {
  std::vector<CountedError> all;
  for (const double each : errors) all.push_back({each});
  return all;
}

}  // namespace

TEST_CASE("of errors of one unknown scale half and nine tenths are held, however few there are") {
  for (const std::size_t count : {2UL, 5UL, 20UL}) {
    constexpr int kTrials = 1000;
    int half = 0, most = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      Stream stream({.seed = 7,
                     .purpose = Purpose::resampling,
                     .entity = static_cast<std::uint32_t>(count),
                     .step = static_cast<std::uint64_t>(trial)});
      std::vector<double> errors;
      for (std::size_t i = 0; i < count; ++i) errors.push_back(drawn(stream, 0.03));
      const Reach reach = reach_of_errors(counted(errors));
      const double next = std::fabs(drawn(stream, 0.03));
      half += next <= reach[0] ? 1 : 0;
      most += next <= reach[1] ? 1 : 0;
    }
    CAPTURE(count);
    CHECK(half / double{kTrials} == doctest::Approx(0.5).epsilon(0.08));
    CHECK(most / double{kTrials} == doctest::Approx(0.9).epsilon(0.03));
  }
}

TEST_CASE("one error that is far out does not decide alone, and counts are repeats") {
  const Reach without = reach_of_errors(counted({0.01, 0.02, 0.03, 0.01, 0.02, 0.03, 0.01, 0.02, 0.03})),
              with = reach_of_errors(counted({0.01, 0.02, 0.03, 0.01, 0.02, 0.03, 0.01, 0.02, 0.6}));
  CHECK(with[1] < 2 * without[1]);
  CHECK(with[1] > without[1]);
  CHECK(reach_of_errors({{0.01, 3}, {0.02, 3}, {0.03, 3}})[1] == doctest::Approx(without[1]));
  CHECK(reach_of_errors({}) == Reach{});
  CHECK(reach_of_errors(counted({0, 0})) == Reach{});
  CHECK(reach_of_errors(counted({0.02}))[1] > 5 * reach_of_errors(counted({0.02}))[0]);
}

TEST_CASE("errors that grow with what goes with time are the factor's, others are not") {
  Stream stream({.seed = 8, .purpose = Purpose::resampling, .entity = 0, .step = 0});
  std::vector<CountedError> growing, flat;
  for (int i = 0; i < 60; ++i) {
    const double slope = 0.05 + 0.95 * (i % 6) / 5.0;
    growing.push_back({drawn(stream, 0.03 * slope), 1, slope});
    flat.push_back({drawn(stream, 0.03), 1, slope});
  }
  CHECK(share_with_slopes(growing) > 0.7);
  CHECK(share_with_slopes(flat) < 0.3);
  for (CountedError& each : growing) each.slope = 1;
  CHECK(share_with_slopes(growing) == 0);  // nothing tells them apart
}

}  // namespace simsgd::test::calibration_error_reach
