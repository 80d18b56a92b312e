// Codecs against models of their own, written from the papers' formulas in double; bits by hand; error
// feedback.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "sim/learn/codec.hpp"

#include "tests/support/numbers.hpp"

namespace simsgd::test::learn_codecs {

using doctest::Approx;

namespace {

using Doubles = std::vector<double>;

MadeCodec codec_of(const Json& object) {
  return find_plugin(codec_plugins(), object["name"].get<std::string>(), "codec").make(object);
}

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
  Stream stream({seed, Purpose::algorithm, 1, 1});
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(stream.normal());
  return numbers;
}

std::vector<float> sent(const MadeCodec& codec, const std::vector<float>& values, std::uint64_t step = 1) {
  std::vector<float> received(values.size());
  codec->transmit(values, Stream({1, Purpose::algorithm, 0, step}), received);
  return received;
}

/// `model` applied to each block of `size` numbers.
template <class Model>
Doubles by_blocks(const std::vector<float>& values, std::size_t size, Model model) {
  Doubles all;
  for (std::size_t at = 0; at < values.size(); at += size) {
    const Doubles block(values.begin() + static_cast<std::ptrdiff_t>(at),
                        values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), at + size)));
    const Doubles out = model(block);
    all.insert(all.end(), out.begin(), out.end());
  }
  return all;
}

void check_close(const std::vector<float>& found, const Doubles& expected, double tolerance = 1e-6) {
  CHECK(worst_difference(found, expected) < tolerance);
}

double largest_of(const Doubles& block) {
  double largest = 0;
  for (const double x : block) largest = std::max(largest, std::abs(x));
  return largest;
}

/// All but the k largest magnitudes set to 0, by sorting.
Doubles keep_largest(const Doubles& block, std::size_t k) {
  std::vector<std::size_t> order(block.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(block[a]) > std::abs(block[b]); });
  Doubles kept(block.size(), 0.0);
  for (std::size_t i = 0; i < std::min(k, order.size()); ++i) kept[order[i]] = block[order[i]];
  return kept;
}

}  // namespace

TEST_CASE("integer, sign, e3m0, chunk_topk and dct_topk send what their formulas say") {
  const std::vector<float> values = normal_numbers(1000, 3);  // blocks of 64: fifteen, and one of 40
  check_close(sent(codec_of({{"name", "integer"}, {"bits", 5}, {"block", 64}}), values),
              by_blocks(values, 64, [](Doubles block) {
                const double scale = largest_of(block) / 15;
                for (double& x : block) x = scale * std::round(x / scale);
                return block;
              }));
  check_close(sent(codec_of({{"name", "sign"}, {"block", 64}}), values),
              by_blocks(values, 64, [](Doubles block) {
                double sum = 0;
                for (const double x : block) sum += std::abs(x);
                for (double& x : block) x = std::copysign(sum / static_cast<double>(block.size()), x);
                return block;
              }));
  check_close(sent(codec_of({{"name", "e3m0"}, {"block", 64}}), values),
              by_blocks(values, 64, [](Doubles block) {
                // The nearest of 0 and 7 powers of two, found by trying all of them.
                const double largest = largest_of(block);
                double top = std::exp2(std::floor(std::log2(largest)));
                if (largest > 1.5 * top) top *= 2;
                for (double& x : block) {
                  double best = 0;
                  for (int code = 1; code <= 7; ++code) {
                    const double level = top * std::exp2(code - 7);
                    if (std::abs(std::abs(x) - level) < std::abs(std::abs(x) - best)) best = level;
                  }
                  x = std::copysign(best, x);
                }
                return block;
              }));
  check_close(sent(codec_of({{"name", "chunk_topk"}, {"chunk", 64}, {"k", 5}}), values),
              by_blocks(values, 64, [](const Doubles& block) { return keep_largest(block, 5); }));
  check_close(sent(codec_of({{"name", "chunk_topk"}, {"chunk", 64}, {"k", 9}, {"value_bits", 2}}), values),
              by_blocks(values, 64, [](const Doubles& block) {
                // 2 bits: a sign, and whether a magnitude is in the lower or the upper half of (0, largest].
                Doubles kept = keep_largest(block, 9);
                const double largest = largest_of(kept);
                for (const bool upper : {false, true}) {
                  const auto here = [&](double x) { return x != 0 && (std::abs(x) >= largest / 2) == upper; };
                  double sum = 0, count = 0;
                  for (const double x : kept)
                    if (here(x)) sum += std::abs(x), count += 1;
                  if (count == 0) continue;
                  // Means of the lower half stay in it, so the second pass does not see them.
                  for (double& x : kept)
                    if (here(x)) x = std::copysign(sum / count, x);
                }
                return kept;
              }));
  check_close(
      sent(codec_of({{"name", "dct_topk"}, {"chunk", 64}, {"k", 6}}), values),
      by_blocks(values, 64, [](const Doubles& block) {
        const auto n = static_cast<double>(block.size());
        const auto cosine = [n](std::size_t j, std::size_t i) {
          return std::sqrt((j == 0 ? 1.0 : 2.0) / n) *
                 std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(j) / n);
        };
        Doubles coefficients(block.size(), 0.0), back(block.size(), 0.0);
        for (std::size_t j = 0; j < block.size(); ++j)
          for (std::size_t i = 0; i < block.size(); ++i) coefficients[j] += cosine(j, i) * block[i];
        coefficients = keep_largest(coefficients, 6);
        for (std::size_t j = 0; j < block.size(); ++j)
          for (std::size_t i = 0; i < block.size(); ++i) back[i] += cosine(j, i) * coefficients[j];
        return back;
      }));
}

