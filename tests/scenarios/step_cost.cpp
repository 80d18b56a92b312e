// A step that is a fixed cost plus a cost per sample, or a table by batch: times by hand, the same in layers,
// parts of a batch and simulated runs; and what is refused.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>

#include "analysis/runner.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/workload.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_step_cost {

using doctest::Approx;

namespace {

Approx exactly(double value) { return Approx(value).epsilon(1e-12); }

const Json kAffine = {{"fixed", "12 ms"}, {"per_sample", "2 ms"}};
const Json kTable = {{"times",
                      {{{"batch", 2}, {"step_time", "10 ms"}},
                       {{"batch", 8}, {"step_time", "20 ms"}},
                       {{"batch", 64}, {"step_time", "160 ms"}}}}};

/// The small scenario with that cost of device D.
Json measured(const Json& cost, int batch = 8, int micro_batches = 1) {
  Json scenario = small_scenario();
  scenario["workload"]["one_device"] = {{{"device", "D"}, {"step_cost", cost}, {"source", "a test"}}};
  scenario["workload"]["batch"] = batch;
  scenario["workload"]["micro_batches"] = micro_batches;
  return scenario;
}

/// Without layers.
Json given(const Json& cost, int batch = 8, int micro_batches = 1) {
  Json scenario = small_scenario();
  scenario["workload"] = {
      {"step_cost", cost}, {"parameters", 1e6}, {"batch", batch}, {"micro_batches", micro_batches}};
  return scenario;
}

double step_s(const Json& scenario) {
  const Workload workload = job_of(scenario).workload;
  CHECK(workload.step_compute_s() == exactly(workload.one_device_step_s));
  CHECK(workload.backward_s() == exactly(2 * workload.forward_s()));
  return workload.one_device_step_s;
}

double metric(const Json& scenario, const char* name) {
  const RunOutcome outcome = run_scenario(load(scenario), {});
  return outcome.document["metrics"][name].get<double>();
}

}  // namespace

TEST_CASE("a step takes its fixed cost once for each micro-batch, and its samples once") {
  for (const int batch : {1, 8, 64, 1000}) {
    CAPTURE(batch);
    CHECK(step_s(measured(kAffine, batch)) == exactly(12e-3 + 2e-3 * batch));
    CHECK(step_s(given(kAffine, batch)) == exactly(12e-3 + 2e-3 * batch));
  }
  CHECK(step_s(measured(kAffine, 64, 4)) == exactly(4 * 12e-3 + 2e-3 * 64));
  CHECK(step_s(given(kAffine, 64, 64)) == exactly(64 * 12e-3 + 2e-3 * 64));
  CHECK(step_s(measured({{"per_sample", 0.5}}, 8, 2)) == exactly(4));
  CHECK(step_s(measured({{"fixed", 0.5}}, 8, 2)) == exactly(1));
  CHECK(step_s(measured({{"fixed", 0.5}, {"per_sample", 0}}, 8)) == exactly(0.5));
}

TEST_CASE("evaluations are spread over the samples that are trained on") {
  Json cost = kAffine;
  cost["evaluation"] = "500 us";
  CHECK(step_s(given(cost, 8)) == exactly(12e-3 + 2.5e-3 * 8));
  CHECK(step_s(measured(cost, 64, 4)) == exactly(4 * 12e-3 + 2.5e-3 * 64));
  cost = kTable;
  cost["evaluation"] = "500 us";
  CHECK(step_s(given(cost, 8)) == exactly(20e-3 + 0.5e-3 * 8));
  CHECK(errors_with("/workload/step_cost", {{"evaluation", "1 s"}})
            .find("does not say how long a pass takes") != std::string::npos);
}

TEST_CASE("without a fixed cost it is a measured step in proportion") {
  Json scenario = small_scenario();
  scenario["workload"]["batch"] = 48;
  scenario["workload"]["micro_batches"] = 3;
  scenario["workload"]["one_device"] = {
      {{"device", "D"}, {"batch", 32}, {"forward_backward", "320 ms"}, {"source", "a test"}}};
  CHECK(step_s(measured({{"per_sample", "10 ms"}}, 48, 3)) == exactly(step_s(scenario)));
}

