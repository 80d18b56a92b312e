// A study as a table: what is found, chosen, grouped; and winners over circumstances, against a model of
// twenty lines.
#include "analysis/frame/frame.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "analysis/questions/tables.hpp"
#include "tests/report/support.hpp"

namespace simsgd::test::analysis_frame {

namespace {

using frame::Frame;
using Texts = std::vector<std::string>;

ResultStudy study_of(std::vector<ResultPoint> points) {
  return {"id", "made", "made.json", {}, std::move(points)};
}

/// Three methods under two delays on 4 and 8 workers, two seeds each.
ResultStudy three_methods() {
  std::vector<ResultPoint> points;
  for (const char* method : {"local_sgd", "wagma", "sgp"})
    for (const char* delay : {"none", "80 ms"})
      for (const int workers : {4, 8})
        for (const int seed : {2, 1})
          points.push_back(made_point(
              {{"/algorithm/name", method}, {"/cluster/workers", workers}, {"/stragglers/0/mean", delay}},
              seed, {{"simulated_time_s", workers + 0.1 * seed}}));
  return study_of(std::move(points));
}

Texts problems(const std::vector<InputError>& errors) {
  Texts texts;
  for (const InputError& error : errors)
    texts.push_back(error.problem + " | " + error.found + " | " + error.remedy);
  return texts;
}

/// Of a study with one delay, the methods' times: {{"wagma", "none", 1, 12.5}, ...}.
struct Made {
  std::string method, delay;
  int seed;
  double time;
};
ResultStudy study_of_times(const std::vector<Made>& runs) {
  std::vector<ResultPoint> points;
  for (const Made& run : runs)
    points.push_back(made_point({{"/algorithm/name", run.method}, {"/stragglers/0/mean", run.delay}},
                                run.seed, {{"iteration_time_mean_s", run.time}}));
  return study_of(std::move(points));
}

Table winners_of(const ResultStudy& study) {
  return questions::winners_table(Frame(study, no_details()), {"iteration_time_mean_s"}, {});
}

}  // namespace

TEST_CASE("an axis has its values in the order of the rows, and where each row stands") {
  const ResultStudy study = three_methods();
  const Frame all(study, no_details());
  REQUIRE(all.axes().size() == 3);
  CHECK(all.axes()[0].labels() == Texts{"local_sgd", "wagma", "sgp"});
  CHECK(all.axes()[1].is_numeric());
  CHECK(!all.axes()[2].is_numeric());
  CHECK(all.axes()[1].at[0] == 0);
  CHECK(all.axes()[1].at[2] == 1);
  CHECK(all.varying() == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("an axis that a point does not set has a default there") {
  ResultStudy study = three_methods();
  study.points.push_back(made_point({{"/algorithm/name", "eager"}}, 1, {}));
  const Frame all(study, no_details());
  CHECK(all.axes()[1].labels() == Texts{"4", "8", "default"});
  CHECK(!all.axes()[1].is_numeric());
  CHECK(all.axes()[1].at.back() == 2);
}

TEST_CASE("axes and values are found by name, by their last piece and as numbers; the rest is told") {
  const ResultStudy study = three_methods();
  const Frame all(study, no_details());
  std::vector<InputError> errors;
  CHECK(*all.axis("--rows", "workers", errors) == 1);
  CHECK(*all.value("--where", 1, "4.0", errors) == 0);
  CHECK(errors.empty());
  CHECK(!all.axis("--rows", "worker", errors));
  CHECK(!all.value("--where", 0, "wagme", errors));
  REQUIRE(errors.size() == 2);
  CHECK(problems(errors)[0].find("cluster/workers") != std::string::npos);
  CHECK(problems(errors)[1].find("wagma") != std::string::npos);
}

TEST_CASE("where: any of one axis' values, all of several axes; axes keep what is left") {
  const ResultStudy study = three_methods();
  const Frame all(study, no_details());
  std::vector<InputError> errors;
  const Frame some = all.where({"algorithm=sgp", "algorithm=wagma", "workers=8"}, errors);
  REQUIRE(errors.empty());
  CHECK(some.rows().size() == 8);
  CHECK(some.axes()[0].labels() == Texts{"wagma", "sgp"});
  CHECK(some.axes()[1].labels() == Texts{"8"});
  CHECK(some.varying() == std::vector<std::size_t>{0, 2});
  CHECK(all.rows().size() == 24);
}

TEST_CASE("groups follow the axes' values, their runs the seeds") {
  const ResultStudy study = three_methods();
  const Frame all(study, no_details());
  const auto groups = all.groups({1, 0});
  REQUIRE(groups.size() == 6);
  CHECK(groups[0].at == std::vector<std::size_t>{0, 0});
  CHECK(groups[1].at == std::vector<std::size_t>{0, 1});
  CHECK(groups[5].at == std::vector<std::size_t>{1, 2});
  CHECK(groups[0].points.size() == 4);
  CHECK(*groups[0].runs()[0]->seed == 1);
  CHECK(all.mixed({1, 0}) == std::vector<std::size_t>{2});
  CHECK(all.mixed({0, 1, 2}).empty());
}

TEST_CASE("an axis that another one tells is determined by it, not the other way round") {
  const ResultStudy study =
      study_of({made_point({{"/cluster/workers", 4}, {"/workload/batch", 64}}, 1, {}),
                made_point({{"/cluster/workers", 8}, {"/workload/batch", 32}}, 1, {}),
                made_point({{"/cluster/workers", 16}, {"/workload/batch", 32}}, 1, {})});
  const Frame all(study, no_details());
  CHECK(all.determines(0, 1));
  CHECK(!all.determines(1, 0));
}

TEST_CASE("what is chosen and what happens: by pointer, by what a named value sets, by what the study says") {
  const auto happens = [](const std::string& pointer, const nlohmann::ordered_json& value = 1) {
    return frame::is_circumstance({"axis", pointer, "label", value, {}});
  };
  for (const char* chosen : {"/algorithm/name", "/algorithm/period", "/optimizer/learning_rate", "/cluster",
                             "/cluster/workers", "/cluster/device", "/workload/batch"})
    CHECK_MESSAGE(!happens(chosen), chosen);
  for (const char* happening :
       {"/stragglers", "/stragglers/0/mean", "/cluster/nic/bandwidth", "/network/jitter", "/failures",
        "/stop/steps", "/workload/use", "/cluster/workers_of_another_kind"})
    CHECK_MESSAGE(happens(happening), happening);
  CHECK(happens("", {{"/stragglers/0/mean", "1 ms"}}));
  CHECK(!happens("", {{"/stragglers/0/mean", "1 ms"}, {"/algorithm/period", 8}}));
  CHECK(frame::is_circumstance({"axis", "/algorithm/name", "a", "a", true}));
  CHECK(!frame::is_circumstance({"axis", "/stragglers", "a", "a", false}));
}

TEST_CASE(
    "winners: the least mean under each circumstance, and over all the least geometric mean behind it") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(1, 20);
  const Texts methods = {"a", "b", "c"}, delays = {"none", "10 ms", "80 ms"};
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Made> runs;
    std::map<std::string, std::map<std::string, double>> mean;  // by delay and method
    for (const std::string& method : methods)
      for (const std::string& delay : delays)
        for (int seed = 1; seed <= 2; ++seed) {
          runs.push_back({method, delay, seed, uniform(random)});
          mean[delay][method] += runs.back().time / 2;
        }
    std::map<std::string, double> behind;
    std::map<std::string, std::string> best;
    for (const auto& [delay, of] : mean) {
      const auto least =
          std::min_element(of.begin(), of.end(), [](auto& a, auto& b) { return a.second < b.second; });
      best[delay] = least->first;
      for (const auto& [method, value] : of) behind[method] += std::log(value / least->second) / 3;
    }
    const auto overall =
        std::min_element(behind.begin(), behind.end(), [](auto& a, auto& b) { return a.second < b.second; });

    const Table table = winners_of(study_of_times(runs));
    REQUIRE(table.records.size() == 3);
    for (const auto& record : table.records) {  // circumstance, best, metric, unit, value
      const auto delay = record[0].get<std::string>();
      CHECK(record[1] == best[delay]);
      CHECK(record[4].get<double>() == doctest::Approx(mean[delay][best[delay]]).epsilon(1e-12));
    }
    CHECK(table.facts["overall"]["best"] == overall->first);
    CHECK(table.facts["overall"]["behind_mean"].get<double>() ==
          doctest::Approx(std::expm1(overall->second)).epsilon(1e-9));
  }
}

TEST_CASE("no winner where one choice alone was simulated, nor overall where a choice is missing somewhere") {
  const Table table =
      winners_of(study_of_times({{"a", "none", 1, 2}, {"b", "none", 1, 3}, {"b", "80 ms", 1, 1}}));
  REQUIRE(table.records.size() == 1);
  CHECK(table.records[0][1] == "a");
  CHECK(!table.facts.contains("overall"));
  const Texts& notes = table.notes;
  CHECK(std::any_of(notes.begin(), notes.end(),
                    [](const std::string& note) { return note.starts_with("No winner in 1 "); }));
}

TEST_CASE("equal values are a tie, one seed of each says so, ten of ten seeds are certain") {
  const auto sure = [](const std::vector<Made>& runs) {
    return winners_of(study_of_times(runs)).rows.at(0).back();
  };
  CHECK(sure({{"a", "none", 1, 2}, {"b", "none", 1, 2}}) == "tie with 1 other");
  CHECK(sure({{"a", "none", 1, 2}, {"b", "none", 1, 3}}) == "one seed");
  std::vector<Made> runs;
  for (int seed = 1; seed <= 10; ++seed) {
    runs.push_back({"a", "none", seed, 2 + 0.01 * seed});
    runs.push_back({"b", "none", seed, 3 + 0.02 * seed});
  }
  CHECK(sure(runs) == "certain");
}

TEST_CASE("a table in LaTeX takes names literally") {
  Table table;
  table.title = "50 % of a_b";
  table.header = {"a_b & c", "{x}"};
  table.rows = {{"<script>\\", "≥ 3.0 ± 1"}};
  table.notes = {"n"};
  CHECK(formatted(table, TableFormat::latex) ==
        "% 50 % of a_b\n% \\usepackage{booktabs}\n\\begin{tabular}{lr}\n\\toprule\n"
        "a\\_b \\& c & \\{x\\} \\\\\n\\midrule\n"
        "$<$script$>$\\textbackslash{} & $\\ge$ 3.0 $\\pm$ 1 \\\\\n\\bottomrule\n\\end{tabular}\n% n\n");
}

TEST_CASE("winners are refused where nothing is chosen, and where no way is better") {
  const ResultStudy study =
      study_of({made_point({{"/stragglers/0/mean", "1 ms"}}, 1, {{"iteration_time_mean_s", 1}}),
                made_point({{"/stragglers/0/mean", "2 ms"}}, 1, {{"iteration_time_mean_s", 2}})});
  CHECK_THROWS_WITH_AS(winners_of(study), doctest::Contains("has no axis of choices"), ConfigError);
  const ResultStudy methods = study_of_times({{"a", "none", 1, 2}, {"b", "none", 1, 3}});
  CHECK_THROWS_WITH_AS(questions::winners_table(Frame(methods, no_details()), {"events"}, {}),
                       doctest::Contains("--metric"), ConfigError);
}

}  // namespace simsgd::test::analysis_frame
