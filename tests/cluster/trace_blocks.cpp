// A trace resampled in blocks: 300 steps serve 10,000, workers stay paired, neighbours stay neighbours.
#include <doctest/doctest.h>

#include <vector>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_trace_blocks {

namespace {

constexpr std::uint64_t kSteps = 300;

// Worker w is late by step + w / 10 in each of 300 steps, so that a delay says where it came from.
Stragglers resampled(std::uint64_t block, int workers = 3, std::uint64_t seed = 1,
                     const std::string& more = "") {
  std::string rows = "worker,step,delay_s\n";
  for (std::uint64_t step = 1; step <= kSteps; ++step)
    for (int w = 0; w < 3; ++w)
      rows += std::to_string(w) + "," + std::to_string(step) + "," + std::to_string(step) + "." +
              std::to_string(w) + "\n";
  return stragglers(R"({"name": "trace", "repeat": "resample", "block": )" + std::to_string(block) +
                        R"(, "file": ")" + file_with("resampled.csv", rows) + "\"" + more + "}",
                    workers, seed);
}

double delay(const Stragglers& all, int rank, std::uint64_t step, std::uint64_t seed = 1) {
  return all.at(seed, rank, 9, step, 1.0).delay_s;
}

}  // namespace

TEST_CASE(
    "inside a block the trace goes on, beyond its end from its beginning; all workers are at the same step") {
  const Stragglers all = resampled(7);
  for (std::uint64_t step = 1; step <= 10000; ++step) {
    CAPTURE(step);
    const double here = delay(all, 0, step);
    CHECK(delay(all, 1, step) == doctest::Approx(here + 0.1));
    CHECK(delay(all, 2, step) == doctest::Approx(here + 0.2));
    if (step % 7 != 1) CHECK(here == (delay(all, 0, step - 1) == kSteps ? 1 : delay(all, 0, step - 1) + 1));
  }
}

TEST_CASE("every step of the trace is as probable; another seed draws others, the same seed the same") {
  const Stragglers all = resampled(5), again = resampled(5), other = resampled(5, 3, 2);
  std::vector<int> count(kSteps + 1);
  int same = 0;
  for (std::uint64_t step = 1; step <= 60000; ++step) {
    ++count[static_cast<std::size_t>(delay(all, 0, step))];
    CHECK(delay(again, 0, step) == delay(all, 0, step));
    if (delay(other, 0, step, 2) == delay(all, 0, step)) ++same;
  }
  CHECK(count[0] == 0);
  // 12,000 blocks, each step in a block with probability 5/300: 200 each, deviation 14.
  for (std::size_t step = 1; step <= kSteps; ++step) CHECK(std::abs(count[step] - 200) < 70);
  CHECK(same < 600);  // expected 200
}

TEST_CASE("ranks beyond the trace's workers: each group has blocks of its own, paired inside it") {
  const Stragglers all = resampled(10, 9, 1, R"(, "rank_mapping": "modulo")");
  int equal = 0;
  for (std::uint64_t step = 1; step <= 3000; ++step)
    for (int group = 0; group < 3; ++group) {
      CHECK(delay(all, 3 * group + 2, step) == doctest::Approx(delay(all, 3 * group, step) + 0.2));
      if (group > 0 && delay(all, 3 * group, step) == delay(all, 0, step)) ++equal;
    }
  CHECK(equal < 200);  // 6,000 / 300 expected, in tens
}

TEST_CASE("blocks that cannot be are refused") {
  CHECK(rejection([] { resampled(301); }) ==
        "/block: is more than the 300 steps of the trace. Give at most 300");
  CHECK(rejection([] { resampled(0); }) == "/block: is out of range. Write a whole number of at least 1");
  const std::string file = file_with("short.csv", "worker,step,delay_s\n0,1,1\n");
  CHECK(rejection([&] {
          stragglers(R"({"name": "trace", "repeat": "resample", "file": ")" + file + "\"}", 1);
        }) == "/block: is missing. Give the steps of a block, such as 50");
  CHECK(
      rejection([&] { stragglers(R"({"name": "trace", "block": 1, "file": ")" + file + "\"}", 1); }) ==
      "/block: has no effect without \"repeat\": \"resample\". Set \"repeat\": \"resample\", or leave it out");
}

}  // namespace simsgd::test::cluster_trace_blocks
