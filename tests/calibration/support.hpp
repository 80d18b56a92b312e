// Specs and measurements of their own making, in a folder that goes away.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/calibration/calibrate.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test {

/// Times of all-reduces: rows of workers, bytes, seconds and a campaign.
struct MeasuredRow {
  int workers = 2;
  double bytes = 0, seconds = 0;
  std::string campaign = "a";
};

inline std::string csv_of(const std::vector<MeasuredRow>& rows) {
  std::string text = "workers,bytes,time_s,campaign\n";
  for (const MeasuredRow& row : rows)
    text += fmt::format("{},{},{:.17g},{}\n", row.workers, row.bytes, row.seconds, row.campaign);
  return text;
}

/// Fits a ring (launch, latency, bandwidth) to all-reduces of m.csv.
inline Json ring_spec(int draws = 200) {
  return {
      {"name", "a ring"},
      {"scenario",
       {{"cluster",
         {{"name", "c"},
          {"device", {{"name", "D"}, {"peak_flops", "1 TFLOPS"}, {"memory", "1 GB"}}},
          {"nic", {{"bandwidth", "10 GB/s"}, {"latency", "1 us"}}},
          {"topology", {{"name", "star"}}},
          {"host", {{"launch", 0}, {"tensor", 0}, {"pack", 0}, {"staged", false}, {"reduce", 0}}},
          {"collectives", {{"all_reduce", {{{"schedule", "ring"}}}}}}}}}},
      {"data",
       {{{"files", {"m.csv"}},
         {"map",
          {{"values", {{{"quantity", "time_s"}, {"from", "time_s"}, {"unit", "s"}}}},
           {"bytes", {{"from", "bytes"}, {"unit", "B"}}},
           {"workers", "workers"},
           {"campaign", "campaign"},
           {"constants", {{"operation", "all_reduce"}}}}}}}},
      {"predict", {{{"as", "collective"}}}},
      {"models",
       {{{"name", "ring"},
         {"parameters",
          {{{"name", "launch"},
            {"pointers", {"/cluster/collectives/all_reduce/0/launch"}},
            {"low", "0.1 us"},
            {"high", "1 ms"}},
           {{"name", "latency"}, {"pointers", {"/cluster/nic/latency"}}, {"low", "10 ns"}, {"high", "1 ms"}},
           {{"name", "bandwidth"},
            {"pointers", {"/cluster/nic/bandwidth"}},
            {"low", "0.1 GB/s"},
            {"high", "100 GB/s"}}}}}}},
      {"fit", {{"where", {{"workers", {2, 4}}}}, {"draws", draws}}},
      {"tests", {{{"name", "8 workers"}, {"where", {{"workers", 8}}}}}}};
}

struct TrueRing {
  double launch_s = 3e-5, latency_s = 8e-6, bandwidth_Bps = 6e9;
  double seconds(int workers, double bytes) const {
    return launch_s + 2 * (workers - 1) * (latency_s + bytes / workers / bandwidth_Bps);
  }
};

/// Sizes 2^10 to 2^28 among 2, 4 and 8, with log-normal noise of that deviation.
inline std::vector<MeasuredRow> ring_rows(const TrueRing& truth, double noise, std::uint64_t seed) {
  std::vector<MeasuredRow> rows;
  Stream stream({.seed = seed, .purpose = Purpose::resampling, .entity = 77, .step = 0});
  for (const int workers : {2, 4, 8})
    for (double bytes = 1024; bytes <= 0x1p28; bytes *= 2)
      rows.push_back({workers, bytes, truth.seconds(workers, bytes) * std::exp(noise * stream.normal())});
  return rows;
}

namespace throughput_study {
inline constexpr double kComputeS = 0.1, kParameters = 25e6, kBatch = 32;
}

/// A study of workers that compute 0.1 s and average 25 million parameters, without a schedule, and that
/// expects `throughput` of each number of workers, samples/s.
inline Json study_of_throughputs(const std::vector<int>& workers,
                                 const std::function<double(int)>& throughput) {
  Json expected = Json::array();
  for (const int each : workers)
    expected.push_back({{"metric", "throughput_samples_per_s"},
                        {"value", throughput(each)},
                        {"tolerance", 0.1},
                        {"source", "the model of this test"},
                        {"when", {{"/cluster/workers", each}}}});
  return {{"name", "s"},
          {"cluster",
           {{"name", "c"},
            {"workers", 2},
            {"device",
             {{"name", "D"}, {"peak_flops", "1 TFLOPS"}, {"memory", "64 GB"}, {"communication_slowdown", 0}}},
            {"nic", {{"bandwidth", "5 GB/s"}, {"latency", 0}}},
            {"topology", {{"name", "star"}}},
            {"host", {{"launch", 0}, {"tensor", 0}, {"pack", 0}, {"staged", false}, {"reduce", 0}}}}},
          {"workload",
           {{"name", "w"},
            {"step_time", throughput_study::kComputeS},
            {"parameters", throughput_study::kParameters},
            {"batch", throughput_study::kBatch}}},
          {"learner", nullptr},
          {"algorithm", {{"name", "local_sgd"}, {"period", 1}}},
          {"stop", {{"steps", 1}}},
          {"expected", std::move(expected)},
          {"axes", {{{"pointer", "/cluster/workers"}, {"values", workers}}}}};
}

struct SpecFolder {
  Folder folder;

  SpecFolder(const Json& spec, const std::vector<MeasuredRow>& rows) {
    folder.write_json("spec.json", spec);
    folder.write("m.csv", csv_of(rows));
  }
  std::string directory() const { return std::filesystem::path(folder.path("m.csv")).parent_path().string(); }
  std::unique_ptr<Calibration> run() const {
    CalibrationSettings settings;
    settings.data = directory();
    return calibrate(load_spec(folder.path("spec.json")), settings);
  }
  /// All errors as one text; "" where there are none.
  std::string errors() const {
    return refusal_of<ConfigError>([&] { run(); });
  }
};

}  // namespace simsgd::test
