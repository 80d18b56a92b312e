// Jobs whose ranks do the same in every step, out of profiles and our own records: cut, matched, played
// again.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "analysis/replay/report.hpp"
#include "sim/base/errors.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::replay_stepped {

using namespace simsgd::replay;
using cli::Outcome;
using cli::Scratch;

namespace {

std::string event(int rank, const std::string& category, const std::string& name, double ts_us, double dur_us,
                  const std::string& more = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":1,"ts":{},"dur":{},"args":{{{}}}}},)", category,
      name, rank, ts_us, dur_us, more);
}

std::string all_reduce(int rank, double ts_us, double dur_us, int elements = 8, int group = 2) {
  return event(
      rank, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", ts_us, dur_us,
      fmt::format(
          R"("Collective name":"allreduce","In msg nelems":{0},"Out msg nelems":{0},"Group size":{1},"dtype":"Float")",
          elements, group));
}

// Computes for 300 or 400 us, reduces from 200 or 300 us on until 900, and updates its model.
std::string step_of(int rank, double at_us = 0, const std::string& number = "1") {
  return event(rank, "user_annotation", "ProfilerStep#" + number, at_us, 1000) +
         event(rank, "kernel", "forward", at_us, 300 + 100 * rank) +
         all_reduce(rank, at_us + 200 + 100 * rank, 700 - 100 * rank) +
         event(rank, "kernel", "optimizer", at_us + 900, 100);
}

std::string file_of(const std::string& head, std::string events) {
  events.pop_back();
  return "{\"schemaVersion\":1," + head + ",\"traceEvents\":[" + events + "]}";
}

std::string own(const std::string& events, int ranks = 2) {
  return file_of(fmt::format(R"("distributedInfo":{{"backend":"simsgd","rank":0,"world_size":{}}})", ranks),
                 events);
}

std::string torch(int rank, const std::string& events) {
  return file_of(
      fmt::format(R"("deviceProperties":[],"distributedInfo":{{"backend":"nccl","rank":{},"world_size":2}})",
                  rank),
      events);
}

double mean_us(const RecordedJob& job, const ReplayOptions& options) {
  const ReplayReport report = replay_job(job, options);
  return 1e6 * mean(report.what_if ? report.what_if->step_s : report.replayed_s);
}

ReplayOptions heal(int worker) {
  ReplayOptions options;
  options.heal = {worker};
  return options;
}

ReplayOptions network(double factor) {
  ReplayOptions options;
  options.network = factor;
  return options;
}

ReplayOptions equal() {
  ReplayOptions options;
  options.ideal = true;
  return options;
}

void check_by_hand(const RecordedJob& job, double precision = 1e-9) {
  CHECK(mean_us(job, {}) == doctest::Approx(1000).epsilon(precision));
  // The all-reduce took 600 us from 300 on, when rank 1 began it: 300 + 600 / 2, and the update.
  CHECK(mean_us(job, network(2)) == doctest::Approx(700).epsilon(precision));
  // Slower, it still does not hold up what the ranks compute beside it: 300 + 1200 + 100.
  CHECK(mean_us(job, network(0.5)) == doctest::Approx(1600).epsilon(precision));
  // Rank 1 ready after 200, too.
  CHECK(mean_us(job, heal(1)) == doctest::Approx(900).epsilon(precision));
  // Both ready after the mean of 200 and 300.
  CHECK(mean_us(job, equal()) == doctest::Approx(950).epsilon(precision));
}

std::string refusal(const std::string& text) {
  return refusal_of<ConfigError>([&] { read_recorded_job("f", text); });
}

bool refuses(const std::string& text, const std::string& why) {
  const std::string said = refusal(text);
  CAPTURE(said);
  return said.find(why) != std::string::npos;
}

}  // namespace

TEST_CASE("a step of two ranks by hand: as it was, with twice and half the network, healed, and equal") {
  check_by_hand(read_recorded_job("f", own(step_of(0) + step_of(1))));
}

TEST_CASE("the same out of PyTorch's profiles, a file each, whose clocks differ by a day") {
  const Scratch scratch;
  const double day_us = 86400e6;
  scratch.write("r0.json", torch(0, step_of(0) + step_of(0, 5000, "2")));
  scratch.write("r1.json", torch(1, step_of(1, day_us) + step_of(1, day_us + 5000, "2")));
  const auto path = [&](const char* name) { return (scratch.path() / name).string(); };
  const RecordedJob job = read_recorded_job(std::vector{path("r1.json"), path("r0.json")});
  CHECK(replay_job(job, {}).recorded_s.size() == 2);
  check_by_hand(job, 1e-7);  // doubles of a day are 15 ps apart, of which a step of 1 ms sums some
  CHECK_THROWS_WITH_AS(
      read_recorded_job(path("r0.json")),
      doctest::Contains(
          "has the steps of 1 of 2 ranks, and the others are needed because ranks wait for them"),
      ConfigError);
}

