// What a calibrated cluster's file draws beyond its numbers: settings of scenarios, with where they matter;
// and what is refused of it. The calibrations here are written by hand, so that what a draw is is known.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "analysis/parameter_draws.hpp"
#include "analysis/questions/advice.hpp"
#include "analysis/runner.hpp"
#include "support.hpp"

namespace simsgd::test::calibration_drawn_settings {

namespace {

/// Two draws of a bandwidth; coupling is global in the first and neighbour in the second, of two methods.
Json hand_made() {
  Json scenario = small_scenario();
  scenario["algorithm"] = {{"name", "d_psgd"}, {"coupling", "global"}};
  scenario["cluster"]["calibration"] = {
      {"spec", "by_hand.json"},
      {"parameters", {{{"pointer", "/nic/bandwidth"}, {"value", 1e9}, {"low", 9e8}, {"high", 1.1e9}}}},
      {"settings",
       {{{"name", "how gossip is coupled"},
         {"pointer", "/algorithm/coupling"},
         {"value", "global"},
         {"where", {{"/algorithm/name", {"d_psgd", "sgp"}}}},
         {"draws", {"global", "neighbour"}}}}},
      {"draws", {{{"/nic/bandwidth", 9e8}}, {{"/nic/bandwidth", 1.1e9}}}}};
  return scenario;
}

Json& setting(Json& scenario) { return scenario["cluster"]["calibration"]["settings"][0]; }

struct Drawn {
  std::vector<Json> scenarios{};  ///< resolved, of each draw
  std::vector<std::string> notes;
};

Drawn drawn_of(const Json& json) {
  const Scenario scenario = load(json);
  const ParameterDraws draws(scenario, make_job(scenario));
  Drawn all{{}, draws.notes()};
  for (std::size_t k = 0; k < draws.count(); ++k) {
    const Scenario each = draws.scenario(scenario, k);
    CHECK_NOTHROW(make_job(each));  // it is a scenario that runs
    all.scenarios.push_back(each.resolved);
  }
  return all;
}

}  // namespace

TEST_CASE("a setting of the algorithm is drawn with the cluster's numbers, draw by draw") {
  const Drawn drawn = drawn_of(hand_made());
  REQUIRE(drawn.scenarios.size() == 2);
  CHECK(drawn.scenarios[0]["algorithm"]["coupling"] == "global");
  CHECK(drawn.scenarios[1]["algorithm"]["coupling"] == "neighbour");
  CHECK(drawn.scenarios[0]["cluster"]["nic"]["bandwidth"] == 9e8);
  CHECK(drawn.scenarios[1]["cluster"]["nic"]["bandwidth"] == 1.1e9);
  CHECK(drawn.notes.empty());
}

TEST_CASE("an algorithm that lacks the setting is left alone, also where no condition says so") {
  for (const bool everywhere : {false, true}) {
    CAPTURE(everywhere);
    Json scenario = hand_made();
    if (everywhere) setting(scenario).erase("where");
    scenario["algorithm"] = {{"name", "allreduce_sgd"}};
    const Drawn drawn = drawn_of(scenario);
    REQUIRE(drawn.scenarios.size() == 2);
    CHECK(!drawn.scenarios[1]["algorithm"].contains("coupling"));
    CHECK(drawn.scenarios[1]["cluster"]["nic"]["bandwidth"] == 1.1e9);
    CHECK(drawn.notes.empty());
  }
}

TEST_CASE("conditions: another algorithm, other numbers of workers") {
  Json scenario = hand_made();
  setting(scenario)["where"] = {{"/algorithm/name", "sgp"}};
  CHECK(drawn_of(scenario).scenarios[1]["algorithm"]["coupling"] == "global");
  setting(scenario)["where"] = {{"/cluster/workers", {{"at_least", 5}}}};
  CHECK(drawn_of(scenario).scenarios[1]["algorithm"]["coupling"] == "global");
  setting(scenario)["where"] = {{"/cluster/workers", {{"at_least", 4}, {"at_most", 4}}}};
  CHECK(drawn_of(scenario).scenarios[1]["algorithm"]["coupling"] == "neighbour");
  setting(scenario)["where"] = {{"/cluster/workers", {"2", "4"}}};  // as columns of measurements are text
  CHECK(drawn_of(scenario).scenarios[1]["algorithm"]["coupling"] == "neighbour");
  setting(scenario)["where"] = {{"/algorithm/density", 0.001}};  // of another algorithm
  CHECK(drawn_of(scenario).scenarios[1]["algorithm"]["coupling"] == "global");
}

TEST_CASE("a setting that the scenario has another value of is not drawn, and a note says so") {
  Json scenario = hand_made();
  scenario["algorithm"]["coupling"] = "neighbour";
  const Drawn drawn = drawn_of(scenario);
  CHECK(drawn.scenarios[0]["algorithm"]["coupling"] == "neighbour");
  CHECK(drawn.scenarios[0]["cluster"]["nic"]["bandwidth"] == 9e8);
  REQUIRE(drawn.notes.size() == 1);
  CHECK(
      drawn.notes[0] ==
      "how gossip is coupled (/algorithm/coupling) is \"neighbour\" here, and the cluster was calibrated with \"global\": it is not drawn, and intervals do not include its uncertainty");
}

TEST_CASE(
    "quantities as text are the numbers that they say; a fitted number is drawn wider beyond, a choice not") {
  Json scenario = hand_made();
  scenario["algorithm"] = {{"name", "spd_kfac"}, {"fusion_latency", "1 ms"}};
  scenario["workload"] = {{"use", std::string(SIMSGD_SOURCE_DIR) + "/scenarios/workloads/resnet50.json"},
                          {"batch", 32}};
  scenario["cluster"]["device"] = {
      {"use", std::string(SIMSGD_SOURCE_DIR) + "/scenarios/devices/rtx2080ti.json"}};
  setting(scenario) = {
      {"pointer", "/algorithm/fusion_latency"}, {"value", 1e-3}, {"draws", {"1 ms", "2 ms"}}};
  const auto second = [&] {
    return drawn_of(scenario).scenarios[1]["algorithm"]["fusion_latency"].get<double>();
  };
  CHECK(second() == doctest::Approx(2e-3));
  scenario["cluster"]["calibration"]["measured"] = {{"workers", {{"low", 1}, {"high", 2}}}};
  CHECK(second() == doctest::Approx(2e-3));
  setting(scenario)["low"] = 1e-3;
  setting(scenario)["high"] = 2e-3;
  // Twice as many workers as were measured: deviations 1.3 times as wide, 1 ms times (2 ms / 1 ms)^1.3.
  CHECK(second() == doctest::Approx(1e-3 * std::pow(2, 1.3)));
}

TEST_CASE("a seed that is drawn is the draw's, and not one more that is made of the scenario's") {
  Json scenario = hand_made();
  scenario["cluster"]["nodes"] = scenario["cluster"]["workers"] = 8;
  scenario["cluster"]["topology"] = {{"name", "switch_tree"}, {"shape", "chain"}, {"ports", 4}};
  scenario["cluster"]["placement"] = {{"name", "random"}};
  scenario["algorithm"] = {{"name", "allreduce_sgd"}};
  scenario["seed"] = 7;
  scenario["workload"]["layers"] = {{{"type", "fc"}, {"tensors", {1000000}}, {"forward_flop", 1000}}};
  scenario["cluster"]["calibration"]["draws"] = {Json::object(), Json::object()};
  setting(scenario) = {{"pointer", "/seed"}, {"value", 7}, {"draws", {7, 7}}};
  const auto width = [&] {
    const Folder folder;
    folder.write_json("s.json", scenario);
    const RunOutcome outcome =
        run_with_intervals(load_scenario(folder.path("s.json")), {}, {.draws = 8, .jobs = 1, .progress = {}});
    const auto& interval = outcome.document.at("intervals").at("iteration_time_mean_s").at(1);
    return std::vector<double>{interval.at("high").get<double>() - interval.at("low").get<double>(),
                               outcome.document.at("uncertainty").at("seeds_matter").get<bool>() ? 1. : 0.};
  };
  CHECK(width() == std::vector<double>{0, 0});  // one order of the machines
  scenario["cluster"]["calibration"].erase("settings");
  CHECK(width()[0] > 0);  // any order
}

TEST_CASE("an order of the machines may have a seed of its own, which is the scenario's of the same number") {
  Json scenario = small_scenario();
  scenario["cluster"]["nodes"] = 8;
  scenario["cluster"]["placement"] = {{"name", "random"}};
  const auto order = [&](int seed) {
    const Folder folder;
    scenario["seed"] = seed;
    return make_job(load_scenario(folder.write_json("s.json", scenario))).cluster.endpoint_of_rank;
  };
  const std::vector<int> fifth = order(5);
  CHECK(order(6) != fifth);
  scenario["cluster"]["placement"]["seed"] = 5;
  CHECK(order(6) == fifth);
  CHECK(order(9) == fifth);
  scenario["cluster"]["placement"]["seed"] = -1;
  CHECK(errors_of(scenario).find("s.json:/cluster/placement/seed") != std::string::npos);
}

TEST_CASE(
    "the seed of an order is a choice: beyond what was measured it is not drawn wider, as a bandwidth is") {
  Json scenario = hand_made();
  scenario["cluster"]["placement"] = {{"name", "random"}, {"seed", 5}};
  scenario["cluster"]["calibration"]["measured"] = {{"workers", {{"low", 1}, {"high", 2}}}};
  for (Json& draw : scenario["cluster"]["calibration"]["draws"]) draw["/placement/seed"] = 30;
  const Drawn drawn = drawn_of(scenario);
  CHECK(drawn.scenarios[0]["cluster"]["placement"]["seed"] == 30);
  CHECK(drawn.scenarios[0]["cluster"]["nic"]["bandwidth"].get<double>() ==
        doctest::Approx(1e9 * std::pow(0.9, 1.3)));
}

TEST_CASE("wrong pointers and values of draws are refused all at once, each with its place") {
  Json scenario = hand_made();
  Json& calibration = scenario["cluster"]["calibration"];
  calibration["draws"][1] = {
      {"/nic/bandwith", 1}, {"nic/latency", 1}, {"/host/launch", "fast"}, {"/nic/latency", -1}};
  calibration["parameters"].push_back({{"pointer", "/host/lunch"}, {"value", 1}, {"low", 1}, {"high", 1}});
  setting(scenario)["draws"] = {"global", "neighbor", "global"};
  setting(scenario)["where"] = {{"/algorithm/nme", "sgp"}, {"/cluster/workers", {{"above", 4}}}};
  const std::string errors = errors_of(scenario);
  CAPTURE(errors);
  for (
      const char* part :
      {"s.json:/cluster/calibration/draws/1/~1nic~1bandwith: draws \"/nic/bandwith\", which no setting of a cluster is",
       "Did you mean \"bandwidth\"?", "s.json:/cluster/calibration/draws/1/nic~1latency: draws",
       "s.json:/cluster/calibration/draws/1/~1host~1launch: is not a value that the setting can have. Found: \"fast\"",
       "s.json:/cluster/calibration/draws/1/~1nic~1latency: is not a value that the setting can have. Found: -1",
       "s.json:/cluster/calibration/parameters/1/pointer: draws \"/host/lunch\"", "Did you mean \"launch\"?",
       "s.json:/cluster/calibration/settings/0/draws: has 3 values, but the cluster has 2 draws",
       "s.json:/cluster/calibration/settings/0/draws/1: is not a value that the setting can have. Found: \"neighbor\"",
       "s.json:/cluster/calibration/settings/0/where/~1algorithm~1nme: draws",
       "s.json:/cluster/calibration/settings/0/where/~1cluster~1workers/above: is not a comparison"}) {
    CAPTURE(part);
    CHECK(errors.find(part) != std::string::npos);
  }
}

TEST_CASE("errors of a cluster's file name that file") {
  const Folder folder;
  Json scenario = hand_made();
  Json cluster = scenario["cluster"];
  cluster["calibration"]["settings"][0]["pointer"] = "/algorithm/couplin";
  cluster.erase("workers");
  folder.write_json("clusters/mine.json", cluster);
  scenario["cluster"] = {{"use", "clusters/mine.json"}, {"workers", 4}};
  folder.write_json("s.json", scenario);
  const std::string errors = folder.errors("s.json");
  CAPTURE(errors);
  CHECK(errors.find("clusters/mine.json:/calibration/settings/0/pointer: draws \"/algorithm/couplin\"") !=
        std::string::npos);
  CHECK(errors.find("Did you mean \"coupling\"?") != std::string::npos);
}

TEST_CASE(
    "a pointer of the cluster is not a setting beside it, and a policy that was replaced by hand is not an error") {
  Json scenario = hand_made();
  setting(scenario)["pointer"] = "/cluster/nic/bandwidth";
  CHECK(errors_of(scenario).find("settings/0/pointer: is a setting of the cluster itself") !=
        std::string::npos);
  scenario = hand_made();
  scenario["cluster"]["calibration"]["parameters"] = {
      {{"pointer", "/collectives/all_reduce/1/launch"}, {"value", 1e-6}, {"low", 1e-6}, {"high", 1e-6}}};
  scenario["cluster"]["calibration"]["draws"] = {{{"/collectives/all_reduce/1/launch", 1e-6}},
                                                 {{"/collectives/all_reduce/1/launch", 2e-6}}};
  const Drawn drawn = drawn_of(scenario);
  CHECK(!drawn.scenarios[1]["cluster"]["collectives"].contains("all_reduce"));
  REQUIRE(drawn.notes.size() == 1);
  CHECK(drawn.notes[0].starts_with("1 of the cluster's calibrated numbers has another value here"));
}

TEST_CASE("what a calibration writes of an ensemble beyond the cluster is what a run draws") {
  Json spec = ring_spec();
  spec["scenario"]["seed"] = 1;
  spec["models"][0]["ensemble"] = {{{"name", "an order"}, {"pointer", "/seed"}, {"values", {3, 4}}}};
  const SpecFolder folder(spec, ring_rows({}, 0.03, 5));
  const auto calibration = folder.run();
  Json scenario = small_scenario();
  scenario["cluster"] = calibrated_cluster(*calibration, folder.directory(), "2026-01-31");
  scenario["cluster"]["workers"] = 4;
  const Json& settings = scenario["cluster"]["calibration"].at("settings");
  REQUIRE(settings.size() == 1);
  CHECK(settings[0]["name"] == "an order");
  CHECK(settings[0]["pointer"] == "/seed");
  CHECK(settings[0]["draws"].size() == 20);
  scenario["seed"] = settings[0]["value"];
  const Drawn drawn = drawn_of(scenario);
  REQUIRE(drawn.notes.size() == 1);
  CHECK(drawn.notes[0].starts_with("no run was fitted, only operations"));
  std::set<std::uint64_t> seeds;  // nothing tells the members apart: both are drawn
  for (const Json& each : drawn.scenarios) seeds.insert(each["seed"].get<std::uint64_t>());
  CHECK(seeds == std::set<std::uint64_t>{3, 4});
}

TEST_CASE("the shipped calibrated clusters are what their calibrations found: everything is drawn") {
  int calibrated = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SIMSGD_SOURCE_DIR "/scenarios/clusters")) {
    CAPTURE(entry.path());
    if (entry.path().extension() != ".json") continue;
    Json scenario = small_scenario();
    scenario["cluster"] = {{"use", entry.path().string()}, {"workers", 8}};
    scenario["algorithm"] = {{"name", "d_psgd"}, {"coupling", "global"}};
    const Scenario loaded = load(scenario);
    if (!is_calibrated(loaded)) continue;
    ++calibrated;
    const ParameterDraws draws(loaded, make_job(loaded));
    CHECK(draws.count() == 20);
    for (const std::string& note : draws.notes()) {
      CAPTURE(note);
      CHECK(note.find("uncertainty out") == std::string::npos);  // of a number that is not drawn
    }
  }
  CHECK(calibrated >= 4);  // A100 nodes, and the clusters of the papers
}

