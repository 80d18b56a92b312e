// A production job beside what its owners published of it: steps as measured, without launch gaps, without
// stragglers, and how much each kind, stage and replica slows it down (result-ST.json).
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/replay/report.hpp"

namespace simsgd::test::replay_real_job {

using namespace simsgd::replay;

namespace {

namespace fs = std::filesystem;

std::string data(const std::string& name) {
  const fs::path path = fs::path(SIMSGD_SOURCE_DIR) / "../shared/data/stragglers" / name;
  if (fs::exists(path)) return path.string();
  MESSAGE("SKIPPED: there is no ../shared/data/stragglers/" << name);
  return "";
}

nlohmann::json published() {
  std::ifstream file(data("result-ST.json"));
  return nlohmann::json::parse(file);
}

// Greatest error of a step, and of the mean, relative.
void compare(const ReplayReport& report, const std::vector<double>& steps_s, const nlohmann::json& measured,
             double step_error, double mean_error) {
  double sum_s = 0;
  for (std::size_t s = 0; s < steps_s.size(); ++s) {
    const double value_s = measured.at(std::to_string(report.graph.steps[s].number)).get<double>();
    sum_s += value_s;
    CHECK(steps_s[s] == doctest::Approx(value_s).epsilon(step_error).scale(0));
  }
  CHECK(mean(steps_s) * static_cast<double>(steps_s.size()) ==
        doctest::Approx(sum_s).epsilon(mean_error).scale(0));
}

}  // namespace

TEST_CASE("ops-ST: exact with recorded gaps; without them, and ideal, within 1 % of what was published") {
  const std::string table = data("ops-ST.csv.gz"), timeline = data("timeline-ST.json.gz");
  if (table.empty() || timeline.empty() || data("result-ST.json").empty()) return;
  const nlohmann::json result = published();
  for (const std::string& file : {table, timeline}) {
    CAPTURE(file);
    const bool whole = file == timeline;
    const ReplayReport report = replay_job(read_recorded_job(file), {});
    CHECK(report.operations == (whole ? 6784 : 2816));
    REQUIRE(report.graph.steps.size() == 32);
    CHECK(report.graph.workers.size() == 8);
    CHECK(report.job.ignored.empty());
    for (std::size_t s = 0; s < 32; ++s) CHECK(std::fabs(report.replayed_s[s] - report.recorded_s[s]) < 1e-6);
    // Theirs begin before the first operation: by 109 us in the mean, 249 us at most.
    compare(report, report.replayed_s, result["step_t_base"], 1.2e-4, 6e-5);
    compare(report, report.without_gaps_s, result["step_t_nodelay"], whole ? 0.0012 : 0.008,
            whole ? 0.0011 : 0.0071);
    compare(report, report.ideal_s, result["step_t_noblk"], whole ? 0.0004 : 0.0065, whole ? 0.0004 : 0.0065);
    // Slow-downs to a point.
    CHECK(std::fabs(report.blocking_slowdown() - result["blocking_slowdown"].get<double>()) < 0.001);
    CHECK(std::fabs(report.launch_slowdown() - result["launch_slowdown"].get<double>()) <
          (whole ? 0.0012 : 0.0075));
  }
}

TEST_CASE("timeline-ST: each kind, stage and replica slows the job down as published, to 0.2 points") {
  const std::string file = data("timeline-ST.json.gz");
  if (file.empty() || data("result-ST.json").empty()) return;
  const nlohmann::json result = published();
  const ReplayReport report = replay_job(read_recorded_job(file), {});
  CHECK(report.graph.warnings.empty());
  CHECK(report.graph.synchronisations.empty());
  std::size_t kinds = 0;
  for (const Share& each : report.kinds) {
    CAPTURE(each.name);
    const auto found = result["blocking_decompose_by_optype"].find(each.name);
    if (found == result["blocking_decompose_by_optype"].end()) continue;  // messages: one kind there
    ++kinds;
    CHECK(std::fabs(each.slowdown - found->get<double>()) < 0.001);
  }
  CHECK(kinds == 9);
  for (const Share& each : report.stages)
    CHECK(std::fabs(each.slowdown - result["blocking_decompose_by_stage"][each.name].get<double>()) < 0.001);
  for (const Share& each : report.replicas)
    CHECK(std::fabs(each.slowdown - result["blocking_decompose_by_dp_rank"][each.name].get<double>()) <
          0.001);
}

}  // namespace simsgd::test::replay_real_job
