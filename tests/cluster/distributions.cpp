#include <doctest/doctest.h>

#include <rapidcheck.h>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/lognormal.hpp>
#include <boost/math/distributions/pareto.hpp>
#include <boost/math/distributions/weibull.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <numbers>
#include <set>
#include <sstream>
#include <stdexcept>

#include "sim/base/distribution.hpp"
#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_distributions {

using Kind = Distribution::Kind;

TEST_CASE("every distribution is made from its parameters") {
  CHECK(distribution(R"({"name": "constant", "value": "5 ms"})").quantile(0.3) == 0.005);
  CHECK(distribution(R"("5 ms")").quantile(0.3) == 0.005);
  CHECK(distribution("0.005").quantile(0.3) == 0.005);
  const Distribution uniform = distribution(R"({"name": "uniform", "minimum": "10 ms", "maximum": "30 ms"})");
  CHECK(uniform.quantile(0.25) == doctest::Approx(0.015));
  const Distribution shifted = distribution(R"({"name": "shifted_exponential", "shift": 1, "mean": 2})");
  CHECK(shifted.shift == 1);
  CHECK(shifted.mean() == 3);
  const Distribution pareto = distribution(R"({"name": "pareto", "minimum": "1 s", "shape": 3})");
  CHECK(pareto.mean() == 1.5);
}

TEST_CASE("the ways to write one distribution agree") {
  // cv^2 = exp(0.5^2) - 1, so cv = 0.53294; mean / median = exp(0.5^2 / 2) = 1.1331485.
  for (const char* text : {R"({"name": "lognormal", "mean": 2, "sigma": 0.5})",
                           R"({"name": "lognormal", "mean": 2, "cv": 0.53294035})",
                           R"({"name": "lognormal", "median": 1.7649938, "sigma": 0.5})"}) {
    CAPTURE(text);
    CHECK(distribution(text).mean() == doctest::Approx(2).epsilon(1e-7));
    CHECK(distribution(text).shape == doctest::Approx(0.5).epsilon(1e-7));
  }
  // cv 0.5 is shape 4; mean 2 is then scale 0.5.
  const Distribution by_mean = distribution(R"({"name": "gamma", "mean": 2, "cv": 0.5})");
  const Distribution by_shape = distribution(R"({"name": "gamma", "shape": 4, "scale": 0.5})");
  CHECK(by_mean.shape == by_shape.shape);
  CHECK(by_mean.scale == by_shape.scale);
  // The mean of a Weibull of shape 2 is its scale times sqrt(pi) / 2 = 0.88622693.
  CHECK(distribution(R"({"name": "weibull", "shape": 2, "mean": 0.88622692545275801})").scale ==
        doctest::Approx(1).epsilon(1e-15));
  CHECK(distribution(R"({"name": "weibull", "shape": 2, "scale": 1})").mean() ==
        doctest::Approx(0.88622692545275801).epsilon(1e-15));
  const Distribution edges =
      distribution(R"({"name": "histogram", "edges": [1, "1500 ms", 2], "weights": [1, 3]})");
  const Distribution width =
      distribution(R"({"name": "histogram", "start": 1, "width": "500 ms", "weights": [2, 6]})");
  CHECK(edges.edges == width.edges);
  CHECK(edges.cumulative == std::vector<double>{0.25, 1});
  CHECK(edges.cumulative == width.cumulative);
}

TEST_CASE("without spread a distribution draws its mean") {
  CHECK(distribution(R"({"name": "gamma", "mean": 2, "cv": 0})").quantile(0.9) == 2);
  CHECK(distribution(R"({"name": "lognormal", "mean": 2, "cv": 0})").quantile(0.9) == 2);
  CHECK(distribution(R"({"name": "uniform", "minimum": 2, "maximum": 2})").quantile(0.9) == 2);
  CHECK(distribution(R"({"name": "exponential", "mean": 0})").quantile(0.9) == 0);
}