TEST_CASE("advice on a calibrated cluster draws it with every seed but the first") {
  Json scenario = hand_made();
  scenario["algorithm"] = {{"name", "allreduce_sgd"}};
  scenario["workload"]["layers"] = {{{"type", "fc"}, {"tensors", {1000000}}, {"forward_flop", 1000}}};
  scenario["axes"] = {
      {{"pointer", "/algorithm"}, {"values", {{{"name", "allreduce_sgd"}}, {{"name", "local_sgd"}}}}}};
  const Folder folder;
  const Study study = expand_study(folder.write_json("s.json", scenario));
  AdviceSettings settings;
  settings.target = AdviceTarget::throughput;
  const Advice advice = advise(study, candidates(study, {}), settings);
  REQUIRE(advice.ranked.front().scores.size() >= 3);
  const std::vector<double>& scores = advice.ranked.front().scores;
  CHECK(scores[1] < scores[0]);  // 0.9 and 1.1 GB/s, and 1 at first
  CHECK(scores[0] < scores[2]);
  REQUIRE(!advice.notes.empty());
  CHECK(advice.notes[0] == "every seed but the first also draws the calibrated cluster's parameters");
}

TEST_CASE("intervals reach as far as what was left out was off, and further where nothing of it was fitted") {
  CHECK(least_reach({0.01, 0.05}, 1, 0, 0) == Reach{0.01, 0.05});
  CHECK(least_reach({0.01, 0.05}, 3, 0, 0)[1] == doctest::Approx(0.15));  // beyond the range
  CHECK(least_reach({0.01, 0.05}, 1, 0, 1)[0] == doctest::Approx(0.1434).epsilon(1e-4));
  CHECK(least_reach({0.01, 0.05}, 1, 0, 1)[1] == 0.35);            // one thing is unlike
  CHECK(least_reach({0.20, 0.40}, 1, 0, 1) == Reach{0.20, 0.40});  // no less than what is known
  CHECK(least_reach({0, 0}, 1, 0, 2)[1] == doctest::Approx(0.4950).epsilon(1e-4));  // 0.35 sqrt 2
  // One number of workers, four times as many: 2 doublings of 5 % each, 1.645 deviations, beside 0.05
  CHECK(least_reach({0, 0.05}, 1.6, 2, 0)[1] == doctest::Approx(std::hypot(0.05, 0.1645)));

  // An operation that was not fitted, beside one on the same rings, and beside others; a message is none.
  CHECK(operation_reach({"all_reduce"}, "all_reduce") == Reach{});
  CHECK(operation_reach({"all_reduce"}, "reduce_scatter") == kRingReach);
  CHECK(operation_reach({"all_reduce"}, "all_to_all") == kUnlikeOperationReach);
  CHECK(operation_reach({"all_to_all"}, "all_reduce") == kUnlikeOperationReach);
  CHECK(operation_reach({"all_reduce"}, "") == Reach{});
  CHECK(operation_reach({}, "all_to_all") == Reach{});  // nobody wrote down what was fitted
  CHECK(least_reach({0.01, 0.05}, 2, 0, 0, kUnlikeOperationReach)[1] == 2 * kUnlikeOperationReach[1]);

  struct Expected {
    Json workloads, algorithms;
    bool told;
    double reach;
    std::vector<std::string> notes;  ///< how they begin
  };
  const std::string own = "w", other = "v";
  const std::string of_workload = "no measurement of this workload was fitted (w is not among v)",
                    of_method = "no measurement of this method was fitted (d_psgd is not among sgp)";
  for (const Expected& each : std::vector<Expected>{
           {Json{own, other}, {"d_psgd", "sgp"}, false, 0.02, {}},
           {Json::array({other}), Json{"d_psgd", "sgp"}, false, 0.35, {of_workload}},
           {Json::array({other}), Json{"d_psgd", "sgp"}, true, 0.02, {of_workload}},
           {Json::array({other}), Json::array({"sgp"}), false, 0.35 * std::sqrt(2), {of_workload, of_method}},
           {Json::array(), Json::array(), false, 0.02, {"no run was fitted, only operations"}}}) {
    Json scenario = hand_made();
    scenario["workload"]["name"] = own;
    scenario["cluster"]["calibration"]["measured"] = {{"workloads", each.workloads},
                                                      {"algorithms", each.algorithms}};
    scenario["cluster"]["calibration"]["left_out"] = {
        {"half", 0.01}, {"nine_tenths", 0.02}, {"workloads", each.told}};
    CAPTURE(scenario.at("cluster").at("calibration").dump());
    const Scenario read = load(scenario);
    const ParameterDraws draws(read, make_job(read));
    CHECK(draws.reach()[1] == doctest::Approx(each.reach));
    REQUIRE(draws.notes().size() == each.notes.size());
    for (std::size_t i = 0; i < each.notes.size(); ++i) CHECK(draws.notes()[i].starts_with(each.notes[i]));
  }
}