TEST_CASE("a table gives its entries, and between them a line on logarithmic scales") {
  CHECK(step_s(measured(kTable, 2)) == exactly(10e-3));
  CHECK(step_s(measured(kTable, 8)) == exactly(20e-3));
  CHECK(step_s(measured(kTable, 64)) == exactly(160e-3));
  CHECK(step_s(measured(kTable, 4)) == exactly(10e-3 * std::sqrt(2.0)));  // half way
  CHECK(step_s(measured(kTable, 16)) == exactly(40e-3));                  // linear from 8 to 64
  CHECK(step_s(given(kTable, 64, 4)) == exactly(160e-3));                 // four of 16
  double before = 0;
  for (int batch = 2; batch <= 64; ++batch) {
    CHECK(step_s(measured(kTable, batch)) > before);
    before = step_s(measured(kTable, batch));
  }
}

TEST_CASE("a table of one entry holds for that batch alone") {
  const Json one = {{"times", {{{"batch", 8}, {"step_time", 1}}}}};
  CHECK(step_s(measured(one, 8)) == exactly(1));
  CHECK(step_s(measured(one, 32, 4)) == exactly(4));
  CHECK(
      errors_of(measured(one, 9)) ==
      "s.json:/workload/batch: makes a pass of 9 samples, beyond the 8 that /workload/one_device/0/step_cost/times were measured with. Found: 9. Use 8 samples, or measure more.");
}

TEST_CASE("the law between a table's entries is within what its header says of a fixed and a linear cost") {
  // c + b s at batches a factor apart: the greatest error of a line on logarithmic scales.
  const auto worst = [](double factor) {
    double error = 0;
    for (int i = 0; i < 145; ++i) {
      const double share = 1e-3 * std::pow(1.1, i);  // c / s, up to 1,000
      const StepLaw law{.times = {{1, share + 1}, {factor, share + factor}}};
      for (int j = 0; std::pow(1.01, j) < factor; ++j) {
        const double b = std::pow(1.01, j);
        error = std::max(error, std::abs(law.seconds(b) / (share + b) - 1));
      }
    }
    return error;
  };
  CHECK(worst(2) < 0.0151);
  CHECK(worst(2) > 0.014);
  CHECK(worst(4) < 0.061);
  CHECK(worst(4) > 0.06);
}

TEST_CASE("layers share a step by samples as they share a measured one, own times first") {
  Json scenario = measured(kAffine, 8);
  scenario["workload"]["layers"].push_back(
      {{"type", "other"}, {"tensors", Json::array()}, {"forward", "4 ms"}, {"backward", 0}});
  CHECK(
      errors_of(scenario) ==
      "s.json:/workload: lacks the key \"layer_times_batch\". Add it: the samples for which the layers' own times hold, which the \"step_cost\" of the device does not say.");
  scenario["workload"]["layer_times_batch"] = 8;
  const Workload workload = job_of(scenario).workload;
  CHECK(workload.layers[1].forward_s == exactly(4e-3));
  CHECK(workload.layers[0].forward_s == exactly(8e-3));  // a third of 28 - 4 ms
  CHECK(workload.one_device_source == "D, by samples: a test");
}

TEST_CASE(
    "a simulated step, its baseline and the scaling efficiency follow, and a slow node divides all of it") {
  Json scenario = measured(kAffine, 64, 4);
  scenario["cluster"]["workers"] = 1;
  CHECK(metric(scenario, "iteration_time_mean_s") == Approx(0.176).epsilon(1e-9));
  CHECK(metric(scenario, "scaling_efficiency") == Approx(1).epsilon(1e-9));
  scenario["cluster"]["node_speed"] = {0.5};
  CHECK(metric(scenario, "iteration_time_mean_s") == Approx(0.352).epsilon(1e-9));
  scenario = given(kTable, 64, 4);
  scenario["cluster"]["workers"] = 1;
  CHECK(metric(scenario, "iteration_time_mean_s") == Approx(0.16).epsilon(1e-9));
}

