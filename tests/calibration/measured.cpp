// The committed specs on real measurements: what docs/calibration.md says of them. Skipped, visibly, where
// the measurements are not.
#include <doctest/doctest.h>

#include <filesystem>
#include <optional>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/collective_bench.hpp"
#include "analysis/runner.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "support.hpp"
#include "tests/analysis/support.hpp"

namespace simsgd::test::calibration_measured {

namespace {

const std::string kData = std::string(SIMSGD_SOURCE_DIR) + "/../shared/data";

/// Error of each test, by what the test judges. `starts`: fewer than a fit has, where they meet the bounds
/// too.
void check_errors(const std::string& name, const std::vector<double>& most, std::optional<int> starts = {}) {
  if (!std::filesystem::exists(kData)) {
    MESSAGE("skipped: there are no measurements at ../shared/data");
    return;
  }
  CAPTURE(name);
  CalibrationSettings settings;
  settings.data = kData;
  Spec spec = load_spec(std::string(SIMSGD_SOURCE_DIR) + "/scenarios/calibration/" + name + ".json");
  spec.fit.draws = 2;  // errors are those of the fit itself
  if (starts) spec.fit.starts = starts;
  const auto calibration = calibrate(std::move(spec), settings);
  REQUIRE(calibration->tests.size() == most.size());
  for (std::size_t t = 0; t < most.size(); ++t) {
    const Judgement& judged = calibration->tests[t].front();
    if (judged.all.count == 0) {
      MESSAGE("skipped: no measurements of " << calibration->spec.tests[t].name << " are at hand");
      continue;
    }
    CHECK(judged_by(judged.all, calibration->spec.tests[t].judge) <= most[t]);
  }
}

struct Held {
  std::size_t inside = 0, of = 0;
};

/// Mean errors of what is left out by each column of a spec of the book. How many its intervals hold.
Held check_left_out(const std::string& name, const std::vector<double>& most) {
  Held held;
  if (!std::filesystem::exists(kData)) {
    MESSAGE("skipped: there are no measurements at ../shared/data");
    return held;
  }
  CAPTURE(name);
  CalibrationSettings settings;
  settings.data = kData;
  Spec spec = load_spec(std::string(SIMSGD_SOURCE_DIR) + "/scenarios/book/" + name + ".json");
  spec.fit.draws = 2;  // errors are those of the fit itself
  const auto calibration = calibrate(std::move(spec), settings);
  const std::vector<LeftOutColumn> columns = left_out_columns(*calibration);
  REQUIRE(columns.size() == most.size());
  for (std::size_t i = 0; i < most.size(); ++i) {
    CAPTURE(columns[i].column);
    CHECK(columns[i].mean_error <= most[i]);
    held.inside += columns[i].inside;
    held.of += columns[i].with_interval;
  }
  return held;
}

}  // namespace

TEST_CASE("MLPerf: larger systems of each vendor, and of each device, from smaller ones") {
  // Intervals are held to all four together: of one alone two cells more or less are chance.
  std::size_t inside = 0, of = 0;
  const auto count = [&](const Held& held) { inside += held.inside, of += held.of; };
  count(check_left_out("mlperf_resnet", {0.06, 0.10}));
  count(check_left_out("mlperf_ssd", {0.06, 0.10}));
  count(check_left_out("mlperf_retinanet", {0.08, 0.10}));
  count(check_left_out("mlperf_bert", {0.20, 0.10}));
  CHECK(static_cast<double>(inside) >= 0.85 * static_cast<double>(of));
}

TEST_CASE("DiLoCo over shaped TCP: each rate from the others") {
  const Held held = check_left_out("low_communication", {0.08});
  CHECK(static_cast<double>(held.inside) >= 0.85 * static_cast<double>(held.of));
}

TEST_CASE("NCCL on one node: other sizes") {
  check_errors("nccl_a100_sizes_2", {0.015});
  check_errors("nccl_a100_sizes_4", {0.035});
  check_errors("nccl_a100_sizes_8", {0.05});
}

TEST_CASE("NCCL on one node: 2 and 4 GPUs predict 8") {
  check_errors("nccl_a100_workers", {0.02, 0.04, 0.08});
}

TEST_CASE("NCCL on one node of four devices: 8 GPUs, and other operations, from all_reduce of 2 and 4") {
  check_errors("nccl_devices_a100", {0.05, 0.15, 0.15}, 1);
  check_errors("nccl_devices_l40s", {0.08, 0.15, 0.15}, 1);
}

TEST_CASE("1 Gb/s Ethernet: other sizes, more workers, steps of SGD") {
  check_errors("ethernet_1g_messages", {0.05});
  check_errors("ethernet_1g_ring", {0.03, 0.01});
}

TEST_CASE("DiLoCo over shaped TCP: other repeats") {
  check_errors("low_communication_50m", {0.035});
  for (const char* rate : {"200m", "1g", "5g"})
    check_errors(std::string("low_communication_") + rate, {0.02});
}

TEST_CASE(
    "of the committed specs, too, validate gives the intervals that bench and run give on the written cluster") {
  if (!std::filesystem::exists(kData)) {
    MESSAGE("skipped: there are no measurements at ../shared/data");
    return;
  }
  constexpr int kDraws = 3;
  const auto calibrated = [](const std::string& name) {
    CalibrationSettings settings;
    settings.data = kData;
    Spec spec = load_spec(std::string(SIMSGD_SOURCE_DIR) + "/scenarios/calibration/" + name + ".json");
    spec.fit.draws = kDraws;
    spec.fit.starts = 1;  // intervals agree wherever the fit ends
    spec.models.resize(1);
    return calibrate(std::move(spec), settings);
  };
  const auto check_same = [](const std::vector<Interval>& told, const std::vector<Interval>& judged) {
    REQUIRE(told.size() == judged.size());
    for (std::size_t level = 0; level < told.size(); ++level) {
      CHECK(told[level].low == doctest::Approx(judged[level].low).epsilon(1e-9));
      CHECK(told[level].high == doctest::Approx(judged[level].high).epsilon(1e-9));
    }
  };
  const auto nodes = calibrated("nccl_a100_nodes");
  Json cluster = calibrated_cluster(*nodes, kData, "2026-01-31");
  BenchSettings settings;
  std::vector<const JudgedPoint*> of_size;
  const std::vector<JudgedPoint>& judged = nodes->tests.at(0).front().points;
  REQUIRE(judged.size() == 46);
  for (std::size_t i = 0; i < judged.size(); i += 9) {  // small and large ones
    const JudgedPoint& each = judged[i];
    settings.sizes_bytes.push_back(nodes->points.points.at(each.point).bytes());
    of_size.push_back(&each);
  }
  const Folder folder;
  const BenchResult bench =
      bench_with_intervals(load_around_cluster(folder.write_json("nodes.json", cluster), 32, {}).scenario,
                           settings, {.draws = kDraws, .jobs = 2, .progress = {}});
  for (std::size_t i = 0; i < of_size.size(); ++i) check_same(bench.rows[i].intervals, of_size[i]->intervals);

  const auto throughput = calibrated("throughput_10gbe");
  cluster = calibrated_cluster(*throughput, kData, "2026-01-31");
  cluster["workers"] = 16;
  int compared = 0;
  for (const JudgedPoint& each : throughput->tests.at(0).front().points) {
    const auto& labels = throughput->points.points.at(each.point).measurement.labels;
    if (labels.at("network") != "ResNet-50") continue;
    const std::string path = folder.write_json(
        "run.json",
        {{"cluster", cluster},
         {"workload", {{"use", kScenarios + "workloads/resnet50.json"}, {"batch", 64}}},
         {"algorithm",
          {{"name", "allreduce_sgd"}, {"fusion", labels.at("method") == "BSP-A2A" ? "all" : "none"}}},
         {"stop", {{"steps", 1}}}});
    std::vector<double> ran;
    const auto document =
        run_with_intervals(load_scenario(path), {}, {.draws = kDraws, .jobs = 2, .progress = {}}).document;
    for (const auto& level : document.at("intervals").at("throughput_samples_per_s"))
      for (const char* end : {"low", "high"}) ran.push_back(level.at(end).get<double>());
    REQUIRE(ran.size() == 4);
    check_same({{0.5, ran[0], ran[1]}, {0.9, ran[2], ran[3]}}, each.intervals);
    ++compared;
  }
  CHECK(compared == 2);
}

}  // namespace simsgd::test::calibration_measured
