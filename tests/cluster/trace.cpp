#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <vector>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_trace {

namespace {

/// Two workers, steps 10 to 12; worker 1 has no line for step 11.
const char* const kDelays =
    "worker,step,delay_s\n"
    "0,10,0.1\n"
    "1,10,0.2\n"
    "0,11,0.3\n"
    "0,12,0.5\n"
    "1,12,0.6\n";

Stragglers replay(const std::string& content, const std::string& more = "", int workers = 2) {
  const std::string path = file_with("replayed.csv", content);
  return stragglers(R"({"name": "trace", "file": ")" + path + "\"" + more + "}", workers);
}

double delay(const Stragglers& all, int rank, std::uint64_t step) {
  return all.at(1, rank, 8, step, 0.5).delay_s;
}

}  // namespace

TEST_CASE("a trace is replayed from its first step on; a missing line is not a delay") {
  const Stragglers all = replay(kDelays);
  CHECK(delay(all, 0, 1) == 0.1);
  CHECK(delay(all, 1, 1) == 0.2);
  CHECK(delay(all, 0, 2) == 0.3);
  CHECK(delay(all, 1, 2) == 0);
  CHECK(delay(all, 0, 3) == 0.5);
  CHECK(delay(all, 1, 3) == 0.6);
}

TEST_CASE("after its last step a trace begins again, unless it is to end") {
  const Stragglers loop = replay(kDelays);
  const Stragglers end = replay(kDelays, R"(, "repeat": "end")");
  for (int rank = 0; rank < 2; ++rank)
    for (std::uint64_t step = 1; step <= 3; ++step) {
      CAPTURE(rank);
      CAPTURE(step);
      CHECK(delay(end, rank, step) == delay(loop, rank, step));
      CHECK(delay(loop, rank, step + 3) == delay(loop, rank, step));
      CHECK(delay(loop, rank, step + 300) == delay(loop, rank, step));
      CHECK(delay(end, rank, step + 3) == 0);
    }
}

TEST_CASE("the order of lines and columns, comments, blanks and quotes do not matter") {
  const Stragglers plain = replay(kDelays);
  const Stragglers odd = replay(
      "\xEF\xBB\xBF# measured on a Tuesday\r\n\"step\", \"worker\", \"delay_s\"\r\n12,1,0.6\r\n\r\n12,0,0.5\r\n"
      "11,0,3e-1\r\n10,1,0.2\r\n10,0, 0.1\r\n");
  for (int rank = 0; rank < 2; ++rank)
    for (std::uint64_t step = 1; step <= 3; ++step) CHECK(delay(odd, rank, step) == delay(plain, rank, step));
}

TEST_CASE("factors multiply the compute time, compute times replace it") {
  const Straggle by_factor = replay("worker,step,factor,delay_s\n0,1,3,0.25\n1,1,1,0\n").at(1, 0, 2, 1, 0.5);
  CHECK(by_factor.factor == 3);
  CHECK(by_factor.delay_s == 0.25);
  const Stragglers measured = replay("worker,step,compute_s\n0,1,0.75\n1,1,0.5\n");
  CHECK(measured.at(1, 0, 2, 1, 0.5).factor == 1.5);
  CHECK(measured.at(1, 1, 2, 1, 0.5).factor == 1);
  // With nothing to stretch, the time is idle.
  CHECK(measured.at(1, 0, 2, 1, 0.0).delay_s == 0.75);
}

TEST_CASE("ranks beyond the trace replay the workers modulo their number where asked to") {
  const Stragglers all = replay(kDelays, R"(, "rank_mapping": "modulo")", 5);
  for (int rank = 0; rank < 5; ++rank) {
    CAPTURE(rank);
    CHECK(delay(all, rank, 1) == (rank % 2 == 0 ? 0.1 : 0.2));
  }
}

TEST_CASE("a trace of fewer workers may replay the ranks listed") {
  const Stragglers all = replay(kDelays, R"(, "workers": [1])", 5);
  CHECK(delay(all, 0, 1) == 0);
  CHECK(delay(all, 1, 1) == 0.2);
  CHECK(delay(all, 4, 1) == 0);
}

