// The full text of every message that an impossible distribution can cause.
#include <doctest/doctest.h>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_distribution_rejections {

namespace {

struct Case {
  const char* json;
  const char* text;
};

template <std::size_t count>
void check_all(const Case (&cases)[count], DrawUnit unit = DrawUnit::seconds) {
  for (const Case& each : cases) {
    CAPTURE(std::string(each.json));
    CHECK(rejection([&] { distribution(each.json, unit); }) == std::string(each.text));
  }
}

}  // namespace

TEST_CASE("a distribution needs a name that exists and only its own parameters") {
  check_all({
      {R"({"mean": 1})", "/delay/name: is missing. Name a distribution, such as \"exponential\""},
      {R"({"name": 5})", "/delay/name: is not a name. Name a distribution, such as \"exponential\""},
      {R"({"name": "lognormale"})",
       "/delay/name: is not a distribution. Did you mean \"lognormal\"? Valid are constant, uniform, exponential, shifted_exponential, lognormal, gamma, weibull, pareto or histogram"},
      {R"({"name": "cauchy"})",
       "/delay/name: is not a distribution. Valid are constant, uniform, exponential, shifted_exponential, lognormal, gamma, weibull, pareto or histogram"},
      {R"({"name": "exponential", "mena": 1})",
       "/delay/mena: is not a key here. Did you mean \"mean\"? Valid are mean"},
  });
}

TEST_CASE("amounts are times of at least 0") {
  check_all({
      {R"({"name": "exponential"})", "/delay/mean: is missing. Give a value for it"},
      {R"({"name": "exponential", "mean": -1})", "/delay/mean: is out of range. Give a time of at least 0"},
      {R"({"name": "exponential", "mean": "-1 ms"})",
       "/delay/mean: is out of range. Give a time of at least 0"},
      {R"({"name": "exponential", "mean": true})",
       "/delay/mean: is not a quantity. Write \"20 ms\" or 0.02 (seconds)"},
      {R"({"name": "exponential", "mean": "5 GB"})",
       "/delay/mean: has the unit \"GB\", which is not a unit of time. Write \"20 ms\" or 0.02 (seconds)"},
      {R"("5 GB")",
       "/delay: has the unit \"GB\", which is not a unit of time. Write \"20 ms\" or 0.02 (seconds)"},
      {"-1", "/delay: is out of range. Give a time of at least 0"},
      {R"({"name": "uniform", "minimum": 2, "maximum": 1})",
       "/delay/maximum: is below \"minimum\". Give a maximum of at least the minimum"},
  });
}

TEST_CASE("factors and relative delays take no unit") {
  check_all({{R"({"name": "exponential", "mean": "1 ms"})",
              "/delay/mean: is not a plain number. Give a factor without a unit, such as 1.5"}},
            DrawUnit::factor);
  check_all(
      {{R"({"name": "exponential", "mean": "1 ms"})",
        "/delay/mean: is not a plain number, but \"relative\" asks for multiples of the compute time. Give a number without a unit, such as 0.5, or leave \"relative\" out"}},
      DrawUnit::relative);
}

TEST_CASE("a log-normal has one location and one spread") {
  check_all({
      {R"({"name": "lognormal", "sigma": 1})", "/delay/mean: is missing. Give either \"mean\" or \"median\""},
      {R"({"name": "lognormal", "mean": 1, "median": 1, "sigma": 1})",
       "/delay/median: is given beside \"mean\". Give either \"mean\" or \"median\""},
      {R"({"name": "lognormal", "mean": 1})", "/delay/sigma: is missing. Give either \"sigma\" or \"cv\""},
      {R"({"name": "lognormal", "mean": 1, "sigma": 1, "cv": 1})",
       "/delay/cv: is given beside \"sigma\". Give either \"sigma\" or \"cv\""},
      {R"({"name": "lognormal", "mean": 1, "sigma": 11})",
       "/delay/sigma: is out of range. Give a number from 0 to 10"},
      {R"({"name": "lognormal", "mean": 1, "cv": -1})",
       "/delay/cv: is out of range. Give a number from 0 to 1000000"},
      {R"({"name": "lognormal", "mean": 1, "sigma": "wide"})",
       "/delay/sigma: is not a number. Give a number from 0 to 10"},
      {R"({"name": "lognormal", "mean": 1e300, "sigma": 10})",
       "/delay/mean: lets draws grow beyond the largest number. Give a smaller one"},
  });
}

