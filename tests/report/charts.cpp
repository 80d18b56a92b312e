// Charts against what their numbers must be by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/report/support.hpp"

namespace simsgd::test::report_charts {

using Json = nlohmann::ordered_json;

namespace {

ResultStudy study_of(std::vector<ResultPoint> points) {
  return {"id", "made", "made.json", {}, std::move(points)};
}

bool near(double a, double b) { return std::fabs(a - b) < 1e-9 * std::max(1.0, std::fabs(b)); }

}  // namespace

TEST_CASE("speed-up: efficiency times workers, with Student's interval over seeds") {
  std::vector<ResultPoint> points;
  for (const int seed : {1, 2, 3})
    points.push_back(made_point({{"/algorithm", "wagma"}, {"/cluster/workers", 4}}, seed,
                                {{"scaling_efficiency", 0.7 + 0.1 * seed}}));
  points.push_back(
      made_point({{"/algorithm", "wagma"}, {"/cluster/workers", 8}}, 1, {{"scaling_efficiency", 0.5}}));
  points.push_back(made_point({{"/algorithm", "sgp"}, {"/cluster/workers", 4}}, 1, {}));
  const faces::Chart chart = chart_of(study_of(points), "speedup");
  REQUIRE(chart.rows.size() == 2);  // sgp has no efficiency
  CHECK(numbers(chart, "workers") == std::vector<double>{4, 8});
  // 3.2, 3.6, 4: mean 3.6, s = 0.4, t(0.975, 2) = 4.302652730
  const double half = 4.302652729696142 * 0.4 / std::sqrt(3.0);
  CHECK(near(numbers(chart, "value")[0], 3.6));
  CHECK(near(numbers(chart, "low")[0], 3.6 - half));
  CHECK(near(numbers(chart, "high")[0], 3.6 + half));
  CHECK(numbers(chart, "seeds") == std::vector<double>{3, 1});
  CHECK(near(numbers(chart, "value")[1], 4));
  CHECK(std::isnan(numbers(chart, "low")[1]));  // one seed
  CHECK(chart.filters.empty());
  CHECK(faces::vega(chart)["layer"][1]["encoding"]["x"]["scale"]["base"] == 2);
}

TEST_CASE("what was zipped is one axis, and knows whether it varies stragglers") {
  std::vector<ResultPoint> points;
  for (const char* name : {"none", "late"})
    for (const char* algorithm : {"sgp", "wagma"})
      points.push_back(
          made_point({{"/name", name},
                      {"/stragglers", std::string(name) == "none" ? Json::array() : Json::array({1})},
                      {"/algorithm", algorithm}},
                     1,
                     {{"iteration_time_p5_s", 0.7},
                      {"iteration_time_p25_s", 0.9},
                      {"iteration_time_p50_s", 1},
                      {"iteration_time_p75_s", 1.3},
                      {"iteration_time_p95_s", 2},
                      {"iteration_time_mean_s", 1.5}}));
  const faces::Chart chart = chart_of(study_of(points), "step_times");
  REQUIRE(chart.columns.size() == 9);  // two axes, six numbers, seeds
  CHECK(chart.columns[0].name == "name");
  CHECK(chart.columns[1].name == "algorithm");
  CHECK(numbers(chart, "p25") == std::vector<double>{0.9, 0.9, 0.9, 0.9});
  CHECK(numbers(chart, "p95") == std::vector<double>{2, 2, 2, 2});
  // The whiskers lie below the box, which spans the quartiles.
  CHECK(faces::vega(chart)["layer"][0]["encoding"]["x2"]["field"] == "shown_p95");
  CHECK(faces::vega(chart)["layer"][1]["encoding"]["x"]["field"] == "shown_p25");
  CHECK(faces::vega(chart)["layer"][1]["encoding"]["x2"]["field"] == "shown_p75");
  CHECK(left_out_of(study_of(points), "speedup") == "No axis of this study varies /cluster/workers.");
  CHECK(left_out_of(study_of(points), "winners") ==
        "This chart needs two axes besides algorithm; this study has one.");
  CHECK(left_out_of(study_of(points), "loss") == "Nothing was learned: these scenarios have no learner.");
  CHECK(left_out_of(study_of(points), "target") == "These scenarios have no target.");
}

TEST_CASE("time to target: a run that misses it is censored, not dropped") {
  std::vector<ResultPoint> points;
  const auto add = [&](const char* algorithm, std::int64_t seed, double end, double arrived) {
    std::map<std::string, double> metrics = {{"simulated_time_s", end}};
    if (arrived > 0) metrics["time_to_target_s"] = arrived;
    points.push_back(made_point({{"/algorithm", algorithm}}, seed, metrics));
  };
  for (const double time : {10, 20, 30}) add("wagma", static_cast<std::int64_t>(time), 50, time);
  add("sgp", 1, 50, 40);
  add("sgp", 2, 50, 0);
  add("sgp", 3, 60, 0);
  frame::RunDetails details = no_details();
  details.scenario = [](const std::string&) { return Json::parse(R"({"target": {"train_loss": 0.1}})"); };
  const faces::Chart chart = chart_of(study_of(points), "target", details);
  REQUIRE(chart.rows.size() == 2);
  CHECK(near(numbers(chart, "value")[0], 20));
  CHECK(near(numbers(chart, "high")[0] - 20, 4.302652729911275 * 10 / std::sqrt(3)));
  // S stays at 2/3 from 40 to tau, 60: 40 + 2/3 x 20. Dropping would have said 40.
  CHECK(near(numbers(chart, "value")[1], 160.0 / 3));
  CHECK(numbers(chart, "until")[1] == 60);
  CHECK(numbers(chart, "arrived") == std::vector<double>{3, 1});
  CHECK(numbers(chart, "seeds") == std::vector<double>{3, 3});
}

TEST_CASE("who wins where: ties are what paired differences cannot tell apart") {
  std::vector<ResultPoint> points;
  // wagma 10 apart at every seed in cell (1, 1); in (2, 1) it leads by chance alone.
  const double base[] = {100, 140, 90, 120};
  for (const int seed : {1, 2, 3, 4})
    for (const int severity : {1, 2})
      for (const int share : {1, 2})
        for (const char* algorithm : {"sgp", "wagma"}) {
          double value = base[seed - 1];
          if (std::string(algorithm) == "wagma")
            value += severity == 1 ? 10 + 0.1 * seed : (seed % 2 ? 31 : -29);
          points.push_back(made_point({{"/algorithm", algorithm}, {"/severity", severity}, {"/share", share}},
                                      seed, {{"throughput_samples_per_s", value}}));
        }
  const faces::Chart chart = chart_of(study_of(points), "winners");
  REQUIRE(chart.rows.size() == 4);
  CHECK(texts(chart, "axis_0") == std::vector<std::string>(4, "wagma"));
  CHECK(texts(chart, "axis_1") == std::vector<std::string>{"1", "1", "2", "2"});
  // Unpaired, 10 would drown in the seeds' 21.
  CHECK(texts(chart, "tied") == std::vector<std::string>{"", "", "sgp", "sgp"});
  CHECK(near(numbers(chart, "value")[0], 112.5 + 10.25));
  CHECK(chart.filters.empty());
}

TEST_CASE("curves: means over seeds at equal times, until the last seed ends, and the target that runs had") {
  std::vector<ResultPoint> points = {made_point({{"/algorithm", "sgp"}}, 1, {{"train_loss_final", 1}}),
                                     made_point({{"/algorithm", "sgp"}}, 2, {{"train_loss_final", 1}}),
                                     made_point({{"/algorithm", "wagma"}}, 1, {{"train_loss_final", 1}})};
  frame::RunDetails details = no_details();
  details.curve = [](const std::string& key, const std::string& name) -> std::vector<CurvePoint> {
    if (name != "test_accuracy" || key == "wagma/1") return {};
    if (key == "sgp/1") return {{0, 0, 0.0}, {1, 10, 1.0}};  // t / 10
    return {{0, 0, 0.0}, {1, 4, 0.4}, {2, 8, 1.2}};          // t / 10, then t / 5 - 0.4, ends first and stays
  };
  details.scenario = [](const std::string&) {
    return Json::parse(R"({"target": {"metric": "test_accuracy", "value": 0.9}})");
  };
  const faces::Chart chart = chart_of(study_of(points), "accuracy", details);
  const std::vector<double> times = numbers(chart, "time_s"), values = numbers(chart, "value");
  REQUIRE(times.size() == 81);
  CHECK(times.front() == 0);
  CHECK(near(times.back(), 10));
  for (std::size_t i = 0; i < times.size(); ++i) {
    CAPTURE(times[i]);
    const double t = times[i], mine = t / 10, other = t <= 4 ? t / 10 : std::min(t, 8.0) / 5 - 0.4;
    CHECK(near(values[i], (mine + other) / 2));
    CHECK(near(numbers(chart, "high")[i] - values[i], 12.706204736432095 * std::fabs(mine - other) / 2));
  }
  const Json level = faces::vega(chart)["layer"].back();
  CHECK(level["mark"]["type"] == "rule");
  CHECK(level["data"]["values"][0]["level"] == 0.9);
  CHECK(left_out_of(study_of(points), "loss") == "No run has a curve train_loss.");
}

TEST_CASE("runs that were evaluated once are points, since a line through one shows nothing") {
  const std::vector<ResultPoint> points = {
      made_point({{"/algorithm", "sgp"}}, 1, {{"test_accuracy_final", 0.8}}),
      made_point({{"/algorithm", "wagma"}}, 1, {{"test_accuracy_final", 0.9}})};
  frame::RunDetails details = no_details();
  std::vector<CurvePoint> of_wagma = {{7, 20, 0.9}};
  details.curve = [&](const std::string& key, const std::string& name) -> std::vector<CurvePoint> {
    if (name != "test_accuracy") return {};
    return key == "wagma/1" ? of_wagma : std::vector<CurvePoint>{{7, 10, 0.8}};
  };
  const faces::Chart once = chart_of(study_of(points), "accuracy", details);
  CHECK(numbers(once, "time_s") == std::vector<double>{10, 20});
  CHECK(once.marks.points);
  CHECK(once.caption ==
        "Each run was evaluated once, at its end; record/evaluate_every gives a curve. One seed: no bands.");
  of_wagma.insert(of_wagma.begin(), {3, 10, 0.5});
  CHECK(!chart_of(study_of(points), "accuracy", details).marks.points);
}

TEST_CASE("cost against time: who is beaten in both under the same circumstances is not on the front") {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> drawn(1, 12);  // small numbers: ties too
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<ResultPoint> points;
    std::map<std::pair<std::string, int>, std::pair<double, double>> means;  // delay, workers: time, cost
    for (const char* delay : {"none", "80 ms"})
      for (const int workers : {2, 4, 8, 16})
        for (const int seed : {1, 2}) {
          const double time_s = drawn(random), rate_usd = drawn(random);
          points.push_back(made_point({{"/stragglers/0/mean", delay}, {"/cluster/workers", workers}}, seed,
                                      {{"time_to_target_s", time_s},
                                       {"simulated_time_s", 2 * time_s},
                                       {"cost_usd", 2 * time_s * rate_usd}}));
          auto& [time, cost] = means[{delay, workers}];
          time += time_s / 2;
          cost += time_s * rate_usd / 2;
        }
    const faces::Chart chart = chart_of(study_of(points), "pareto");
    REQUIRE(chart.rows.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) {
      const std::string delay = texts(chart, "axis_0")[i];
      const auto [time, cost] = means.at({delay, std::stoi(texts(chart, "axis_1")[i])});
      CHECK(near(numbers(chart, "time_s")[i], time));
      CHECK(near(numbers(chart, "cost_usd")[i], cost));
      const bool beaten = std::any_of(means.begin(), means.end(), [&](const auto& each) {
        const auto [other_time, other_cost] = each.second;
        return each.first.first == delay && other_time <= time && other_cost <= cost &&
               (other_time < time || other_cost < cost);
      });
      CHECK(texts(chart, "front")[i] == (beaten ? "no" : "yes"));
    }
    CHECK(chart.filters == std::vector<std::string>{"axis_0"});
  }
  const std::vector<ResultPoint> alone = {
      made_point({{"/stragglers/0/mean", "none"}}, 1,
                 {{"throughput_samples_per_s", 2}, {"simulated_time_s", 1}, {"cost_usd", 1}}),
      made_point({{"/stragglers/0/mean", "1 s"}}, 1,
                 {{"throughput_samples_per_s", 1}, {"simulated_time_s", 1}, {"cost_usd", 1}})};
  CHECK(left_out_of(study_of(alone), "pareto") == "No two choices ran under the same circumstances.");
}

