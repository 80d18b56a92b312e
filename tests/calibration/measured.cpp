// The committed specs on real measurements: what docs/calibration.md says of them. Skipped, visibly, where
// the measurements are not.
#include <doctest/doctest.h>

#include <filesystem>

#include "analysis/calibration/left_out.hpp"
#include "support.hpp"

namespace simsgd::test::calibration_measured {

namespace {

const std::string kData = std::string(SIMSGD_SOURCE_DIR) + "/../shared/data";

/// Error of each test, by what the test judges.
void check_errors(const std::string& name, const std::vector<double>& most) {
  if (!std::filesystem::exists(kData)) {
    MESSAGE("skipped: there are no measurements at ../shared/data");
    return;
  }
  CAPTURE(name);
  CalibrationSettings settings;
  settings.data = kData;
  Spec spec = load_spec(std::string(SIMSGD_SOURCE_DIR) + "/scenarios/calibration/" + name + ".json");
  spec.fit.draws = 20;
  const auto calibration = calibrate(std::move(spec), settings);
  REQUIRE(calibration->tests.size() == most.size());
  for (std::size_t t = 0; t < most.size(); ++t) {
    const Judgement& judged = calibration->tests[t].front();
    CHECK(judged.all.count > 0);
    CHECK(judged_by(judged.all, calibration->spec.tests[t].judge) <= most[t]);
  }
}

/// Mean errors of what is left out by each column of a spec of the book, and what share intervals hold.
void check_left_out(const std::string& name, const std::vector<double>& most, double held) {
  if (!std::filesystem::exists(kData)) {
    MESSAGE("skipped: there are no measurements at ../shared/data");
    return;
  }
  CAPTURE(name);
  CalibrationSettings settings;
  settings.data = kData;
  Spec spec = load_spec(std::string(SIMSGD_SOURCE_DIR) + "/scenarios/book/" + name + ".json");
  spec.fit.draws = 20;
  const auto calibration = calibrate(std::move(spec), settings);
  const std::vector<LeftOutColumn> columns = left_out_columns(*calibration);
  REQUIRE(columns.size() == most.size());
  for (std::size_t i = 0; i < most.size(); ++i) {
    CAPTURE(columns[i].column);
    CHECK(columns[i].mean_error <= most[i]);
    CHECK(static_cast<double>(columns[i].inside) >= held * static_cast<double>(columns[i].with_interval));
  }
}

}  // namespace

TEST_CASE("MLPerf: larger systems of each vendor, and of each device, from smaller ones") {
  check_left_out("mlperf_resnet", {0.06, 0.10}, 0.85);
  check_left_out("mlperf_ssd", {0.06, 0.10}, 0.85);
  check_left_out("mlperf_retinanet", {0.08, 0.10}, 0.85);
  check_left_out("mlperf_bert", {0.20, 0.10}, 0.85);
}

TEST_CASE("DiLoCo over shaped TCP: each rate from the others") {
  check_left_out("low_communication", {0.08}, 0.7);
}

TEST_CASE("NCCL on one node: other sizes") {
  check_errors("nccl_a100_sizes_2", {0.015});
  check_errors("nccl_a100_sizes_4", {0.035});
  check_errors("nccl_a100_sizes_8", {0.05});
}

TEST_CASE("NCCL on one node: 2 and 4 GPUs predict 8") {
  check_errors("nccl_a100_workers", {0.02, 0.04, 0.08});
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

}  // namespace simsgd::test::calibration_measured