TEST_CASE("samples have the mean and the spread of their distribution") {
  struct Case {
    const char* text;
    double variance;
  };
  // Variances: uniform (b - a)^2 / 12; exponential m^2; gamma and log-normal (cv m)^2; Weibull of shape 2
  // m^2 (4/pi - 1); Pareto of shape 5 x_m^2 a / ((a-1)^2 (a-2)) = 5/48; histogram of two equal bins of width
  // 1 apart by 2: 1/12 + 1.
  const Case cases[] = {
      {R"({"name": "uniform", "minimum": 1, "maximum": 3})", 4.0 / 12},
      {R"({"name": "exponential", "mean": 2})", 4},
      {R"({"name": "shifted_exponential", "shift": 3, "mean": 2})", 4},
      {R"({"name": "lognormal", "mean": 2, "cv": 0.5})", 1},
      {R"({"name": "gamma", "mean": 2, "cv": 0.5})", 1},
      {R"({"name": "gamma", "mean": 2, "cv": 2})", 16},
      {R"({"name": "weibull", "mean": 2, "shape": 2})", 4 * (1.2732395447 - 1)},
      {R"({"name": "pareto", "minimum": 1, "shape": 5})", 5.0 / 48},
      {R"({"name": "histogram", "start": 0, "width": 1, "weights": [1, 0, 1]})", 1 + 1.0 / 12}};
  for (const Case& each : cases) {
    CAPTURE(each.text);
    const Distribution drawn = distribution(each.text);
    Stream stream({.seed = 11, .purpose = Purpose::straggler, .entity = 0, .step = 1});
    Sample values, squares;
    for (int i = 0; i < 100000; ++i) {
      const double value = drawn.draw(stream);
      values.add(value);
      squares.add((value - drawn.mean()) * (value - drawn.mean()));
    }
    CHECK(values.agrees_with(drawn.mean()));
    CHECK(squares.agrees_with(each.variance));
  }
}

TEST_CASE("WAGMA's measured compute times have the mean that its paper states") {
  // Transformer on WMT17: 50 ms bins from 0; mean 0.293 s, standard deviation 0.135 s.
  const Distribution times = distribution(
      R"({"name": "histogram", "start": 0, "width": "50 ms", "weights": [0.0003, 0.0167, 0.0966, 0.1610, 0.1878,
          0.1384, 0.1096, 0.1076, 0.0500, 0.0367, 0.0340, 0.0121, 0.0348, 0.0140, 0.0005]})");
  CHECK(times.mean() == doctest::Approx(0.293).epsilon(0.005));
}

TEST_CASE("factors have no unit") {
  CHECK(distribution(R"({"name": "lognormal", "mean": 1, "cv": 0.1})", DrawUnit::factor).mean() ==
        doctest::Approx(1));
  CHECK(distribution("2", DrawUnit::factor).mean() == 2);
}

TEST_CASE("the table describes every parameter, and times are quantities only where times are asked for") {
  std::set<std::string> names;
  for (const DistributionPlugin& plugin : distribution_plugins()) {
    CAPTURE(plugin.info.name);
    CHECK(names.insert(plugin.info.name).second);
    CHECK(!plugin.info.summary.empty());
    for (const DrawUnit unit : {DrawUnit::seconds, DrawUnit::factor}) {
      Json form;
      plugin.form(form, unit);
      for (const auto& [key, schema] : form["properties"].items()) {
        CAPTURE(key);
        CHECK(!schema.value("description", "").empty());
        CHECK(!(unit == DrawUnit::factor && schema.contains("x-quantity")));
      }
      for (const std::string key : form["required"]) CHECK(form["properties"].contains(key));
    }
  }
  CHECK(names == std::set<std::string>{"constant", "uniform", "exponential", "shifted_exponential",
                                       "lognormal", "gamma", "weibull", "pareto", "histogram"});
}

TEST_CASE("the schema of a nested distribution has one form per distribution, and one for a plain amount") {
  const Json schema = draw_schema(DrawUnit::seconds, "How late");
  REQUIRE(schema["oneOf"].size() == 1 + distribution_plugins().size());
  CHECK(schema["oneOf"][0]["x-quantity"] == "time");
  const Json& exponential = schema["oneOf"][3];
  CHECK(exponential["properties"]["name"]["const"] == "exponential");
  CHECK(exponential["required"] == Json{"name", "mean"});
  CHECK(exponential["additionalProperties"] == false);
}

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

