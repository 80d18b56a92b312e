// Generated data sets, and the tables of plug-ins.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "sim/learn/model.hpp"
#include "tests/learn/support.hpp"

namespace simsgd::test::learn_data {

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

// Texts as data sets: tokens, samples and labels by hand, what UTF-8 is, and what is wrong with a file. Every
// message is given in full.

using doctest::Approx;

namespace {

std::string write_text(const std::string& name, const std::string& content) {
  const std::filesystem::path folder = std::filesystem::path(SIMSGD_BINARY_DIR) / "test_learn_files";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << content;
  return (folder / name).string();
}

DataSets load_text(const std::string& content, Json more) {
  more["path"] = write_text("text.txt", content);
  return load("text", more);
}

/// What the text is rejected with, after the key and the path; empty if it is not.
std::string text_rejection(const std::string& content, Json more = Json::object()) {
  const std::string path = write_text("bad.txt", content);
  more["path"] = path;
  try {
    load("text", more);
  } catch (const ParameterError& error) {
    const std::string said = error.what(), before = "/path: the file " + path + " ";
    return said.starts_with(before) ? said.substr(before.size()) : said;
  }
  return "";
}

std::string utf8(std::uint32_t point) {
  std::string bytes;
  const auto add = [&bytes](std::uint32_t byte) { bytes += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xc0 | point >> 6), add(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    add(0xe0 | point >> 12), add(0x80 | (point >> 6 & 0x3f)), add(0x80 | (point & 0x3f));
  } else {
    add(0xf0 | point >> 18), add(0x80 | (point >> 12 & 0x3f)), add(0x80 | (point >> 6 & 0x3f));
    add(0x80 | (point & 0x3f));
  }
  return bytes;
}

using Words = std::vector<std::uint16_t>;

}  // namespace

TEST_CASE("samples begin at every token of the training text, and lie side by side in the test text") {
  // Characters by code point: b 0, l 1, u 2, y-umlaut 3, euro 4. 10 characters; 40 % are the test text.
  const DataSets sets = load_text("blu\u00ffu\u20acblub", {{"context", 2}, {"test_fraction", 0.4}});
  const DataSet& train = *sets.train;
  CHECK(train.classes == 5);
  CHECK(train.tokens == Words{0, 1, 2, 3, 2, 4});
  CHECK(train.count == 4);  // of 2 tokens and a label each, from tokens 0, 1, 2 and 3 on
  CHECK(problem_of(train).empty());
  const Batch<float> batch = train.batch<float>(std::vector<std::int32_t>{3, 0});
  CHECK(batch.inputs.reshaped().eval() == Eigen::Vector4f(3, 2, 0, 1));
  CHECK(batch.labels == std::vector<std::int32_t>{2, 4, 1, 2});
  CHECK(train.bytes_per_token == Approx((4 + 2 + 3) / 6.0));
  CHECK(sets.test->tokens == Words{0, 1, 2, 0});
  CHECK(sets.test->count == 1);  // the second would begin at token 2, and has no label for its second token
  CHECK(problem_of(*sets.test).empty());
}

TEST_CASE("test samples that are asked for are spread over the test text") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>('!' + i % 90);
  const DataSet test = *load_text(text, {{"context", 3}, {"test_fraction", 0.5}, {"test_samples", 4}}).test;
  // 50 tokens have room for 16 samples side by side; every fourth begins at tokens 0, 12, 24, 36.
  CHECK(test.count == 4);
  const Batch<float> batch = test.batch<float>(std::vector<std::int32_t>{0, 3});
  CHECK(batch.inputs(0, 1) - batch.inputs(0, 0) == Approx(36));
  CHECK(load_text(text, {{"context", 3}, {"test_fraction", 0}}).test == nullptr);
}

TEST_CASE("by byte every file is a text of 256 tokens") {
  const DataSet train =
      *load_text("a\xff\xc3", {{"context", 2}, {"test_fraction", 0}, {"tokens", "byte"}}).train;
  CHECK(train.classes == 256);
  CHECK(train.tokens == Words{97, 255, 195});
  CHECK(train.bytes_per_token == 1);
}

TEST_CASE("bits a byte are nats a token over log 2 and the token's bytes") {
  // Two bytes a character: a loss of 2 log 2 nats a character is 1 bit a byte.
  LearnerSpec spec;
  const DataSets sets =
      load_text("\u00e4\u00f6\u00e4\u00f6\u00e4\u00f6\u00e4\u00f6", {{"context", 1}, {"test_fraction", 0.5}});
  spec.model = model_plugin("transformer").make({{"layers", 1}, {"heads", 1}, {"width", 2}}, *sets.train);
  spec.train = sets.train, spec.test = sets.test;
  CHECK(Learner(std::move(spec)).bits_per_byte(2 * std::log(2.0)) == Approx(1).epsilon(1e-12));
}

TEST_CASE("what is not text, and what does not fit into it, is told with the remedy") {
  const std::string other = ". Use \"tokens\": \"byte\", or name another text";
  CHECK(
      text_rejection("") ==
      "is empty. Name a text, or install the Debian package jargon-text (slim images leave out /usr/share/doc)");
  CHECK(text_rejection("ab\xff") == "is not UTF-8: byte 2 (0xff) begins no character" + other);
  const std::string bad[] = {"\xc3",
                             "\xc0\x80",
                             "\xe0\x80\x80",
                             "\xed\xa0\x80",
                             "\xf4\x90\x80\x80",
                             "\x80",
                             "\xe2\x82"
                             "a",
                             "\xf0\x80\x80\x80"};
  for (const std::string& bytes : bad) {
    CAPTURE(bytes);
    CHECK(text_rejection("a" + bytes).starts_with("is not UTF-8: byte 1 (0x"));
  }
  CHECK(text_rejection("a\u00e4\u20ac\U0001F600b", {{"context", 1}, {"test_fraction", 0}}) == "");
  std::string many;
  for (std::uint32_t point = 0x10000; point < 0x10000 + 65537; ++point) many += utf8(point);
  CHECK(text_rejection(many) == "has 65537 different characters, and at most 65536 can be tokens" + other);
}

}  // namespace simsgd::test::learn_data
