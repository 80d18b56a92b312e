// Advice: as good as the full grid, for a part of its cost, with reasons; checked against running everything.
#include "analysis/questions/advice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/runner.hpp"
#include "tests/analysis/support.hpp"

namespace simsgd::test::analysis_advice {

namespace {

/// 40 candidates on 4 workers with a model of 40 kB and random delays, 100 steps.
Json noisy_grid() {
  Json study = small_scenario();
  study["stop"]["steps"] = 100;
  study["stragglers"] = {{{"name", "exponential"}, {"mean", "40 us"}}};
  study["circumstances"] = Json::array();  // a network to be bought
  study["axes"] = {
      {{"pointer", "/algorithm"},
       {"values",
        {{{"name", "allreduce_sgd"}},
         {{"name", "local_sgd"}, {"period", 2}},
         {{"name", "local_sgd"}, {"period", 50}},
         {{"name", "wagma"}, {"group_size", 2}},
         {{"name", "eager_sgd"}},
         {{"name", "d_psgd"}},
         {{"name", "ad_psgd"}},
         {{"name", "sgp"}}}}},
      {{"pointer", "/cluster/nic/latency"}, {"values", {"10 us", "11 us", "20 us", "100 us", "1 ms"}}}};
  return study;
}

AdviceSettings settings_of_budget(double budget) {
  AdviceSettings settings;
  settings.target = AdviceTarget::throughput;
  settings.budget = budget;
  settings.jobs = 2;
  return settings;
}

std::vector<std::string> labels(const Advice& advice) {
  std::vector<std::string> all;
  for (const RankedCandidate& each : advice.ranked) all.push_back(each.label);
  return all;
}

}  // namespace

TEST_CASE("advice for a fifth of the cost is the best of the full grid, or a tie with it") {
  const Folder folder;
  const Study study = expand_study(folder.write_json("s.json", noisy_grid()));
  const Candidates all = candidates(study, {});
  REQUIRE(all.all.size() == 40);
  const AdviceSettings settings = settings_of_budget(8);
  const Advice advice = advise(study, all, settings);
  CHECK(advice.spent <= settings.budget);
  REQUIRE(!advice.ranked.empty());
  const AdviceCheck check = check_advice(study, all, advice, settings);
  CAPTURE(advice.ranked.front().label);
  CAPTURE(check.best);
  CHECK(check.ran == 40);
  CHECK(check.best_or_tie);
  CHECK(advice.ranked.front().reason.find("computing ") == 0);
  CHECK(!advice.rounds.empty());
  CHECK(!advice.rounds.front().nearest.empty());
}

TEST_CASE("advice is the same for any number of jobs, and within its budget") {
  const Folder folder;
  const Study study = expand_study(folder.write_json("s.json", noisy_grid()));
  const Candidates all = candidates(study, {});
  AdviceSettings settings = settings_of_budget(10);
  const Advice two = advise(study, all, settings);
  settings.jobs = 1;
  const Advice one = advise(study, all, settings);
  CHECK(labels(one) == labels(two));
  for (std::size_t i = 0; i < one.ranked.size(); ++i) CHECK(one.ranked[i].scores == two.ranked[i].scores);
  CHECK(one.spent == two.spent);
  CHECK(one.spent <= 10);
}

TEST_CASE("the seed of the scenario, or --seed, is the first one, and those after it follow") {
  const Folder folder;
  Json scenario = noisy_grid();
  scenario["stop"]["steps"] = 20;
  scenario["axes"] = {{{"pointer", "/algorithm"},
                       {"values", {{{"name", "allreduce_sgd"}}, {{"name", "local_sgd"}, {"period", 2}}}}}};
  const std::string file = folder.write_json("s.json", scenario);
  const auto scores = [&](std::optional<std::uint64_t> seed) {
    Overrides overrides;
    overrides.seed = seed;
    const Study study = expand_study(file, overrides);
    std::map<std::string, std::vector<double>> all;
    for (const RankedCandidate& each : advise(study, candidates(study, {}), settings_of_budget(10)).ranked)
      all[each.label] = each.scores;
    return all;
  };
  const auto one = scores(1), two = scores(2);
  CHECK(scores(std::nullopt) == one);  // seed 1 where the file says nothing
  REQUIRE(one.size() == 2);
  for (const auto& [label, values] : one) {
    CAPTURE(label);
    REQUIRE(values.size() == 5);
    CHECK(values[0] != values[1]);
    CHECK(std::equal(values.begin() + 1, values.end(), two.at(label).begin()));
  }
  // The seed of the file counts too, and the first score is that of a run.
  scenario["seed"] = 2;
  folder.write_json("s.json", scenario);
  CHECK(scores(std::nullopt) == two);
  const Study study = expand_study(file);
  for (const Candidate& each : candidates(study, {}).all) {
    const double run = run_scenario(load_point(study, each.points.front()), {})
                           .document["metrics"]["throughput_samples_per_s"]
                           .get<double>();
    CHECK(two.at(each.label).front() == run);
  }
}

TEST_CASE("a method that lies in a file of the user's is a candidate where it is named") {
  const Folder folder;
  const Study study = expand_study(folder.write_json("s.json", small_scenario()));
  const auto tried = [&](const CandidateSettings& settings) {
    std::set<std::string> names;
    for (const Candidate& candidate : candidates(study, settings).all)
      names.insert(candidate.chosen.back().value["name"].get<std::string>());
    return names;
  };
  CHECK(tried({}).contains("wagma"));
  CHECK_FALSE(tried({}).contains("python"));
  CHECK(tried({.algorithms = {"python"}, .workers = {}}) == std::set<std::string>{"python"});
}

TEST_CASE("--seed counts for a study too: the seeds that it has are not what is advised on") {
  const Folder folder;
  Json study = noisy_grid();
  Json& methods = study["axes"][0]["values"];
  methods.erase(methods.begin() + 3, methods.end());
  study["axes"].erase(1);
  study["stop"]["steps"] = 20;
  const auto advised = [&](const std::string& file, const std::string& seed) {
    const Ended ended = run_simsgd(
        {"advise", folder.write_json(file, study), "--target", "throughput", "--json", "--seed", seed});
    CHECK(ended.err == "");
    REQUIRE(ended.code == 0);
    return ended.out;
  };
  const std::string seven = advised("s.json", "7");
  CHECK(seven != advised("s.json", "8"));
  study["seeds"] = {7, 8, 9};
  CHECK(advised("seeds.json", "7") == seven);
}

TEST_CASE("candidates of a scenario are all algorithms; the impossible ones are told with the reason") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["stop"]["steps"] = 20;
  const Study study = expand_study(folder.write_json("s.json", scenario));
  const Candidates all =
      candidates(study, {.algorithms = {"local_sgd", "wagma", "kfac", "allreduce_sgd"}, .workers = {2, 4}});
  const Advice advice = advise(study, all, settings_of_budget(1000));
  // Without noise or a limit: everything possible ran in full, once more to see that no seed matters.
  CHECK(advice.rounds.empty());
  CHECK(advice.ranked.size() + advice.impossible.size() == all.all.size());
  REQUIRE(!advice.impossible.empty());
  CHECK(std::all_of(advice.impossible.begin(), advice.impossible.end(), [](const ImpossibleCandidate& each) {
    return each.label.find("kfac") != std::string::npos && !each.why.empty();
  }));
  CHECK(advice.ranked.front().scores.size() == 2);
  CHECK(advice.ranked.front().behind == 0);
  CHECK(std::is_sorted(advice.ranked.begin(), advice.ranked.end(),
                       [](const auto& a, const auto& b) { return a.behind < b.behind; }));
}