TEST_CASE("what runs say is told once, with how many say it") {
  const std::vector<ResultPoint> points = {made_point({{"/algorithm", "sgp"}}, 1, {{"wait_s", 1}}),
                                           made_point({{"/algorithm", "wagma"}}, 1, {{"wait_s", 2}})};
  frame::RunDetails details = no_details();
  details.notes = [] {
    return std::map<std::string, std::vector<std::string>>{{"sgp/1", {"both", "one"}}, {"wagma/1", {"both"}}};
  };
  const faces::Report made = faces::make_report({study_of(points)}, details, "made.db");
  CHECK(made.studies[0].notes == std::vector<std::string>{"Every run says: both", "1 of 2 runs say: one"});
}

TEST_CASE("the parts of a step sum to it, and those that no run has are not there") {
  std::vector<ResultPoint> points;
  for (const int seed : {1, 2})
    points.push_back(made_point({{"/algorithm", "sgp"}}, seed,
                                {{"compute_s", 0.2},
                                 {"wait_s", 0.01 * seed},
                                 {"communication_exposed_s", 0.05},
                                 {"inverse_s", 0},
                                 {"iteration_time_mean_s", 0.25 + 0.01 * seed}}));
  points.push_back(
      made_point({{"/algorithm", "wagma"}}, 1, {{"compute_s", 0.1}, {"iteration_time_mean_s", 0.1}}));
  const faces::Chart chart = chart_of(study_of(points), "breakdown");
  const std::vector<double> times = numbers(chart, "time_s");
  REQUIRE(times.size() == 4);
  CHECK(near(times[0] + times[1] + times[2] + times[3], 0.265 + 0.1));
  CHECK(faces::vega(chart)["layer"][0]["encoding"]["color"]["scale"]["domain"].size() == 3);
}

