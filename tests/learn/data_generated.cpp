// Generated data sets, and the tables of plug-ins.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/learn/support.hpp"

namespace simsgd::test::learn_data_generated {

using namespace simsgd::testing;

TEST_CASE("generated data are a function of parameters and seed, and consistent") {
  for (const std::string name : {"gaussian_mixture", "quadratic", "teacher_student"}) {
    CAPTURE(name);
    const Json parameters = {{"samples", 50}};
    const DataSets one = load(name, parameters, 3), same = load(name, parameters, 3),
                   other = load(name, parameters, 4);
    CHECK(one.train->count == 50);
    CHECK(one.train->floats == same.train->floats);
    CHECK(one.train->targets == same.train->targets);
    CHECK(one.train->floats != other.train->floats);
    CHECK(problem_of(*one.train).empty());
    if (one.test) CHECK(problem_of(*one.test).empty());
    if (one.test) CHECK(one.test->floats != one.train->floats);
  }
}

TEST_CASE("more samples extend a generated classification, they do not change what was there") {
  const DataSet few = *load("gaussian_mixture", {{"samples", 10}}).train;
  const DataSet many = *load("gaussian_mixture", {{"samples", 20}}).train;
  CHECK(std::equal(few.floats.begin(), few.floats.end(), many.floats.begin()));
  CHECK(std::equal(few.labels.begin(), few.labels.end(), many.labels.begin()));
}

TEST_CASE("samples of a class lie around a mean at the distance asked for") {
  // Separation 5, one feature set of 50: |mean|^2 = 25 and a sample's squared length has mean 25 + 50 = 75
  // and variance 4 * 25 + 2 * 50 = 200; over 4,000 samples the mean is known to 14.1 / 63 = 0.22.
  const DataSet data =
      *load("gaussian_mixture", {{"samples", 4000}, {"features", 50}, {"separation", 5}}).train;
  double squares = 0;
  for (const float x : data.floats) squares += static_cast<double>(x) * static_cast<double>(x);
  CHECK(std::abs(squares / 4000 - 75) < 4 * 0.22);
  const std::set<std::int32_t> labels(data.labels.begin(), data.labels.end());
  CHECK(labels.size() == 10);
}

TEST_CASE("a quadratic has curvatures from 1 down to 1 / condition, and the vector of ones as optimum") {
  const DataSet data =
      *load("quadratic", {{"dimension", 3}, {"condition", 100}, {"samples", 500}, {"noise", 2}}).train;
  REQUIRE(data.curvature.size() == 3);
  CHECK(data.curvature[0] == 1);
  CHECK(data.curvature[1] == doctest::Approx(0.1));  // 100^(-1/2)
  CHECK(data.curvature[2] == doctest::Approx(0.01));
  // About 1/2 (1 + 0.1 + 0.01) 2^2 = 2.22; the first variance is known to sqrt(2 / 500) = 6 per cent.
  CHECK(std::abs(data.optimum - 2.22) < 4 * 0.06 * 2.22);

  const auto model = model_in_double("quadratic").make(Json::object(), data);
  const Differentiated at_optimum = differentiate(*model, {1, 1, 1}, data);
  CHECK(at_optimum.loss == doctest::Approx(data.optimum).epsilon(1e-9));
  for (const double slope : at_optimum.gradient) CHECK(std::abs(slope) < 1e-7);
  // At the start, x = 0, the loss is 1/2 (1 + 0.1 + 0.01) = 0.555 more.
  CHECK(differentiate(*model, {0, 0, 0}, data).loss - data.optimum == doctest::Approx(0.555).epsilon(1e-6));
}

TEST_CASE("without noise a quadratic's least loss is 0, and one dimension has curvature 1") {
  const DataSet data = *load("quadratic", {{"dimension", 1}, {"noise", 0}, {"samples", 4}}).train;
  CHECK(data.optimum == 0);
  CHECK(data.curvature == std::vector<double>{1});
  CHECK(data.floats == std::vector<float>{1, 1, 1, 1});
}

TEST_CASE("a linear teacher's targets are a linear function of the inputs, but for the noise") {
  // Two features, no noise: three samples x1, x2, x3 with y = w . x satisfy y3 = a y1 + b y2 where x3 = a x1
  // + b x2.
  const DataSet data = *load("teacher_student", {{"features", 2}, {"noise", 0}, {"samples", 3}}).train;
  const auto x = [&](std::size_t i) { return static_cast<double>(data.floats[i]); };
  const double determinant = x(0) * x(3) - x(1) * x(2);
  const double a = (x(4) * x(3) - x(5) * x(2)) / determinant;
  const double b = (x(0) * x(5) - x(1) * x(4)) / determinant;
  CHECK(static_cast<double>(data.targets[2]) ==
        doctest::Approx(a * static_cast<double>(data.targets[0]) + b * static_cast<double>(data.targets[1]))
            .epsilon(1e-5));
  CHECK(data.optimum == 0);
}

TEST_CASE("the least loss of a student is half the noise of all outputs") {
  // 3 outputs of noise 0.2: 3 * 0.04 / 2 = 0.06.
  const DataSet data =
      *load("teacher_student", {{"outputs", 3}, {"noise", 0.2}, {"hidden", {5}}, {"samples", 4}}).train;
  CHECK(data.optimum == doctest::Approx(0.06));
  CHECK(data.target_size == 3);
  CHECK(load("gaussian_mixture", {{"test_samples", 0}}).test == nullptr);
  CHECK(std::isnan(load("gaussian_mixture", {{"samples", 4}}).train->optimum));
}

TEST_CASE("every plug-in is listed once, in order, with a summary and a description of each parameter") {
  std::vector<Json> models, sources;
  for (const ModelPlugin& plugin : model_plugins()) plugin.form(models.emplace_back());
  for (const DataPlugin& plugin : data_plugins()) plugin.form(sources.emplace_back());
  for (const std::vector<Json>& table : {models, sources}) {
    CHECK(std::is_sorted(table.begin(), table.end(),
                         [](const Json& a, const Json& b) { return a["title"] < b["title"]; }));
    for (const Json& form : table) {
      CAPTURE(form["title"]);
      const auto summary = form["description"].get<std::string>();
      CHECK(!summary.empty());
      CHECK(summary.back() != '.');
      for (const auto& property : form["properties"].items()) {
        const std::string& key = property.key();
        const Json& schema = property.value();
        CAPTURE(key);
        CHECK(schema.contains("description"));
        CHECK((schema.contains("type") || schema.contains("enum")));
      }
      for (const std::string key : form["required"]) CHECK(form["properties"].contains(key));
    }
  }
}

TEST_CASE("a data set that disagrees with itself says how") {
  DataSet data = random_classes(4, 3, 2, 1);
  CHECK(problem_of(data) == "");
  DataSet broken = data;
  broken.floats.pop_back();
  CHECK(problem_of(broken) == "its inputs are not features x count bytes, or as many floats");
  broken = data;
  broken.labels[2] = 2;
  CHECK(problem_of(broken) == "a label is not a class");
  broken = data;
  broken.labels.pop_back();
  CHECK(problem_of(broken) == "it has not one label for each sample");
  broken = data;
  broken.targets = {1};
  CHECK(problem_of(broken) == "it has not target_size targets for each sample");
  CHECK(problem_of(DataSet()) == "it has no samples or no features");
}

}  // namespace simsgd::test::learn_data_generated