TEST_CASE("a gamma is given by mean and cv, or by shape and scale") {
  check_all({
      {R"({"name": "gamma"})",
       "/delay/mean: is missing. Give either \"mean\" and \"cv\" or \"shape\" and \"scale\""},
      {R"({"name": "gamma", "mean": 1, "cv": 1, "shape": 2})",
       "/delay/shape: is given beside \"mean\". Give either \"mean\" and \"cv\" or \"shape\" and \"scale\""},
      {R"({"name": "gamma", "cv": 1, "scale": 2})",
       "/delay/scale: is given beside \"cv\". Give either \"mean\" and \"cv\" or \"shape\" and \"scale\""},
      {R"({"name": "gamma", "mean": 1})",
       "/delay/cv: is missing. Give either \"mean\" and \"cv\" or \"shape\" and \"scale\""},
      {R"({"name": "gamma", "scale": 1})",
       "/delay/shape: is missing. Give either \"mean\" and \"cv\" or \"shape\" and \"scale\""},
      {R"({"name": "gamma", "shape": 1})",
       "/delay/scale: is missing. Give either \"mean\" and \"cv\" or \"shape\" and \"scale\""},
      {R"({"name": "gamma", "mean": 1, "cv": 0.0001})",
       "/delay/cv: is too small for a gamma distribution. Give 0, which draws the mean always, or at least 0.001"},
      {R"({"name": "gamma", "mean": 1, "cv": 101})",
       "/delay/cv: is out of range. Give a number from 0 to 100"},
      {R"({"name": "gamma", "shape": 0, "scale": 1})",
       "/delay/shape: is out of range. Give a number from 0.0001 to 1000000"},
  });
}

TEST_CASE("a Weibull and a Pareto have a shape above 0.1") {
  check_all({
      {R"({"name": "weibull", "scale": 1})", "/delay/shape: is missing. Give a value for it"},
      {R"({"name": "weibull", "shape": 0.05, "scale": 1})",
       "/delay/shape: is out of range. Give a number from 0.1 to 1000000"},
      {R"({"name": "weibull", "shape": 2})", "/delay/mean: is missing. Give either \"mean\" or \"scale\""},
      {R"({"name": "weibull", "shape": 2, "mean": 1, "scale": 1})",
       "/delay/scale: is given beside \"mean\". Give either \"mean\" or \"scale\""},
      {R"({"name": "pareto", "minimum": 1, "shape": 0})",
       "/delay/shape: is out of range. Give a number from 0.1 to 1000000"},
      {R"({"name": "pareto", "minimum": 1e200, "shape": 0.1})",
       "/delay/minimum: lets draws grow beyond the largest number. Give a smaller one"},
  });
}

TEST_CASE("a histogram has weights, and edges or a width") {
  check_all({
      {R"({"name": "histogram", "width": 1})", "/delay/weights: is missing. Give a value for it"},
      {R"({"name": "histogram", "width": 1, "weights": []})",
       "/delay/weights: is too short. Give at least 1 of them"},
      {R"({"name": "histogram", "width": 1, "weights": [1, -1]})",
       "/delay/weights/1: is out of range. Give a number of at least 0"},
      {R"({"name": "histogram", "width": 1, "weights": [0, 0]})",
       "/delay/weights: are all 0. Give at least one weight above 0"},
      {R"({"name": "histogram", "weights": [1]})",
       "/delay/edges: is missing. Give either \"edges\" or \"width\""},
      {R"({"name": "histogram", "width": 1, "edges": [0, 1], "weights": [1]})",
       "/delay/width: is given beside \"edges\". Give either \"edges\" or \"width\""},
      {R"({"name": "histogram", "start": 1, "edges": [0, 1], "weights": [1]})",
       "/delay/start: is given beside \"edges\". Give it with \"width\", or leave it out"},
      {R"({"name": "histogram", "width": 0, "weights": [1]})", "/delay/width: is 0. Give a width above 0"},
      {R"({"name": "histogram", "edges": [0, 1], "weights": [1, 1]})",
       "/delay/edges: has 2 edges for 2 weights. Give 3 edges, one more than weights"},
      {R"({"name": "histogram", "edges": [0, "2 ms", 0.001], "weights": [1, 1]})",
       "/delay/edges/2: is not above the edge before it. Give the edges in ascending order"},
      {R"({"name": "histogram", "edges": [0, "2 GB"], "weights": [1]})",
       "/delay/edges/1: has the unit \"GB\", which is not a unit of time. Write \"20 ms\" or 0.02 (seconds)"},
      {R"({"name": "histogram", "width": 1e308, "weights": [1, 1]})",
       "/delay/width: lets draws grow beyond the largest number. Give a smaller one"},
  });
}

}  // namespace simsgd::test::cluster_distribution_rejections
