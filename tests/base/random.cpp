// Random streams: the generator against its published answers, the draws against their laws.
#include "sim/base/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

namespace simsgd::test::base_random {

namespace {

std::vector<std::uint32_t> first_bits(const StreamKey& key, int count) {
  Stream stream(key);
  std::vector<std::uint32_t> bits;
  for (int i = 0; i < count; ++i) bits.push_back(stream());
  return bits;
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the known answers of Random123") {
  // kat_vectors of Random123 (Salmon et al., SC'11): counter, key, result.
  struct Answer {
    std::array<std::uint32_t, 4> counter;
    std::array<std::uint32_t, 2> key;
    std::array<std::uint32_t, 4> result;
  };
  const std::vector<Answer> answers = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Answer& answer : answers) {
    const r123::Philox4x32::ctr_type counter = {
        {answer.counter[0], answer.counter[1], answer.counter[2], answer.counter[3]}};
    const r123::Philox4x32::key_type key = {{answer.key[0], answer.key[1]}};
    const auto result = r123::Philox4x32{}(counter, key);
    for (std::size_t i = 0; i < 4; ++i) CHECK(result[i] == answer.result[i]);
  }
}

TEST_CASE("a stream is Philox with the seed as key and (block, entity, step, purpose) as counter") {
  const StreamKey zero{.seed = 0, .purpose = static_cast<Purpose>(0), .entity = 0, .step = 0};
  CHECK(first_bits(zero, 4) == std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});

  const StreamKey key{
      .seed = 0x0123456789abcdef, .purpose = Purpose::straggler, .entity = 7, .step = 0x3400000012};
  const std::vector<std::uint32_t> found = first_bits(key, 8);
  for (std::uint32_t block = 0; block < 2; ++block) {
    const auto expected =
        r123::Philox4x32{}({{block, 7, 0x12, (5u << 8) | 0x34u}}, {{0x89abcdef, 0x01234567}});
    for (std::size_t i = 0; i < 4; ++i) CHECK(found[std::size_t{4} * block + i] == expected[i]);
  }
}

TEST_CASE("streams whose keys differ in any part are different") {
  const StreamKey key{.seed = 1, .purpose = Purpose::straggler, .entity = 2, .step = 3};
  std::vector<StreamKey> keys(6, key);
  keys[1].seed = 2;
  keys[2].purpose = Purpose::algorithm;
  keys[3].entity = 3;
  keys[4].step = 4;
  keys[5].step = 3 + (std::uint64_t{1} << 39);
  std::set<std::vector<std::uint32_t>> seen;
  for (const StreamKey& each : keys) seen.insert(first_bits(each, 4));
  CHECK(seen.size() == keys.size());
  CHECK_THROWS_AS(Stream({1, Purpose::algorithm, 0, std::uint64_t{1} << 40}), std::logic_error);
}

TEST_CASE("a stream's draws do not depend on who else draws") {
  const StreamKey mine{1, Purpose::straggler, 0, 1}, others{1, Purpose::straggler, 1, 1};
  const std::vector<std::uint32_t> alone = first_bits(mine, 10);
  Stream one(mine), two(others);
  for (const std::uint32_t expected : alone) {
    two.normal();
    CHECK(one() == expected);
  }
}

TEST_CASE("a copy of a stream goes on from the same place, on its own") {
  Stream stream({1, Purpose::algorithm, 0, 0});
  stream();
  Stream copy = stream;
  const std::uint32_t next = stream();
  stream();
  CHECK(copy() == next);
}

TEST_CASE("uniform numbers lie strictly between 0 and 1, with the mean and variance of the distribution") {
  // Mean 1/2 and variance 1/12; over 100,000 draws the mean is known to sqrt(1/12/100000) = 0.00091.
  Stream stream({1, Purpose::algorithm, 0, 0});
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = stream.uniform();
    REQUIRE(u > 0);
    REQUIRE(u < 1);
    sum += u;
    squares += u * u;
  }
  CHECK(std::abs(sum / 100000 - 0.5) < 4 * 0.00091);
  CHECK(std::abs(squares / 100000 - 1.0 / 3) < 4 * 0.00094);  // E u^2 = 1/3, var u^2 = 1/5 - 1/9
}

TEST_CASE("the least and greatest uniform numbers are not 0 and 1") {
  // (bits + 1/2) 2^-52 with bits 0 and 2^52 - 1.
  CHECK((0.0 + 0.5) * 0x1p-52 > 0.0);
  CHECK((static_cast<double>((std::uint64_t{1} << 52) - 1) + 0.5) * 0x1p-52 < 1.0);
}

TEST_CASE("below(n) gives every number under n alike often") {
  for (const std::uint32_t n : {1u, 2u, 3u, 7u, 10u}) {
    CAPTURE(n);
    Stream stream({1, Purpose::algorithm, n, 0});
    std::vector<int> counts(n, 0);
    const int draws = 70000;
    for (int i = 0; i < draws; ++i) ++counts.at(stream.below(n));
    const double expected = static_cast<double>(draws) / n;
    double chi_squared = 0;
    for (const int count : counts) chi_squared += std::pow(count - expected, 2) / expected;
    CHECK(chi_squared < 27.9);  // 99.9th percentile with 9 degrees of freedom, more than enough for fewer
  }
}

TEST_CASE("below(n) is unbiased where a remainder would be far off: n = 3 * 2^30") {
  // A remainder of 32 bits would give numbers under 2^30 twice as often: half of all draws instead of a
  // third.
  Stream stream({1, Purpose::algorithm, 0, 0});
  int low = 0;
  for (int i = 0; i < 90000; ++i) low += stream.below(3u << 30) < (1u << 30) ? 1 : 0;
  CHECK(std::abs(low - 30000) < 4 * 142);  // sqrt(90000 * 1/3 * 2/3) = 141.4
  CHECK_THROWS_AS(stream.below(0), std::logic_error);
}

TEST_CASE("normal numbers have mean 0, variance 1 and fourth moment 3") {
  Stream stream({1, Purpose::algorithm, 0, 0});
  const int draws = 200000;
  double sum = 0, squares = 0, fourths = 0;
  for (int i = 0; i < draws; ++i) {
    const double z = stream.normal();
    sum += z;
    squares += z * z;
    fourths += z * z * z * z;
  }
  CHECK(std::abs(sum / draws) < 4 * 0.0022);          // 1 / sqrt(200000)
  CHECK(std::abs(squares / draws - 1) < 4 * 0.0032);  // sqrt(2 / 200000)
  CHECK(std::abs(fourths / draws - 3) < 4 * 0.022);   // sqrt(96 / 200000)
}

}  // namespace simsgd::test::base_random
