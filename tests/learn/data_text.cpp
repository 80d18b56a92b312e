// Texts as data sets: tokens, samples and labels by hand, what UTF-8 is, and what is wrong with a file. Every
// message is given in full.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/learn/model.hpp"
#include "tests/learn/support.hpp"

namespace simsgd::test::learn_data_text {

using namespace simsgd::testing;
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
  CHECK(
      text_rejection("abcd", {{"context", 4}, {"test_fraction", 0}}) ==
      "/context: is 4, which with the next token is longer than the 4 tokens of the training text. Use a shorter context or a longer text");
  CHECK(
      text_rejection("abcdefghij", {{"context", 4}, {"test_fraction", 0.2}}) ==
      "/context: is 4, which with the next token is longer than the 2 tokens of the test text. Use a shorter context, a longer text, a larger \"test_fraction\", or 0 for no test set");
  CHECK(
      text_rejection("abcdefghij", {{"context", 2}, {"test_fraction", 0.5}, {"test_samples", 3}}) ==
      "/test_samples: is more than the 2 samples that fit into the test text without overlap. Use fewer, a shorter \"context\" or a larger \"test_fraction\"");
  const DataSets sets = load_text("abcdefgh", {{"context", 2}, {"test_fraction", 0}});
  LearnerSpec spec;
  spec.model = model_plugin("transformer").make({{"layers", 1}}, *sets.train);
  spec.train = sets.train;
  spec.partition.kind = PartitionSpec::Kind::dirichlet;
  CHECK_THROWS_WITH_AS(
      Learner(std::move(spec)),
      "/partition: is by label, and the data set \"text\" has no labels. Use an iid partition, or a data set with classes",
      ParameterError);
}

}  // namespace simsgd::test::learn_data_text
