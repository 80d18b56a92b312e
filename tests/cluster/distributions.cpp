#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

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

}  // namespace simsgd::test::cluster_distributions