TEST_CASE(
    "the nearer an operation's size is to measured ones, the nearer its interval is to what the fit is off by") {
  const Reach fitted{0.01, 0.03}, left_out{0.02, 0.05};
  CHECK(reach_at_size(fitted, left_out, 0, 2)[0] == doctest::Approx(0.01));
  CHECK(reach_at_size(fitted, left_out, 1, 2)[0] == doctest::Approx(0.01 * std::sqrt(2.5)));  // (1 + 4) / 2
  CHECK(reach_at_size(fitted, left_out, 2, 2)[1] == doctest::Approx(0.05));
  CHECK(reach_at_size(fitted, left_out, 5, 2)[0] == doctest::Approx(0.04));  // 3 doublings more: times 2
  CHECK(reach_at_size({0.03, 0.06}, left_out, 0, 2) == left_out);            // what was left out says no less
  CHECK(doublings_to_nearest(std::vector<double>{1, 8}, 4) == 1);
  CHECK(growth_with_bytes(3) == 2);

  Json scenario = hand_made();
  Json& calibration = scenario["cluster"]["calibration"];
  calibration["measured"] = {{"workers", {{"low", 2}, {"high", 4}}},
                             {"bytes", {{"low", 1024}, {"high", 4096}}},
                             {"sizes", {1024, 4096}},
                             {"operations", {"all_reduce"}}};
  calibration["left_out"] = {{"half", 0.02},
                             {"nine_tenths", 0.05},
                             {"fitted", {{"half", 0.01}, {"nine_tenths", 0.03}, {"doublings", 2}}}};
  const Scenario read = load(scenario);
  const auto half = [&](int workers, double bytes, const char* operation = "all_reduce") {
    return ParameterDraws(read, workers, bytes, std::string(operation)).reach()[0];
  };
  CHECK(half(2, 4096) == doctest::Approx(0.01));
  CHECK(half(2, 2048) == doctest::Approx(0.01 * std::sqrt(2.5)));  // one doubling of two
  CHECK(half(2, 2100) == doctest::Approx(0.01 * std::sqrt(2.5)));  // log2(4096 / 2100) = 0.964: up to 1
  CHECK(half(2, 3900) == doctest::Approx(0.01 * std::sqrt(1 + 3 * 0.125 / 2)));  // 0.071: an eighth
  CHECK(half(2, 16384) == doctest::Approx(0.02));       // as far as what was left out
  CHECK(half(2, 131072) == doctest::Approx(0.04));      // five doublings
  CHECK(half(8, 2048) == doctest::Approx(0.02 * 1.3));  // sizes tell nothing of other workers
  CHECK(half(2, 16384, "all_gather") == doctest::Approx(kRingReach[0] * std::sqrt(3)));
}