TEST_CASE("where a level is to be reached, the fastest to reach it is advised, and who misses it is not") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["workload"] = "self";
  scenario["learner"] = small_learner();
  scenario["optimizer"] = {{"name", "sgd"}, {"learning_rate", 0.1}};
  scenario["stop"]["steps"] = 200;
  scenario["target"] = {{"metric", "train_loss"}, {"value", 0.5}, {"window", 5}, {"stop", true}};
  scenario["axes"] = {{{"pointer", "/optimizer/learning_rate"}, {"values", {0.1, 0.000001, 0.05, 0.02}}}};
  const Study study = expand_study(folder.write_json("s.json", scenario));
  AdviceSettings settings = settings_of_budget(40);
  settings.target = AdviceTarget::time;
  const Advice advice = advise(study, candidates(study, {}), settings);
  CHECK(advice.learns);
  CHECK(advice.unit == "s");
  REQUIRE(!advice.ranked.empty());
  CHECK(advice.ranked.front().label == "optimizer/learning_rate=0.1");
  // With a step of a millionth nothing is learnt; whoever misses the level is told, not ranked.
  CHECK(advice.ranked.size() + advice.failed.size() == 4);
  CHECK(std::any_of(advice.failed.begin(), advice.failed.end(), [](const ImpossibleCandidate& each) {
    return each.label == "optimizer/learning_rate=1e-06" && each.why == "Does not reach the target.";
  }));
}

TEST_CASE("a budget that buys too few steps is refused with a sentence, a wrong name with the right ones") {
  const Folder folder;
  Json grid = noisy_grid();
  grid["stop"]["steps"] = 10;
  const Study study = expand_study(folder.write_json("s.json", grid));
  CHECK_THROWS_WITH(
      advise(study, candidates(study, {}), settings_of_budget(4)),
      "--budget: is too small for 40 candidates. Found: 4. Raise it, try fewer candidates (--algorithms), or use a scenario with more steps.");
  const Study plain = expand_study(folder.write_json("p.json", small_scenario()));
  CHECK_THROWS_AS(candidates(plain, {.algorithms = {"local_sdg"}, .workers = {}}), ConfigError);
  CHECK_THROWS_AS(candidates(study, {.algorithms = {"local_sgd"}, .workers = {}}), ConfigError);
}

