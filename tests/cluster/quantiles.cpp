#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/lognormal.hpp>
#include <boost/math/distributions/pareto.hpp>
#include <boost/math/distributions/weibull.hpp>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "sim/base/distribution.hpp"

namespace simsgd::test::cluster_quantiles {

using Kind = Distribution::Kind;

namespace {

Distribution of(Kind kind, double shift, double scale, double shape = 1) {
  return {kind, shift, scale, shape, {}, {}};
}

/// Bins [0, 1] with a quarter of the weight, [1, 2] with none, [2, 4] with the rest.
Distribution gappy_histogram() { return {Kind::histogram, 0, 0, 1, {0, 1, 2, 4}, {0.25, 0.25, 1}}; }

}  // namespace

TEST_CASE("quantiles are the numbers that one finds by hand") {
  CHECK(of(Kind::constant, 0, 3).quantile(0.7) == 3);
  CHECK(of(Kind::uniform, 3, 2).quantile(0.25) == 3.5);
  // The median of an exponential is its mean times ln 2 = 0.69314718.
  CHECK(of(Kind::exponential, 1, 2).quantile(0.5) ==
        doctest::Approx(1 + 2 * 0.69314718055994531).epsilon(1e-15));
  // Phi(1) = 0.84134474606854293: one sigma above the median of the logarithm, a factor e^0.5 = 1.6487213.
  CHECK(of(Kind::lognormal, 0, 3, 0.5).quantile(0.5) == 3);
  CHECK(of(Kind::lognormal, 0, 3, 0.5).quantile(0.84134474606854293) ==
        doctest::Approx(3 * 1.6487212707001282).epsilon(1e-14));
  // A gamma of shape 2 has the distribution function 1 - (1 + x) e^-x, 1 - 2/e = 0.26424112 at 1.
  CHECK(of(Kind::gamma, 0, 5, 2).quantile(0.26424111765711533) == doctest::Approx(5).epsilon(1e-14));
  // 1 - e^-(x/s)^2 is 1 - e^-1 at the scale and 1 - e^-4 at twice the scale.
  CHECK(of(Kind::weibull, 0, 3, 2).quantile(0.63212055882855767) == doctest::Approx(3).epsilon(1e-14));
  CHECK(of(Kind::weibull, 0, 3, 2).quantile(0.98168436111126578) == doctest::Approx(6).epsilon(1e-14));
  // 1 - (1/x)^2 = 3/4 at 2.
  CHECK(of(Kind::pareto, 0, 1, 2).quantile(0.75) == doctest::Approx(2).epsilon(1e-15));
}

TEST_CASE("a histogram is uniform inside its bins and never draws from an empty one") {
  CHECK(gappy_histogram().quantile(0.125) == 0.5);
  CHECK(gappy_histogram().quantile(0.625) == 3);
  CHECK(gappy_histogram().quantile(0.25) == 2);
  CHECK(gappy_histogram().quantile(0x1p-53) < 1e-15);
  CHECK(gappy_histogram().quantile(1 - 0x1p-53) == doctest::Approx(4));
  // 1/4 of the draws around 0.5, 3/4 around 3.
  CHECK(gappy_histogram().mean() == 0.25 * 0.5 + 0.75 * 3);
}

TEST_CASE("means are those of the textbook") {
  CHECK(of(Kind::constant, 0, 3).mean() == 3);
  CHECK(of(Kind::uniform, 3, 2).mean() == 4);
  CHECK(of(Kind::exponential, 1, 2).mean() == 3);
  CHECK(of(Kind::lognormal, 0, 3, 0.5).mean() == doctest::Approx(3 * 1.1331484530668263).epsilon(1e-15));
  CHECK(of(Kind::gamma, 0, 5, 2).mean() == 10);
  // Gamma(1 + 1/2) = sqrt(pi) / 2 = 0.88622693.
  CHECK(of(Kind::weibull, 0, 3, 2).mean() == doctest::Approx(3 * 0.88622692545275801).epsilon(1e-15));
  CHECK(of(Kind::pareto, 0, 1, 3).mean() == 1.5);
  CHECK(of(Kind::pareto, 0, 1, 1).mean() == std::numeric_limits<double>::infinity());
}

namespace {

/// Asserts that the distribution function takes each quantile back to its probability, from both ends.
template <typename Boost>
void check_round_trip(const Distribution& distribution, const Boost& reference) {
  for (const double p : {1e-12, 1e-6, 0.01, 0.3, 0.5, 0.51, 0.9, 0.999, 1 - 1e-9}) {
    CAPTURE(p);
    const double x = distribution.quantile(p);
    CHECK(boost::math::cdf(reference, x) == doctest::Approx(p).epsilon(1e-10));
    CHECK(boost::math::cdf(boost::math::complement(reference, x)) == doctest::Approx(1 - p).epsilon(1e-10));
  }
}

}  // namespace

TEST_CASE("the distribution functions of Boost.Math take quantiles back to their probability") {
  for (const double shape : {0.3, 1.0, 2.0, 40.0, 1e4}) {
    CAPTURE(shape);
    check_round_trip(of(Kind::gamma, 0, 2, shape), boost::math::gamma_distribution(shape, 2.0));
  }
  for (const double shape : {0.5, 1.0, 3.0}) {
    CAPTURE(shape);
    check_round_trip(of(Kind::lognormal, 0, 1, shape), boost::math::lognormal_distribution(0.0, shape));
    check_round_trip(of(Kind::weibull, 0, 2, shape), boost::math::weibull_distribution(shape, 2.0));
  }
  // A Pareto's quantile of 1e-12 differs from the minimum in the last digits only: no round trip there.
  const boost::math::pareto_distribution pareto(2.0, 3.0);
  for (const double p : {0.01, 0.5, 0.9, 1 - 1e-9}) {
    CAPTURE(p);
    CHECK(boost::math::cdf(complement(pareto, of(Kind::pareto, 0, 2, 3).quantile(p))) ==
          doctest::Approx(1 - p).epsilon(1e-10));
  }
}

namespace {

Distribution arbitrary_distribution() {
  const double scale = 1e-6 * *rc::gen::inRange(1, 1000000);
  const double shape = 0.1 * *rc::gen::inRange(2, 80);
  if (*rc::gen::inRange(0, 8) == 0) return gappy_histogram();
  const Kind kind = *rc::gen::element(Kind::constant, Kind::uniform, Kind::exponential, Kind::lognormal,
                                      Kind::gamma, Kind::weibull, Kind::pareto);
  return of(kind, 0, scale, shape);
}

/// Checks a property on 100 seeded cases; doctest shows the smallest case that breaks it.
template <typename Property>
void check_property(const Property& property) {
  rc::detail::TestParams params;
  params.seed = 2024;
  const rc::detail::TestResult result =
      rc::detail::checkTestable(property, rc::detail::TestMetadata{}, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  INFO(message.str());
  CHECK(result.is<rc::detail::SuccessResult>());
}

double arbitrary_probability() { return (*rc::gen::inRange<std::uint32_t>(0, 1u << 31) + 0.5) * 0x1p-31; }

}  // namespace

TEST_CASE("a larger probability never has a smaller quantile") {
  check_property([] {
    const Distribution distribution = arbitrary_distribution();
    const double p = arbitrary_probability(), q = arbitrary_probability();
    RC_ASSERT(distribution.quantile(std::min(p, q)) <= distribution.quantile(std::max(p, q)));
  });
}

TEST_CASE("a thicker tail is never faster in any draw") {
  check_property([] {
    const double p = arbitrary_probability();
    const double shape = 0.1 * *rc::gen::inRange(10, 50);
    RC_ASSERT(of(Kind::pareto, 0, 1, shape).quantile(p) >= of(Kind::pareto, 0, 1, shape + 0.5).quantile(p));
    RC_ASSERT(of(Kind::exponential, 0, shape + 1).quantile(p) > of(Kind::exponential, 0, shape).quantile(p));
  });
}

TEST_CASE("the ends 0 and 1 are not probabilities of a draw") {
  CHECK_THROWS_AS(of(Kind::uniform, 0, 1).quantile(0), std::logic_error);
  CHECK_THROWS_AS(of(Kind::uniform, 0, 1).quantile(1), std::logic_error);
}

}  // namespace simsgd::test::cluster_quantiles