TEST_CASE("parts that an algorithm makes of a batch pay the fixed cost each") {
  // 4 parts of 16 samples: 4 x (12 + 32) ms, one worker, nothing dropped.
  Json scenario = measured(kAffine, 64);
  scenario["cluster"]["workers"] = 1;
  scenario["learner"] = small_learner();
  scenario["algorithm"] = {{"name", "dropcompute"}, {"deadline", "10 s"}, {"micro_batches", 4}};
  CHECK(metric(scenario, "iteration_time_mean_s") == Approx(0.176).epsilon(1e-9));
  scenario["workload"]["one_device"][0]["step_cost"] = kTable;
  CHECK(metric(scenario, "iteration_time_mean_s") == Approx(4 * 40e-3).epsilon(1e-9));
  scenario["workload"]["batch"] = 4;
  CHECK(
      errors_of(scenario) ==
      "s.json:/algorithm/micro_batches: makes parts of 1 sample, beyond the 2 to 64 that step_cost/times were measured with. Found: 4. Use fewer, a larger batch, or measure more.");
}

TEST_CASE("a resolved scenario is its own") {
  for (const Json& scenario : {measured(kAffine, 64, 4), measured(kTable), given(kTable), given(kAffine)}) {
    const Scenario loaded = load(scenario);
    CHECK(load(loaded.resolved).resolved == loaded.resolved);
    CHECK(make_job(load(loaded.resolved)).workload.one_device_step_s ==
          make_job(loaded).workload.one_device_step_s);
  }
  CHECK(load(given(kAffine)).resolved["workload"]["equal_layers"] == 32);
}

// Products that a user measured, as a CSV file under a device's "gemm".

namespace {

/// A device whose own file has an efficiency and a time, and a table of the user's over it.
Json with_table(const Folder& folder, const std::string& table) {
  folder.write("my.csv", table);
  folder.write("d.json",
               R"({"name": "D", "peak_flops": "1 TFLOPS", "gemm": {"efficiency": 0.5, "gather": "3 us",
                   "times": [{"m": 7, "n": 7, "k": 7, "time": 1}]}})");
  Json scenario = small_scenario();
  scenario["cluster"]["device"] = {{"use", "d.json"}, {"gemm", {{"use", "my.csv"}}}};
  return scenario;
}

Json gemm_of(const std::string& table) {
  const Folder folder;
  const std::string file = folder.write_json("s.json", with_table(folder, table));
  return load_scenario(file).resolved["cluster"]["device"]["gemm"];
}

Json time_of(int m, int n, int k, double seconds) {
  return {{"m", m}, {"n", n}, {"k", k}, {"time", seconds}};
}

}  // namespace

TEST_CASE(
    "a table of times takes the place of the device's own, by ascending FLOPs, and leaves its other keys") {
  const Json gemm = gemm_of("# V100, fp16\nk,dtype,M,n,us\n64,half,128,64,20\r\n\n8,half,8,8,5\n");
  CHECK(gemm["times"] == Json{time_of(8, 8, 8, 5 * 1e-6), time_of(128, 64, 64, 20 * 1e-6)});
  CHECK(gemm["efficiency"] == 0.5);
  CHECK(gemm["gather"] == "3 us");
}

TEST_CASE("times and rates come in several units, and a cell's own unit counts") {
  const Json one = {time_of(1000, 100, 10, 0.002)};  // 2 Mflop
  for (const char* table :
       {"m,n,k,seconds\n1000,100,10,0.002", "m,n,k,time\n1000,100,10,2 ms", "m,n,k,ms\n1000,100,10,2",
        "m,n,k,ms\n1000,100,10,2000 us", "m,n,k,gflops\n1000,100,10,1", "m,n,k,flops\n1000,100,10,1 GFLOPS",
        "m,n,k,TFLOPS,ms\n1000,100,10,77,2"}) {
    CAPTURE(table);
    const Json times = gemm_of(table)["times"];
    REQUIRE(times.size() == 1);
    CHECK(times[0]["time"].get<double>() == doctest::Approx(0.002).epsilon(1e-12));
  }
}

TEST_CASE("a kernel of the job takes what the table says, or its law's ratio beyond") {
  const Folder folder;
  const std::string file =
      folder.write_json("s.json", with_table(folder, "m,n,k,us\n100,100,100,10\n200,200,200,40\n"));
  const Device device = make_job(load_scenario(file)).cluster.device;
  CHECK(gemm_s(device, {.m = 200, .n = 200, .k = 200}) == doctest::Approx(40e-6).epsilon(1e-12));
  CHECK(gemm_s(device, {.m = 400, .n = 400, .k = 400}) == doctest::Approx(320e-6).epsilon(1e-12));
}

}  // namespace simsgd::test::scenarios_step_cost
