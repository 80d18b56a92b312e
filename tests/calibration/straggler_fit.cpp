// Straggler fits on steps whose parameters are known.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "analysis/calibration/straggler_fit.hpp"
#include "sim/base/random.hpp"

namespace simsgd::test::calibration_straggler_fit {

namespace {

using namespace simsgd::calibration;

constexpr StragglerFitOptions kPoint{.draws = 0, .goodness_draws = 0};

// Forward recursions of normals; no plug-in. Fast 3 to 5 % (lag 1: 0.3), slow 4 % (10 steps), common 3 %
// (anew).
StepTable known(std::size_t steps, std::uint64_t seed) {
  Stream stream({seed, Purpose::algorithm, 0, 0});
  StepTable table;
  table.times_s.resize(8);
  std::vector<double> fast(8), slow(8);
  for (int w = 0; w < 8; ++w) {
    table.workers.push_back(w);
    fast[static_cast<std::size_t>(w)] = stream.normal();
    slow[static_cast<std::size_t>(w)] = stream.normal();
  }
  const double rho = std::exp(-0.1);
  for (std::size_t step = 1; step <= steps; ++step) {
    table.steps.push_back(step);
    const double common = 0.03 * stream.normal();
    for (std::size_t w = 0; w < 8; ++w) {
      fast[w] = 0.3 * fast[w] + std::sqrt(1 - 0.09) * stream.normal();
      slow[w] = rho * slow[w] + std::sqrt(1 - rho * rho) * stream.normal();
      table.times_s[w].push_back(0.2 * (w < 2 ? 1.1 : 1) *
                                 std::exp((w % 2 == 0 ? 0.03 : 0.05) * fast[w] + 0.04 * slow[w] + common));
    }
  }
  return table;
}

}  // namespace

TEST_CASE("with many steps every parameter comes back") {
  const StragglerParameters fitted = fit_stragglers(known(6000, 1), kPoint).parameters;
  // Mean of factors: (2 x 1.1 + 6) / 8 = 1.025.
  CHECK(fitted.base_s == doctest::Approx(0.205).epsilon(0.01));
  for (std::size_t w = 0; w < 8; ++w) {
    CAPTURE(w);
    CHECK(fitted.factors[w] == doctest::Approx((w < 2 ? 1.1 : 1) / 1.025).epsilon(0.01));
    CHECK(fitted.fast_cvs[w] == doctest::Approx(w % 2 == 0 ? 0.03 : 0.05).epsilon(0.1));
    CHECK(fitted.slow_cvs[w] == doctest::Approx(0.04).epsilon(0.15));
  }
  CHECK(fitted.fast_correlation == doctest::Approx(0.3).epsilon(0.15));
  CHECK(fitted.slow_steps == doctest::Approx(10).epsilon(0.2));
  CHECK(fitted.common_cv == doctest::Approx(0.03).epsilon(0.05));
  CHECK(fitted.common_steps < 0.5);
}

TEST_CASE("a fit of what a fit has simulated is that fit, through the plug-in") {
  StragglerParameters parameters = fit_stragglers(known(1000, 2), kPoint).parameters;
  const StragglerParameters again = fit_stragglers(simulated_steps(parameters, 6000, 3), kPoint).parameters;
  CHECK(again.base_s == doctest::Approx(parameters.base_s).epsilon(0.01));
  CHECK(again.slow_steps == doctest::Approx(parameters.slow_steps).epsilon(0.25));
  CHECK(again.common_cv == doctest::Approx(parameters.common_cv).epsilon(0.08));
  for (std::size_t w = 0; w < 8; ++w)
    CHECK(again.fast_cvs[w] == doctest::Approx(parameters.fast_cvs[w]).epsilon(0.12));
}

TEST_CASE("factors of workers that differ by chance only are drawn together") {
  StepTable table = known(120, 4);
  for (std::size_t w = 0; w < 2; ++w)
    for (double& each : table.times_s[w]) each /= 1.1;
  double spread = 0, of_means = 0;
  const StragglerParameters fitted = fit_stragglers(table, kPoint).parameters;
  for (std::size_t w = 0; w < 8; ++w) {
    double mean = 0;
    for (const double each : table.times_s[w]) mean += each / 120;
    of_means += std::pow(mean / fitted.base_s - 1, 2);
    spread += std::pow(fitted.factors[w] - 1, 2);
  }
  CHECK(spread < 0.5 * of_means);
}

TEST_CASE("what follows the fitted steps begins where they ended, and forgets it") {
  StragglerFit fit = fit_stragglers(known(300, 5), kPoint);
  fit.parameters.slow_steps = 10;
  fit.parameters.common_steps = 0;
  fit.last_slow.assign(8, 0.0);
  fit.last_slow[3] = 0.1;
  // rho / (1 - rho) = 9.5 steps of 0.1 in all.
  const StragglerParameters soon = continued(fit, fit.parameters, 1),
                            late = continued(fit, fit.parameters, 1000);
  CHECK(soon.factors[3] / fit.parameters.factors[3] == doctest::Approx(std::exp(0.1 * std::exp(-0.1))));
  CHECK(late.factors[3] / fit.parameters.factors[3] == doctest::Approx(std::exp(0.00095)).epsilon(1e-5));
  CHECK(late.factors[2] == fit.parameters.factors[2]);
}

TEST_CASE("the same data and seed give the same fit; one worker has no common factor") {
  const StepTable table = known(100, 6);
  const StragglerFitOptions options{.draws = 3, .goodness_draws = 5};
  CHECK(fit_stragglers(table, options).parameters.section() ==
        fit_stragglers(table, options).parameters.section());
  CHECK(fit_stragglers(table, options).intervals[3].low == fit_stragglers(table, options).intervals[3].low);
  StepTable one = table;
  one.workers.resize(1);
  one.times_s.resize(1);
  const StragglerParameters alone = fit_stragglers(one, kPoint).parameters;
  CHECK(alone.common_cv == 0);
  CHECK(alone.factors == std::vector<double>{1});
  CHECK(!alone.section().contains("common"));
}

TEST_CASE("too few steps, and workers without noise, are refused") {
  const auto refusal = [](const StepTable& table) {
    try {
      fit_stragglers(table, kPoint);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(known(29, 1)) ==
        "29 steps with a time of each of the 8 workers are too few: give at least 30");
  CHECK(refusal({}) == "0 steps with a time of each of the 0 workers are too few: give at least 30");
  StepTable flat = known(40, 1);
  flat.times_s[3].assign(40, 1.0);
  CHECK(refusal(flat) == "all times of worker 3 are the same: there is no noise to fit");
}

}  // namespace simsgd::test::calibration_straggler_fit