TEST_CASE("e3m0: halfway between two powers of two goes to the even code, below half the least to 0") {
  // The largest is 64 = code 7, so 1 is code 1. 1.5 lies between codes 1 and 2, 3 between 2 and 3.
  const std::vector<float> values = {64, 1, 1.5F, 3, 6, 0.5F, 0.51F, -0.2F, -48, 90};
  const MadeCodec codec = codec_of({{"name", "e3m0"}});
  CHECK(sent(codec, values) == std::vector<float>{64, 1, 2, 2, 8, 0, 1, -0.0F, -32, 64});
  CHECK(sent(codec, {0, 0}) == std::vector<float>{0, 0});
}

TEST_CASE("qsgd is right in the mean, within a level, and the same for the same draws") {
  const std::vector<float> values = {3, -4, 0, 1};
  const MadeCodec codec = codec_of({{"name", "qsgd"}, {"levels", 2}, {"bucket", 2}});
  // Buckets of length 5 and 1: levels at 0, 2.5, 5, and 0, 0.5, 1.
  Doubles mean(4, 0.0);
  constexpr int kTrials = 4000;
  for (int trial = 1; trial <= kTrials; ++trial) {
    const std::vector<float> one = sent(codec, values, static_cast<std::uint64_t>(trial));
    for (std::size_t i = 0; i < 4; ++i) mean[i] += static_cast<double>(one[i]) / kTrials;
    CHECK((one[0] == 2.5F || one[0] == 5));
    CHECK((one[1] == -2.5F || one[1] == -5));
    CHECK(one[3] == 1);
  }
  // A level is at most 2.5 wide: the deviation of the mean is at most 1.25 / sqrt(4000) = 0.02.
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(mean[i] - static_cast<double>(values[i])) < 0.08);
  CHECK(sent(codec, values, 7) == sent(codec, values, 7));
}