// How long a step takes that waits for the slowest worker, or only for the fastest: times against closed
// forms.

namespace {

constexpr double kCompute = 0.5;  // c: seconds of a step without stragglers
constexpr std::uint64_t kSteps = 5000;

struct StepTimes {
  Sample slowest;
  Sample fastest;
};

StepTimes step_times(const std::string& straggler, int workers) {
  const Stragglers all = stragglers(straggler, workers);
  StepTimes times;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    double slowest = 0, fastest = 1e300;
    for (int rank = 0; rank < workers; ++rank) {
      const Straggle straggle = all.at(1, rank, workers, step, kCompute);
      const double time = straggle.delay_s + straggle.factor * kCompute;
      slowest = std::max(slowest, time);
      fastest = std::min(fastest, time);
    }
    times.slowest.add(slowest);
    times.fastest.add(fastest);
  }
  return times;
}

/// Trapezoid rule; exact to many digits for what vanishes at both ends.
double integral(double from, double to, const std::function<double(double)>& function) {
  constexpr int kIntervals = 20000;
  double sum = (function(from) + function(to)) / 2;
  for (int i = 1; i < kIntervals; ++i) sum += function(from + (to - from) * i / kIntervals);
  return sum * (to - from) / kIntervals;
}

double standard_normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }
double standard_normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

}  // namespace

TEST_CASE("exponential delays: the slowest of n takes c + theta H_n, the fastest c + theta / n") {
  for (const int n : {2, 8, 32}) {
    CAPTURE(n);
    const StepTimes times = step_times(R"({"name": "exponential", "mean": "250 ms"})", n);
    double harmonic = 0;  // 1.5, 2.717857, 4.058495
    for (int i = 1; i <= n; ++i) harmonic += 1.0 / i;
    CHECK(times.slowest.agrees_with(kCompute + 0.25 * harmonic));
    CHECK(times.fastest.agrees_with(kCompute + 0.25 / n));
  }
}

TEST_CASE("a shift is added to slowest and fastest") {
  const StepTimes plain = step_times(R"({"name": "exponential", "mean": 0.25})", 8);
  const StepTimes shifted = step_times(R"({"name": "shifted_exponential", "shift": 2, "mean": 0.25})", 8);
  CHECK(shifted.slowest.mean() == doctest::Approx(plain.slowest.mean() + 2).epsilon(1e-12));
  CHECK(shifted.fastest.mean() == doctest::Approx(plain.fastest.mean() + 2).epsilon(1e-12));
}

TEST_CASE("uniform delays on [a, b]: the slowest of n takes c + a + (b - a) n / (n + 1)") {
  for (const int n : {2, 8, 32}) {
    CAPTURE(n);
    const StepTimes times = step_times(R"({"name": "uniform", "minimum": 0.1, "maximum": 0.4})", n);
    CHECK(times.slowest.agrees_with(kCompute + 0.1 + 0.3 * n / (n + 1)));
    CHECK(times.fastest.agrees_with(kCompute + 0.1 + 0.3 / (n + 1)));
  }
}

TEST_CASE(
    "log-normal delays: the slowest of n takes c + the integral of m e^(sigma z) n phi(z) Phi(z)^(n-1)") {
  const double median = 0.2, sigma = 0.5;
  for (const int n : {2, 8, 32}) {
    CAPTURE(n);
    const double slowest = integral(-12, 15, [&](double z) {
      return median * std::exp(sigma * z) * n * standard_normal_density(z) *
             std::pow(standard_normal_cdf(z), n - 1);
    });
    const StepTimes times = step_times(R"({"name": "lognormal", "median": 0.2, "sigma": 0.5})", n);
    CHECK(times.slowest.agrees_with(kCompute + slowest));
  }
}

}  // namespace simsgd::test::cluster_distributions
