// Claims judged on made runs, against counts by hand; a study from its file to its verdict.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "analysis/questions/claims.hpp"
#include "tests/analysis/support.hpp"
#include "tests/cli/scratch.hpp"

namespace simsgd::test::analysis_claims {

namespace {

using Direction = ClaimComparison::Direction;
using Quantity = ClaimComparison::Quantity;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// A run by what was set, objects taken apart; without metrics it failed.
struct ClaimRun {
  std::map<std::string, Json> settings;
  std::int64_t seed = 0;
  std::map<std::string, double> metrics;
};

ClaimRun run_of(const Json& settings, double value, std::int64_t seed = 1) {
  ClaimRun run{{}, seed, {{"throughput_samples_per_s", value}}};
  for (const auto& each : settings.items()) run.settings["/" + each.key()] = each.value();
  return run;
}

ClaimComparison a_over_b() {
  ClaimComparison made;
  made.name = "a over b";
  made.metric = "throughput_samples_per_s";
  made.of = {{1, {{"/m", {"a"}}}}};
  made.to = {{1, {{"/m", {"b"}}}}};
  return made;
}

ClaimVerdict verdict_of(const std::vector<ClaimComparison>& comparisons, const std::vector<ClaimRun>& runs,
                        const std::vector<std::string>& for_all = {}) {
  Claim claim;
  claim.id = "T";
  claim.for_all = for_all;
  claim.comparisons = comparisons;
  ResultStudy study{"id", "t", "t.json", {}, {}};
  for (const ClaimRun& run : runs) {
    ResultPoint& point = study.points.emplace_back();
    for (const auto& [pointer, value] : run.settings)
      point.coordinates.push_back(
          {pointer, pointer, value.dump(), nlohmann::ordered_json::parse(value.dump())});
    point.seed = run.seed;
    point.status = run.metrics.empty() ? RunStatus::failed : RunStatus::ok;
    point.metrics = run.metrics;
  }
  const auto scenario = [](const std::string&) {
    return nlohmann::ordered_json{{"target", {{"metric", "train_loss"}}}};
  };
  return judge_claim(claim, "t.json", frame::Frame(study, {scenario, {}, {}, {}}));
}

/// Runs over x, y and z, four values each, where a is `ratio` times as fast as b.
std::vector<ClaimRun> cube(const std::function<double(int, int, int)>& ratio) {
  std::vector<ClaimRun> runs;
  for (int x = 0; x < 4; ++x)
    for (int y = 0; y < 4; ++y)
      for (int z = 0; z < 4; ++z)
        for (const char* m : {"a", "b"}) {
          const double base = 10 + x + 2 * y + 3 * z;
          runs.push_back(
              run_of({{"m", m}, {"x", x}, {"y", y}, {"z", z}}, *m == 'a' ? base * ratio(x, y, z) : base));
        }
  return runs;
}

}  // namespace

TEST_CASE("an effect over seeds is judged by its 95 % interval and by the noise, whichever is wider") {
  // 1, 2, 3: mean 2, standard error 1 / sqrt(3), times 4.302653 (two degrees of freedom): 2.4841.
  const Judged three = judge({1, 2, 3}, Direction::above, 0, 0);
  CHECK(three.half_width == doctest::Approx(4.302653 / std::sqrt(3.0)).epsilon(1e-6));
  CHECK(three.state == ClaimState::within_noise);
  // 2, 2.5, 3: standard error 0.5 / sqrt(3), half width 1.242 below the mean of 2.5.
  CHECK(judge({2, 2.5, 3}, Direction::above, 0, 0).state == ClaimState::reproduced);
  CHECK(judge({2, 2.5, 3}, Direction::above, 2.6, 0).state == ClaimState::within_noise);
  CHECK(judge({2, 2.5, 3}, Direction::below, 0, 0).state == ClaimState::reversed);
  CHECK(judge({2, 2.5, 3}, Direction::not_above, 0, 0).state == ClaimState::reversed);
  CHECK(judge({1, 2, 3}, Direction::not_above, 0, 0).state == ClaimState::reproduced);
  // Close: all of the interval inside, all outside, or undecided.
  CHECK(judge({2, 2.5, 3}, Direction::close, 0, 3.75).state == ClaimState::reproduced);
  CHECK(judge({2, 2.5, 3}, Direction::close, 0, 3.7).state == ClaimState::within_noise);
  CHECK(judge({2, 2.5, 3}, Direction::close, 0, 1.2).state == ClaimState::reversed);
  // A tie is not a difference, and one seed has no interval.
  CHECK(judge({0, 0, 0}, Direction::above, 0, 0).state == ClaimState::within_noise);
  CHECK(judge({1e-9}, Direction::above, 0, 0).state == ClaimState::reproduced);
  // Never reached: longer than anything, but not than never.
  CHECK(judge({kInfinite, 1}, Direction::above, 0.1, 0).state == ClaimState::reproduced);
  CHECK(judge({kInfinite, -kInfinite}, Direction::above, 0.1, 0).state == ClaimState::within_noise);
  CHECK(judge({}, Direction::above, 0, 0).state == ClaimState::no_value);
  CHECK(judge({std::nan("")}, Direction::above, 0, 0).state == ClaimState::no_value);
}

TEST_CASE("seeds are compared in pairs: what they have in common is not noise") {
  std::vector<ClaimRun> runs;
  for (std::int64_t seed = 1; seed <= 5; ++seed) {
    const double base = std::pow(3.0, static_cast<double>(seed));  // 3 to 243, a always 5 % above
    runs.push_back(run_of({{"m", "a"}}, 1.05 * base, seed));
    runs.push_back(run_of({{"m", "b"}}, base, seed));
  }
  const ClaimVerdict verdict = verdict_of({a_over_b()}, runs);
  CHECK(verdict.state == ClaimState::reproduced);
  CHECK(verdict.comparisons[0].median == doctest::Approx(1.05));
  CHECK(verdict.settings.size() == 1);
  CHECK(verdict.inputs.empty());
}

TEST_CASE("a verdict is that of two thirds of the settings; what tells the others apart is named") {
  // Reversed for x = 3 alone: 48 of 64 settings remain.
  const ClaimVerdict most =
      verdict_of({a_over_b()}, cube([](int x, int, int) { return x == 3 ? 0.5 : 2.0; }));
  CHECK(most.counts == StateCounts{48, 0, 0, 16, 0});
  CHECK(most.state == ClaimState::reproduced);
  REQUIRE(most.dependence);
  CHECK(most.dependence->inputs == std::vector<std::string>{"/x"});
  CHECK(most.dependence->explained == 1);
  REQUIRE(most.dependence->sides.size() == 4);
  CHECK(most.dependence->sides[3].counts == StateCounts{0, 0, 0, 16, 0});
  // Half of them, by y: no verdict of its own.
  const ClaimVerdict half = verdict_of({a_over_b()}, cube([](int, int y, int) { return y < 2 ? 0.5 : 2.0; }));
  CHECK(!half.state);
  REQUIRE(half.dependence);
  CHECK(half.dependence->inputs == std::vector<std::string>{"/y"});
  // Two inputs of which neither tells anything alone.
  const ClaimVerdict both =
      verdict_of({a_over_b()}, cube([](int x, int, int z) { return (x < 2) == (z < 2) ? 0.5 : 2.0; }));
  REQUIRE(both.dependence);
  CHECK(both.dependence->inputs == std::vector<std::string>{"/x", "/z"});
  CHECK(both.dependence->explained == 1);
  // All alike: nothing to depend on. A ratio of exactly 1 is within noise, not reproduced.
  CHECK(!verdict_of({a_over_b()}, cube([](int, int, int) { return 2.0; })).dependence);
  CHECK(verdict_of({a_over_b()}, cube([](int, int, int) { return 1.0; })).state == ClaimState::within_noise);
}

TEST_CASE("a claimed range, every value of for_all, and the worst of several comparisons") {
  ClaimComparison ranged = a_over_b();
  ranged.low = 1.5;
  ranged.high = 2.5;
  // x is a network: 2, 2, 2, and 3 where y is 3.
  const auto ratio = [](int x, int y, int) { return x == 2 && y == 3 ? 3.0 : 2.0; };
  const ClaimVerdict verdict = verdict_of({ranged}, cube(ratio), {"/x"});
  CHECK(verdict.counts == StateCounts{12, 4, 0, 0, 0});
  CHECK(verdict.inputs == std::vector<std::string>{"/y", "/z"});
  CHECK(verdict.comparisons[0].high == doctest::Approx(3));
  ClaimComparison reversed = a_over_b();
  reversed.direction = Direction::below;
  const ClaimVerdict worst = verdict_of({ranged, reversed}, cube(ratio), {"/x"});
  CHECK(worst.counts == StateCounts{0, 0, 0, 16, 0});
  CHECK(worst.comparisons[0].counts == StateCounts{12, 4, 0, 0, 0});
}

TEST_CASE("a label called name is not a plug-in: only what the sides name is of other plug-ins") {
  std::vector<ClaimRun> runs;
  for (const char* m : {"a", "b"})
    for (int order = 0; order < 3; ++order) {
      runs.push_back(run_of({{"m", m}}, *m == 'a' ? 2.0 + order : 1));
      runs.back().settings["/cluster/name"] = "order " + std::to_string(order);
      runs.back().settings["/cluster/placement"] = Json::array({order, 1});
    }
  const ClaimVerdict verdict = verdict_of({a_over_b()}, runs);
  CHECK(verdict.settings.size() == 3);
  CHECK(verdict.inputs == std::vector<std::string>{"/cluster/name"});  // the placement goes with it
  // An option that only some have, "shape" of a tree: none is a value of its own, also from comparison to
  // comparison.
  for (ClaimRun& run : runs)
    if (run.settings["/cluster/name"] != "order 0") {
      run.settings["/cluster/shape"] = run.settings["/cluster/name"];
      run.settings.erase("/cluster/name");
    }
  const ClaimVerdict twice = verdict_of({a_over_b(), a_over_b()}, runs);
  CHECK(twice.settings.size() == 3);
}

TEST_CASE("growth along an axis holds where each step up does") {
  ClaimComparison grows = a_over_b();
  grows.along = "/x";
  const auto up = [](int x, int y, int) { return y == 0 && x == 2 ? 1.15 : 1 + 0.1 * (x + 1); };
  const ClaimVerdict verdict = verdict_of({grows}, cube(up));
  // 1.1, 1.2, 1.15, 1.4 falls in between; 1.1, 1.2, 1.3, 1.4 does not. The quantity is that at the end.
  CHECK(verdict.counts == StateCounts{12, 0, 0, 4, 0});
  CHECK(verdict.comparisons[0].low == doctest::Approx(1.4));
}

TEST_CASE("sides meet where all that they do not name is equal; options of another plug-in are inputs") {
  const auto run = [](const Json& algorithm, int workers, double value) {
    ResultPoint point;
    point.coordinates = {{"algorithm", "/algorithm", "", nlohmann::ordered_json::parse(algorithm.dump())},
                         {"", "", "", {{"/cluster/workers", workers}}}};  // as a named value sets it
    return ClaimRun{claim_settings(point), 0, {{"throughput_samples_per_s", value}}};
  };
  std::vector<ClaimRun> runs;
  for (const int workers : {4, 8}) {
    runs.push_back(run({{"name", "fast"}, {"period", 10}}, workers, 3.0 * workers));
    runs.push_back(run({{"name", "slow"}, {"period", 1}, {"coupling", "far"}}, workers, 2.0 * workers));
    runs.push_back(run({{"name", "slow"}, {"period", 1}, {"coupling", "near"}}, workers, 4.0 * workers));
  }
  ClaimComparison comparison = a_over_b();
  comparison.of = {{1, {{"/algorithm/name", {"fast"}}}}};
  comparison.to = {{1, {{"/algorithm/name", {"slow"}}}}};
  const ClaimVerdict verdict = verdict_of({comparison}, runs);
  CHECK(verdict.settings.size() == 4);  // two couplings, two sizes; never 4 workers against 8
  CHECK(verdict.comparisons[0].low == doctest::Approx(0.75));
  CHECK(verdict.comparisons[0].high == doctest::Approx(1.5));
  REQUIRE(verdict.dependence);
  CHECK(verdict.dependence->inputs == std::vector<std::string>{"/algorithm/coupling"});
  // A sum of terms: 2 fast - slow over slow. far: (6 - 2) / 2, near: (6 - 4) / 4.
  comparison.of = {{2, {{"/algorithm/name", {"fast"}}}}, {-1, {{"/algorithm/name", {"slow"}}}}};
  const ClaimVerdict sum = verdict_of({comparison}, runs);
  CHECK(sum.comparisons[0].low == doctest::Approx(0.5));
  CHECK(sum.comparisons[0].high == doctest::Approx(2));
  CHECK(sum.settings.size() == 4);
}

TEST_CASE(
    "what the sides need not share counts as an input; a metric without a value is what is said of it") {
  std::vector<ClaimRun> runs = {run_of({{"m", "a"}, {"batch", 256}}, 3),
                                run_of({{"m", "b"}, {"batch", 256}}, 2),
                                run_of({{"m", "b"}, {"batch", 32}}, 4)};
  ClaimComparison comparison = a_over_b();
  CHECK(verdict_of({comparison}, runs).settings.size() == 1);
  comparison.free = {"/batch"};
  const ClaimVerdict freed = verdict_of({comparison}, runs);
  CHECK(freed.counts == StateCounts{1, 0, 0, 1, 0});
  CHECK(freed.inputs == std::vector<std::string>{"/batch"});
  // Values that a side leaves open are inputs as well, and those of the other side are told apart.
  runs.push_back(run_of({{"m", "a"}, {"batch", 64}}, 5));
  CHECK(verdict_of({comparison}, runs).counts == StateCounts{3, 0, 0, 1, 0});
  CHECK(verdict_of({comparison}, runs).inputs == std::vector<std::string>{"/batch", "/batch (of)"});
  runs.pop_back();
  comparison.metric = "staleness_max";
  CHECK(verdict_of({comparison}, runs).state == ClaimState::no_value);
  comparison.absent = 0;
  comparison.quantity = Quantity::difference;
  comparison.direction = Direction::close;
  comparison.within = 0.1;
  CHECK(verdict_of({comparison}, runs).state == ClaimState::reproduced);
  runs[0].metrics.clear();  // a run that failed has no value at all
  CHECK(verdict_of({comparison}, runs).state == ClaimState::no_value);
  // A target that is missed is later than the end of the run: up to there, 20 s over 5 s.
  comparison = a_over_b();
  comparison.metric = "time_to_target_s";
  runs = {run_of({{"m", "a"}}, 1), run_of({{"m", "b"}}, 1)};
  for (ClaimRun& run : runs) run.metrics["simulated_time_s"] = 20;
  runs[1].metrics["time_to_target_s"] = 5;
  CHECK(verdict_of({comparison}, runs).state == ClaimState::reproduced);
  CHECK(verdict_of({comparison}, runs).comparisons[0].high == doctest::Approx(4));
  // One that is stopped before the other arrives, and two that never do, tell nothing.
  runs[0].metrics["simulated_time_s"] = 4;
  CHECK(verdict_of({comparison}, runs).state == ClaimState::no_value);
  runs[1].metrics.erase("time_to_target_s");
  CHECK(verdict_of({comparison}, runs).state == ClaimState::no_value);
}

TEST_CASE("simsgd claims runs a study, says where its claim holds, and goes on from its results") {
  const cli::Scratch scratch;
  Json study = small_study({2});
  study["axes"] = {
      {{"pointer", "/algorithm"},
       {"values", {{{"name", "local_sgd"}, {"period", 10}}, {{"name", "local_sgd"}, {"period", 1}}}}},
      {{"pointer", "/cluster/nic/bandwidth"}, {"values", {"1 MB/s", "1000000 GB/s"}}},
      {{"pointer", "/cluster/nic/latency"}, {"values", {0, 1e-9}}}};
  study["stop"] = {{"steps", 10}};
  study["workload"]["layers"][0]["forward_flop"] =
      2e9;  // 48 ms a step, beside 4 kB that take 4 ms or nothing
  study["cluster"]["host"] = {{"launch", 0}, {"pack", 0}, {"reduce", 0}, {"tensor", 0}, {"staged", false}};
  study["claim"] = {
      {"id", "T1"},
      {"text", "Averaging seldom is faster."},
      {"source", "Nobody"},
      {"measured", "faster"},
      {"inputs", "The network is not told."},
      {"comparisons",
       {{{"name", "10 over 1"}, {"of", {{"/algorithm/period", 10}}}, {"to", {{"/algorithm/period", 1}}}}}}};
  const auto write = [&] { scratch.write("t.json", study.dump()); };
  write();
  const cli::Outcome json = scratch.simsgd("claims t.json -o t.db --format json");
  CAPTURE(json.err);
  REQUIRE(json.code == 0);
  const Json verdict = Json::parse(json.out).at(0);
  // A slow network makes averaging cost; an infinitely fast one leaves nothing to win.
  CHECK(verdict["verdict"] == "depends on cluster/nic/bandwidth");
  CHECK(verdict["settings"]["reproduced"] == 2);
  CHECK(verdict["settings"]["within noise"] == 2);
  const cli::Outcome page = scratch.simsgd("claims t.json -o t.db --format md");
  CHECK(page.out.find("## T1: depends on cluster/nic/bandwidth\n") != std::string::npos);
  CHECK(page.out.find("- cluster/nic/bandwidth 1 MB/s: reproduced 2 of 2\n") != std::string::npos);
  // The section is not a setting of a run, and what is wrong with it is said at once.
  CHECK(scratch.simsgd("sweep run t.json -o t.db").err.find("8 of 8 points are already in") !=
        std::string::npos);
  study["claim"]["comparisons"][0]["of"] = {{"/algorithm/period", 11}};
  write();
  const cli::Outcome nothing = scratch.simsgd("claims t.json -o t.db");
  CHECK(nothing.code == 2);
  CHECK(
      nothing.err ==
      "t.json:/claim/comparisons/0: has no two runs that differ only in its sides. Found: 10 over 1. Use values that the axes have, and list in \"free\" the axes that the sides need not share.\n");
  study["claim"]["comparisons"][0]["claimed"] = "close";
  study["claim"]["comparison"] = 1;
  write();
  const cli::Outcome wrong = scratch.simsgd("claims t.json");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("t.json:/claim/comparison: ") != std::string::npos);
  study.erase("claim");
  write();
  const cli::Outcome none = scratch.simsgd("claims t.json");
  CHECK(none.code == 2);
  CHECK(none.err.starts_with("t.json:/claim: is missing."));
}

}  // namespace simsgd::test::analysis_claims