TEST_CASE("a batch a factor of two from all that were fitted is unlike them, and a note says so") {
  CHECK_FALSE(batch_is_unlike({32, 64}, 33));
  CHECK_FALSE(batch_is_unlike({32, 64}, 127));
  CHECK(batch_is_unlike({32, 64}, 128));
  CHECK(batch_is_unlike({32, 64}, 16));
  CHECK_FALSE(batch_is_unlike({8, 128}, 100));
  const auto reach_of = [](const Json& batches, const Json& workload) {
    Json scenario = hand_made();
    if (workload == "self") scenario["learner"] = small_learner();
    if (workload == "self")
      scenario["workload"] = workload;
    else
      scenario["workload"].update(workload);
    Json& calibration = scenario["cluster"]["calibration"];
    calibration["measured"] = {{"batches", batches}};
    calibration["left_out"] = {{"half", 0.01}, {"nine_tenths", 0.02}, {"workloads", true}};
    const Scenario read = load(scenario);
    const ParameterDraws draws(read, make_job(read));
    const bool told =
        !draws.notes().empty() && draws.notes()[0].find("was fitted with a batch of") != std::string::npos;
    CHECK(told == (draws.reach()[1] > 0.3));
    return draws.reach()[1];
  };
  const Json fitted = {{{"workload", "w"}, {"batches", {32}}}, {{"workload", "v"}, {"batches", {8}}}};
  CHECK(reach_of(fitted, {{"name", "w"}, {"batch", 32}}) == 0.02);
  CHECK(reach_of(fitted, {{"name", "w"}, {"batch", 63}}) == 0.02);
  CHECK(reach_of(fitted, {{"name", "w"}, {"batch", 64}}) == 0.35);
  CHECK(reach_of(fitted, {{"name", "w"}, {"batch", 8}}) == 0.35);   // v's
  CHECK(reach_of(fitted, {{"name", "x"}, {"batch", 64}}) == 0.02);  // of which its name tells
  CHECK(reach_of(Json::array(), {{"name", "w"}, {"batch", 64}}) == 0.02);
  CHECK(reach_of(fitted, "self") == 0.02);
}