TEST_CASE(
    "over circumstances: the least geometric mean of what every choice takes under each, and each alone") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["stop"]["steps"] = 20;
  scenario["axes"] = {
      {{"pointer", "/algorithm"},
       {"values",
        {{{"name", "allreduce_sgd"}}, {{"name", "local_sgd"}, {"period", 4}}, {{"name", "d_psgd"}}}}},
      {{"pointer", "/cluster/nic/latency"}, {"values", {"10 us", "1 ms", "50 ms"}}}};
  const Study study = expand_study(folder.write_json("s.json", scenario));
  const Candidates all = candidates(study, {});
  REQUIRE(all.all.size() == 3);
  REQUIRE(all.circumstances.size() == 3);
  const Advice advice = advise(study, all, settings_of_budget(1000));
  REQUIRE(advice.ranked.size() == 3);
  // The independent way: every point by itself.
  std::map<std::string, double> mean;
  std::map<std::string, std::vector<double>> values;
  for (const Candidate& each : all.all) {
    double sum = 0;
    for (const StudyPoint& point : each.points) {
      values[each.label].push_back(run_scenario(load_point(study, point), {})
                                       .document["metrics"]["throughput_samples_per_s"]
                                       .get<double>());
      sum += std::log(values[each.label].back());
    }
    mean[each.label] = std::exp(sum / 3);
  }
  for (const RankedCandidate& each : advice.ranked) {
    CHECK(each.scores.front() == doctest::Approx(mean[each.label]).epsilon(1e-12));
    CHECK(each.under == values[each.label]);
    CHECK(mean[each.label] <= mean[advice.ranked.front().label]);
  }
  CHECK(advice.spent == 3 * 3 * 2);
  const Advice last = advise(study, all.under(2), settings_of_budget(1000));
  CHECK(last.circumstances == std::vector<std::string>{"cluster/nic/latency=50 ms"});
  for (const RankedCandidate& each : last.ranked) CHECK(each.scores.front() == values[each.label][2]);
}

TEST_CASE("limits: what takes or costs more is told with its figure, the best of the others is advised") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["stop"]["steps"] = 20;
  scenario["cluster"]["device"]["price_usd_per_h"] = 3600;
  scenario["axes"] = {{{"pointer", "/cluster/workers"}, {"values", {2, 4, 8}}}};
  const Study study = expand_study(folder.write_json("s.json", scenario));
  const Candidates all = candidates(study, {});
  AdviceSettings settings = settings_of_budget(100);
  settings.most_usd = 1e9;
  const Advice open = advise(study, all, settings);
  REQUIRE(open.ranked.size() == 3);
  const auto of = [&](const std::string& label) {
    return *std::find_if(open.ranked.begin(), open.ranked.end(),
                         [&](const RankedCandidate& each) { return each.label == label; });
  };
  const RankedCandidate two = of("cluster/workers=2"), four = of("cluster/workers=4");
  CHECK(*two.cost_usd == doctest::Approx(2 * two.time_s).epsilon(1e-9));  // 1 USD a second and GPU
  settings.most_usd = (*two.cost_usd + *four.cost_usd) / 2;
  const Advice cheap = advise(study, all, settings);
  REQUIRE(cheap.ranked.size() == 1);
  CHECK(cheap.ranked[0].label == "cluster/workers=2");
  REQUIRE(cheap.beyond.size() == 2);
  CHECK(cheap.beyond[0].why.find("Costs ") == 0);
  settings.most_usd.reset();
  settings.deadline_s = two.time_s / 2;
  CHECK_THROWS_WITH_AS(advise(study, all, settings),
                       doctest::Contains("No candidate that ran in full is within the limits."), RunError);
}

TEST_CASE("deterministic choices that differ by less than the model's error are undecided") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["stop"]["steps"] = 10;
  scenario["circumstances"] = Json::array();
  scenario["axes"] = {{{"pointer", "/cluster/nic/latency"}, {"values", {"100 us", "100.1 us", "1 s"}}}};
  const Study study = expand_study(folder.write_json("s.json", scenario));
  const Advice advice = advise(study, candidates(study, {}), settings_of_budget(100));
  REQUIRE(advice.ranked.size() == 3);
  CHECK(advice.ranked[1].verdict == statistics::Verdict::undecided);
  CHECK(advice.ranked[1].label == "cluster/nic/latency=100.1 us");
  CHECK(advice.ranked[2].verdict == statistics::Verdict::more);
}

}  // namespace simsgd::test::analysis_advice