TEST_CASE("a rank that computes on where others wait for the collective is cut there all the same") {
  // Its computing beside the all-reduce: [200, 950], longer than that takes; nothing of it waits.
  const std::string busy = event(0, "user_annotation", "ProfilerStep#1", 0, 1000) +
                           event(0, "kernel", "k", 0, 950) + all_reduce(0, 200, 700);
  const RecordedJob job = read_recorded_job("f", own(busy + step_of(1)));
  CHECK(mean_us(job, {}) == doctest::Approx(1000).epsilon(1e-9));
  CHECK(mean_us(job, network(1e9)) == doctest::Approx(1000).epsilon(1e-9));  // it ends its step 50 us later
}

TEST_CASE("what a profile does not tell is refused with a sentence") {
  const std::string both = step_of(0) + step_of(1);
  CHECK(refuses(own(step_of(0) + step_of(1), 3),
                "has the steps of 2 of 3 ranks, and the others are needed because ranks wait for them"));
  CHECK(refuses(own(both + all_reduce(0, 910, 10)),
                "has ranks with different numbers of operations in step 1"));
  CHECK(refuses(
      own(both + all_reduce(0, 910, 10) + all_reduce(1, 910, 10, 9)),
      "has ranks that differ in operation 2 of step 1. Found: all_reduce of 32 bytes on rank 0, all_reduce of 36 bytes on rank 1"));
  CHECK(refuses(own(both + all_reduce(0, 910, 10, 8, 1)), "has operations among only some ranks"));
  CHECK(refuses(own(both + all_reduce(0, 910, 10) + all_reduce(1, 950, 10)),
                "end before every rank has begun them"));
  CHECK(refuses(own(both + all_reduce(0, 910, 100) + all_reduce(1, 950, 60)), "outlast the step 1"));
  CHECK(refuses(own(both + event(0, "kernel", "ncclDevKernel_GOSSIP_ON_RING", 910, 10,
                                 "\"Collective name\":\"custom\"")),
                "has operations that only the algorithm knows, in step 1 of rank 0"));
  CHECK(refuses(own(both + event(0, "user_annotation", "send", 10, 10)), "has messages between ranks"));
  CHECK(refuses(own(both + step_of(0, 0)), "has step 1 of rank 0 twice"));
  CHECK(refuses(own(step_of(0) + step_of(1, 2000, "2")), "has no step that every rank recorded"));
  CHECK(refuses(own(all_reduce(0, 1, 2)), "contains no steps"));
  CHECK(refuses(R"({"schema_version": 3, "context": {}})", "is a run's document, which has no operations"));
  const std::string head = "worker,step,begin_s,computed_s,operation_went_s,operation_end_s,end_s\n";
  CHECK(refuses(head + "0,1,0,1,1,2,2\n0,2,3,x,1,2,2\n", "line 3 has no number in computed_s"));
  CHECK(refuses(head + "0,1,5,6,6,8,7\n", "line 2 has an instant outside of its step"));
  CHECK(refuses(head + "0,1,5,6,6,7,4\n", "line 2 ends before it begins. Found: 5 to 4."));
  CHECK(refuses(head + "0,1,5,,,,4\n1.5,1,0,,,,1\n-1,1,0,,,,1\n", "line 4 has no worker"));
  CHECK(refuses("worker,step,begin_s,end_s\n0,1,0,1\n", "has no column \"computed_s\""));
  CHECK(refuses(head, "contains no steps"));
}

TEST_CASE("a step that a rank has twice, and a row of negative length, are left out and counted") {
  const RecordedJob own_job = read_recorded_job(
      "f", own(step_of(0) + step_of(0, 2000) + step_of(1) + step_of(0, 5000, "2") + step_of(1, 5000, "2")));
  CHECK(own_job.ignored == std::map<std::string, std::size_t>{{"steps that a rank did twice, left out", 1}});
  CHECK(own_job.skipped.size() == 1);
  check_by_hand(own_job);
  const RecordedJob rows = read_recorded_job(
      "f",
      "worker,step,begin_s,computed_s,operation_went_s,operation_end_s,end_s\n0,1,0,3,5,7,8\n1,1,0,5,5,7,8\n0,2,9,,,,8\n1,2,9,10,10,11,12\n");
  CHECK(rows.ignored.at("rows of negative length, skipped") == 1);
  CHECK(rows.skipped.size() == 1);
  CHECK(mean_us(rows, {}) == doctest::Approx(8e6).epsilon(1e-12));
}