TEST_CASE("measured against simulated: error, tolerance, and what no run gave") {
  const std::vector<ResultPoint> points = {made_point({{"/algorithm", "sgp"}}, 1, {{"wait_s", 1.1}}),
                                           made_point({{"/algorithm", "wagma"}}, 1, {{"wait_s", 1.3}})};
  frame::RunDetails details = no_details();
  details.scenario = [](const std::string&) {
    return Json::parse(R"({"expected": [{"metric": "wait_s", "value": 1, "tolerance": 0.2, "source": "a"},
                                        {"metric": "cost_usd", "value": 1, "tolerance": 0.2, "source": "a"}]})");
  };
  const faces::Chart chart = chart_of(study_of(points), "measured", details);
  REQUIRE(chart.rows.size() == 4);
  CHECK(chart.filters.empty());
  CHECK(near(numbers(chart, "error")[0], 0.1));
  CHECK(texts(chart, "holds") == std::vector<std::string>{"within", "outside", "outside", "outside"});
  CHECK(std::isnan(numbers(chart, "simulated")[1]));
  // Methods and numbers of workers are seen together; whatever else varies is chosen.
  std::vector<ResultPoint> more;
  for (const char* algorithm : {"sgp", "wagma"})
    for (const int workers : {2, 4})
      for (const char* delay : {"none", "80 ms"})
        more.push_back(made_point(
            {{"/algorithm", algorithm}, {"/cluster/workers", workers}, {"/stragglers/0/mean", delay}}, 1,
            {{"wait_s", 1.1}}));
  CHECK(chart_of(study_of(more), "measured", details).filters == std::vector<std::string>{"axis_2"});
}

TEST_CASE("a chart that is not there") {
  CHECK_THROWS_WITH(
      faces::make_report({study_of({})}, no_details(), "s.db", {"speed"}),
      "--chart: is not a chart. Found: speed. Did you mean speedup? Write target, pareto, throughput, speedup, efficiency, cost, energy, winners, breakdown, step_times, loss, accuracy, measured or links.");
  const faces::Report made = faces::make_report({study_of({})}, no_details(), "s.db");
  CHECK(made.studies[0].charts.empty());
  CHECK(made.studies[0].left_out.size() == 14);
  CHECK(made.studies[0].left_out[0].why == "No run of this study has a result.");
}

}  // namespace simsgd::test::report_charts