TEST_CASE("bits on the wire, by hand") {
  const auto bits = [](const Json& codec, double numbers) { return codec_of(codec)->bits(numbers); };
  CHECK(bits({{"name", "fp16"}}, 1000) == 16000);
  CHECK(bits({{"name", "bf16"}}, 1000) == 16000);
  CHECK(bits({{"name", "integer"}, {"block", 256}}, 1000) == 8 * 1000 + 4 * 32);
  CHECK(bits({{"name", "e3m0"}, {"block", 256}}, 1000) == 4 * 1000 + 4 * 8);
  CHECK(bits({{"name", "qsgd"}}, 1000) == 4 * 1000 + 2 * 32);  // 15 levels with the signs; buckets of 512
  CHECK(bits({{"name", "qsgd"}, {"levels", 8}}, 1000) == 5 * 1000 + 2 * 32);
  CHECK(bits({{"name", "sign"}}, 10000) == 10000 + 3 * 32);
  // SparseLoCo: 128 of 4,096 at 12 + 2 bits, and a table of two values: two whole chunks and 50 numbers more.
  CHECK(bits({{"name", "chunk_topk"}, {"k", 128}, {"value_bits", 2}}, 2 * 4096 + 50) ==
        (2 * 128 + 50) * 14 + 3 * 64);
  CHECK(bits({{"name", "chunk_topk"}, {"k", 128}}, 4096) == 128 * (12 + 32));
  CHECK(bits({{"name", "dct_topk"}, {"k", 2}}, 640) == 20 * (6 + 32));
  for (const char* name : {"chunk_topk", "dct_topk"}) CHECK(codec_of({{"name", name}})->sparse());
  for (const char* name : {"fp16", "bf16", "integer", "e3m0", "qsgd", "sign"})
    CHECK(!codec_of({{"name", name}})->sparse());
}

TEST_CASE("with error feedback every codec sends in the end what it was given") {
  // Of 60 messages of the same vector, what was sent is 60 times it but for the error, which stays bounded.
  const std::vector<float> values = normal_numbers(300, 5);
  double norm = 0;
  for (const float x : values) norm += static_cast<double>(x) * static_cast<double>(x);
  for (const CodecPlugin& plugin : codec_plugins()) {
    CAPTURE(plugin.info.name);
    Json options = {{"name", plugin.info.name}};
    if (plugin.info.name == "chunk_topk") options.update({{"chunk", 64}, {"k", 8}});
    // A length of 512 numbers and 7 levels expand more than they keep: without a contraction there is no
    // bound.
    if (plugin.info.name == "qsgd") options.update({{"bucket", 16}});
    const MadeCodec codec = codec_of(options);
    std::vector<float> error(values.size(), 0.0F), sum(values.size());
    Doubles total(values.size(), 0.0);
    for (std::uint64_t step = 1; step <= 60; ++step) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = values[i] + error[i];
      const std::vector<float> c = sent(codec, sum, step);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        error[i] = sum[i] - c[i];
        total[i] += static_cast<double>(c[i]);
      }
    }
    double missing = 0, left = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      missing += std::pow(60 * static_cast<double>(values[i]) - total[i] - static_cast<double>(error[i]), 2);
      left += std::pow(static_cast<double>(error[i]), 2);
    }
    CHECK(std::sqrt(missing / norm) < 1e-4);  // nothing lost, nothing sent twice
    CHECK(std::sqrt(left / norm) < 12);       // of 60: the sparsest sends an eighth or less each time
  }
}

TEST_CASE("what a vector without numbers of its own becomes, and what is not a number") {
  for (const CodecPlugin& plugin : codec_plugins()) {
    CAPTURE(plugin.info.name);
    const MadeCodec codec = codec_of({{"name", plugin.info.name}});
    CHECK(sent(codec, {}).empty());
    for (const float x : sent(codec, std::vector<float>(100, 0.0F))) CHECK(x == 0);
    std::vector<float> broken(100, 1.0F);
    broken[50] = std::nanf("");
    const std::vector<float> received = sent(codec, broken);
    // A run that diverges may not look like one that learns.
    CHECK(std::any_of(received.begin(), received.end(), [](float x) { return std::isnan(x); }));
  }
}

TEST_CASE("what a codec cannot be is told with the remedy") {
  CHECK_THROWS_WITH_AS(codec_of({{"name", "chunk_topk"}, {"chunk", 8}, {"k", 9}}),
                       "/k: is more than \"chunk\", the numbers in a chunk. Use at most \"chunk\"",
                       ParameterError);
  CHECK_THROWS_WITH_AS(codec_of({{"name", "chunk_topk"}, {"value_bits", 20}}),
                       "/value_bits: is neither 32 nor at most 16. Use 32, or at most 16", ParameterError);
  CHECK_THROWS_WITH_AS(codec_of({{"name", "dct_topk"}, {"chunk", 8}, {"k", 9}}),
                       "/k: is more than \"chunk\", the coefficients of a chunk. Use at most \"chunk\"",
                       ParameterError);
}

}  // namespace simsgd::test::learn_codecs