TEST_CASE("the path goes through the resolver of the scenario's folder") {
  const std::string path = file_with("resolved.csv", kDelays);
  const StragglerSetup setup{.workers = 2, .resolve = [&](const std::string& name) {
                               return std::filesystem::path(path).parent_path() / name;
                             }};
  Stragglers all;
  all.add(make_straggler(Json{{"name", "trace"}, {"file", "resolved.csv"}}, setup));
  CHECK(delay(all, 1, 1) == 0.2);
}

TEST_CASE("a trace that is nowhere is refused") {
  CHECK(
      rejection([] { stragglers(R"({"name": "trace", "file": "/nowhere/at/all.csv"})", 2); }) ==
      "/file: names a trace that cannot be read (No such file or directory). Give a CSV file with the columns worker, step and delay_s, factor or compute_s");
}

TEST_CASE("a trace of fewer workers than the job is refused unless the mapping is said") {
  CHECK(
      rejection([] { replay(kDelays, "", 5); }) ==
      "/file: names a trace of 2 workers, which has no times for rank 4. Set \"rank_mapping\": \"modulo\", or list the ranks of the trace in \"workers\"");
  CHECK(
      rejection([] { replay(kDelays, R"(, "workers": [0, 3])", 5); }) ==
      "/file: names a trace of 2 workers, which has no times for rank 3. Set \"rank_mapping\": \"modulo\", or list the ranks of the trace in \"workers\"");
}

TEST_CASE("options that a trace does not know are refused") {
  CHECK(
      rejection([] { replay(kDelays, R"(, "relative": true)"); }) ==
      "/relative: cannot be combined with a trace, whose columns have their own units. Leave it out; the column \"factor\" is relative to the compute time");
  CHECK(rejection([] { replay(kDelays, R"(, "repeat": "forever")"); }) ==
        "/repeat: is not valid here. Choose loop, end or resample");
  CHECK(rejection([] { replay(kDelays, R"(, "rank_mapping": "any")"); }) ==
        "/rank_mapping: is not valid here. Choose exact or modulo");
}

// A trace resampled in blocks: 300 steps serve 10,000, workers stay paired, neighbours stay neighbours.

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

double delay_of_9(const Stragglers& all, int rank, std::uint64_t step, std::uint64_t seed = 1) {
  return all.at(seed, rank, 9, step, 1.0).delay_s;
}

}  // namespace

TEST_CASE(
    "inside a block the trace goes on, beyond its end from its beginning; all workers are at the same step") {
  const Stragglers all = resampled(7);
  for (std::uint64_t step = 1; step <= 10000; ++step) {
    CAPTURE(step);
    const double here = delay_of_9(all, 0, step);
    CHECK(delay_of_9(all, 1, step) == doctest::Approx(here + 0.1));
    CHECK(delay_of_9(all, 2, step) == doctest::Approx(here + 0.2));
    if (step % 7 != 1)
      CHECK(here == (delay_of_9(all, 0, step - 1) == kSteps ? 1 : delay_of_9(all, 0, step - 1) + 1));
  }
}

TEST_CASE("every step of the trace is as probable; another seed draws others, the same seed the same") {
  const Stragglers all = resampled(5), again = resampled(5), other = resampled(5, 3, 2);
  std::vector<int> count(kSteps + 1);
  int same = 0;
  for (std::uint64_t step = 1; step <= 60000; ++step) {
    ++count[static_cast<std::size_t>(delay_of_9(all, 0, step))];
    CHECK(delay_of_9(again, 0, step) == delay_of_9(all, 0, step));
    if (delay_of_9(other, 0, step, 2) == delay_of_9(all, 0, step)) ++same;
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
      CHECK(delay_of_9(all, 3 * group + 2, step) == doctest::Approx(delay_of_9(all, 3 * group, step) + 0.2));
      if (group > 0 && delay_of_9(all, 3 * group, step) == delay_of_9(all, 0, step)) ++equal;
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

}  // namespace simsgd::test::cluster_trace