TEST_CASE("a run that hardly communicates has an interval, too") {
  Json scenario = hand_made();
  scenario["cluster"]["calibration"].erase("settings");
  scenario["cluster"]["calibration"]["draws"] = {{{"/nic/bandwidth", 1e9}}, {{"/nic/bandwidth", 1e9}}};
  scenario["cluster"]["calibration"]["left_out"] = {{"half", 0.01}, {"nine_tenths", 0.02}};
  const RunOutcome outcome = run_with_intervals(load(scenario), {}, {.draws = 2, .jobs = 1, .progress = {}});
  std::vector<double> all;
  for (const char* name : {"iteration_time_mean_s", "throughput_samples_per_s"}) {
    const auto& interval = outcome.document.at("intervals").at(name);
    const double value = outcome.document.at("metrics").at(name).get<double>();
    for (const std::size_t level : {0U, 1U})
      for (const char* end : {"low", "high"})
        all.push_back(std::log(interval.at(level).at(end).get<double>() / value));
  }
  const std::vector<double> expected{-0.01, 0.01, -0.02, 0.02, -0.01, 0.01, -0.02, 0.02};
  REQUIRE(all.size() == expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == doctest::Approx(expected[i]).epsilon(1e-6));
}

}  // namespace simsgd::test::calibration_drawn_settings