TEST_CASE("steps.csv by hand: what follows the last backward pass is one operation for which all wait") {
  // Rank 1 is ready at 5, rank 0 at 3; from then on it takes 2, and the update 1.
  const RecordedJob job = read_recorded_job(
      "f",
      "worker,step,begin_s,computed_s,operation_went_s,operation_end_s,end_s\n0,1,0,3,5,7,8\n1,1,0,5,5,7,8\n");
  CHECK(mean_us(job, {}) == doctest::Approx(8e6).epsilon(1e-12));
  CHECK(mean_us(job, network(2)) == doctest::Approx(7e6).epsilon(1e-12));
  CHECK(mean_us(job, heal(1)) == doctest::Approx(6e6).epsilon(1e-12));
}

TEST_CASE("a run of ours is replayed as it was, and healed as it is without its straggler") {
  const Scratch scratch;
  scratch.write("s.json", R"({"name": "j", "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4},
      "workload": {"use": "workloads/resnet50.json", "batch": 32}, "learner": null,
      "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 3},
      "stragglers": [{"name": "lognormal", "mean": "20 ms", "sigma": 0.5},
                     {"name": "constant", "workers": [2], "factor": 3}]})");
  REQUIRE(scratch.simsgd("run s.json -o out --steps --json").code == 0);
  const auto document = [&](const std::string& arguments) {
    const Outcome outcome = scratch.simsgd("replay " + arguments + " --json");
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    return nlohmann::json::parse(outcome.out);
  };
  const auto timeline = document("out/timeline.json --heal 2"), steps = document("out/steps.csv --heal 2");
  REQUIRE(steps["steps"].size() == 3);
  REQUIRE(timeline["steps"].size() == 3);
  std::map<int, std::pair<double, double>> spans;  // by step, of steps.csv, read here by itself
  const std::string csv = contents(scratch.path() / "out" / "steps.csv");
  for (std::size_t at = csv.find('\n') + 1; at < csv.size(); at = csv.find('\n', at) + 1) {
    std::vector<double> cells;
    for (std::size_t cell = at; cells.size() < 8; cell = csv.find(',', cell) + 1)
      cells.push_back(std::strtod(csv.c_str() + cell, nullptr));
    auto& [begin_s, end_s] = spans.try_emplace(static_cast<int>(cells[1]), cells[2], cells[7]).first->second;
    begin_s = std::min(begin_s, cells[2]);
    end_s = std::max(end_s, cells[7]);
  }
  for (std::size_t s = 0; s < 3; ++s) {
    const auto& [begin_s, end_s] = spans.at(static_cast<int>(s) + 1);
    CHECK(steps["steps"][s]["replayed_s"].get<double>() == doctest::Approx(end_s - begin_s).epsilon(1e-9));
    CHECK(timeline["steps"][s]["replayed_s"].get<double>() == doctest::Approx(end_s - begin_s).epsilon(1e-9));
  }
  // The same run without it.
  const Outcome well = scratch.simsgd(
      R"(run s.json --json --set '/stragglers=[{"name": "lognormal", "mean": "20 ms", "sigma": 0.5}]')");
  REQUIRE(well.code == 0);
  const double healthy_s = nlohmann::json::parse(well.out)["metrics"]["iteration_time_mean_s"];
  CHECK(timeline["what_if"]["step_mean_s"].get<double>() == doctest::Approx(healthy_s).epsilon(0.01));
  CHECK(timeline["metrics"]["step_recorded_mean_s"].get<double>() > healthy_s * 1.05);
}

TEST_CASE("runs whose ranks do not wait for each other are refused") {
  const Scratch scratch;
  scratch.write("s.json", R"({"name": "j", "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4},
      "workload": {"use": "workloads/resnet50.json", "batch": 32}, "learner": null,
      "algorithm": {"name": "ad_psgd"}, "stop": {"steps": 2}})");
  REQUIRE(scratch.simsgd("run s.json -o out --json").code == 0);
  const Outcome outcome = scratch.simsgd("replay out/timeline.json");
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("has messages between ranks, so it is unknown who waited for whom in a step") !=
        std::string::npos);
}

// A production job beside what its owners published of it: steps as measured, without launch gaps, without
// stragglers, and how much each kind, stage and replica slows it down (result-ST.json).

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

}  // namespace simsgd::test::replay_stepped
