// Two runs laid side by side: numbers by hand.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "analysis/questions/tables.hpp"
#include "results/curves.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::test::analysis_run_comparison {

namespace fs = std::filesystem;

namespace {

/// A document with these metrics, waits of one worker in [1, 2) s and losses.
void write_document(const fs::path& folder, double step_s, double wait_s, double loss) {
  fs::create_directories(folder);
  const nlohmann::json document = {
      {"clock", folder.filename() == "real" ? "wall" : "simulated"},
      {"metrics", {{"iteration_time_mean_s", step_s}, {"wait_s", wait_s}, {"factor_s", 0.0}}},
      {"workers",
       {{{"distributions",
          {{"wait_s", {{"zero", 1}, {"bins", {{1.0, 2.0, 3}}}}}, {"staleness", {{0, 3}, {2, 1}}}}}}}},
      {"series", {{"train", {{{"step", 1}, {"train_loss", loss}}}}}}};
  std::ofstream(folder / "result.json") << document.dump();
}

fs::path fresh(const char* name) {
  const fs::path folder = fs::path(SIMSGD_BINARY_DIR) / name;
  fs::remove_all(folder);
  return folder;
}

const std::vector<nlohmann::ordered_json>& record_of(const Table& table, const std::string& name) {
  for (const auto& record : table.records)
    if (record.front() == name) return record;
  FAIL("no record of " << name);
  return table.records.front();
}

}  // namespace

TEST_CASE("the Kolmogorov-Smirnov distance, by hand") {
  using questions::ks_distance;
  CHECK(ks_distance({1, 2, 3, 4}, {4, 3, 2, 1}) == 0);
  CHECK(ks_distance({1, 2}, {3, 4}) == 1);
  // Below 2: 1/2 and 0; below 3: 1 and 1/2.
  CHECK(ks_distance({1, 2}, {2, 3}) == 0.5);
  CHECK(ks_distance({0, 0, 0, 1}, {0, 1, 1, 1}) == 0.5);
  CHECK(ks_distance({}, {}) == 0);
  CHECK(ks_distance({}, {1}) == 1);
  // In whole hundreds.
  CHECK(ks_distance({0, 0, 0, 250}, {3, 7, 99, 299}, 100) == 0);
  CHECK(ks_distance({0, 0, 0, 250}, {3, 7, 100, 299}, 100) == 0.25);
  // Rounding is not a difference.
  CHECK(ks_distance({0.1 + 0.2, 1}, {0.3, 1}) == 0);
}

TEST_CASE("errors are relative to the real run, of each part and of its step") {
  const fs::path folder = fresh("test_run_comparison");
  write_document(folder / "real", 2.0, 0.5, 1.0);
  write_document(folder / "simulated", 2.2, 0.4, 1.01);
  const Table table =
      questions::run_comparison((folder / "real").string(), (folder / "simulated" / "result.json").string());
  CHECK(record_of(table, "iteration_time_mean_s")[3].get<double>() == doctest::Approx(0.1));
  CHECK(record_of(table, "wait_s")[3].get<double>() == doctest::Approx(-0.2));
  CHECK(record_of(table, "wait_s")[4].get<double>() == doctest::Approx(-0.05));
  CHECK(record_of(table, "train_loss_greatest_difference")[3].get<double>() == doctest::Approx(0.01));
  CHECK(record_of(table, "ks_waits")[1] == 4);
  CHECK(record_of(table, "ks_staleness")[3] == 0.0);
  fs::remove_all(folder);
}

TEST_CASE("each run is called what its clock says; two of one kind are the first and the second") {
  const fs::path folder = fresh("test_run_comparison_kinds");
  for (const char* name : {"real", "one", "two"}) write_document(folder / name, 1.0, 0.5, 1.0);
  const auto of = [&](const char* name) { return (folder / name).string(); };
  const auto compared = [&](const char* one, const char* other) {
    return questions::run_comparison(of(one), of(other));
  };
  const Table measured = compared("real", "one");
  CHECK(measured.title == of("real") + " (real) beside " + of("one") + " (simulated)");
  CHECK(measured.header[1] == "real");
  CHECK(measured.facts["simulated"] == of("one"));
  const Table simulated = compared("one", "two");
  CHECK(simulated.title == of("one") + " (simulated) beside " + of("two") + " (simulated)");
  CHECK(simulated.header[1] == "first");
  CHECK(simulated.fields[2] == "second");
  CHECK(simulated.facts["second"] == of("two"));
  CHECK(simulated.notes.back() == "Errors are relative to " + of("one") + ", which is simulated.");
  const Table turned = compared("two", "real");
  CHECK(turned.header[1] == "simulated");
  CHECK(turned.header[2] == "real");
  fs::remove_all(folder);
}

TEST_CASE("with steps.csv beside both documents every value counts") {
  const fs::path folder = fresh("test_run_comparison_steps");
  write_document(folder / "real", 1.0, 0.5, 1.0);
  write_document(folder / "simulated", 1.0, 0.5, 1.0);
  StepRow row;
  row.worker = 1;
  row.step = 1;
  row.end_s = 1;
  row.activity_s[static_cast<std::size_t>(Activity::wait)] = 0.25;
  StepRow other = row;
  other.worker = 0;
  other.computed_s = std::numeric_limits<double>::quiet_NaN();
  std::ofstream(folder / "real" / "steps.csv") << steps_csv({row, other});
  row.activity_s[static_cast<std::size_t>(Activity::wait)] = 0.75;
  std::ofstream(folder / "simulated" / "steps.csv") << steps_csv({row, other});
  const std::string csv = steps_csv({row, other});
  CHECK(csv.starts_with(
      "worker,step,begin_s,computed_s,operation_begin_s,operation_went_s,operation_end_s,end_s,"));
  CHECK(csv.find("\n0,1,0,,0,0,0,1,") != std::string::npos);  // worker 0 first; no NaN
  const Table table = questions::run_comparison((folder / "real").string(), (folder / "simulated").string());
  // Waits {0.25, 0.25} and {0.25, 0.75}.
  CHECK(record_of(table, "ks_waits")[3] == 0.5);
  CHECK(record_of(table, "ks_step times")[3] == 0.0);
  fs::remove_all(folder);
}

TEST_CASE("what is not a run, and a broken table of steps, are refused with the line") {
  const fs::path folder = fresh("test_run_comparison_refused");
  write_document(folder / "real", 1.0, 0.5, 1.0);
  CHECK_THROWS_AS(questions::run_comparison((folder / "nowhere").string(), (folder / "real").string()),
                  ConfigError);
  std::ofstream(folder / "text") << "{\"metrics\": 1";
  CHECK_THROWS_AS(questions::run_comparison((folder / "text").string(), (folder / "real").string()),
                  ConfigError);
  std::ofstream(folder / "real" / "steps.csv") << "begin_s,end_s,wait_s,straggle_s,staleness\r\n0,1,x,0,\r\n";
  try {
    read_steps(folder / "real" / "steps.csv");
    FAIL("a word is not a number");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).find("steps.csv: has a cell that is not a number in line 2. Found: x.") !=
          std::string::npos);
  }
  fs::remove_all(folder);
}

}  // namespace simsgd::test::analysis_run_comparison
