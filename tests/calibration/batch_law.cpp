// A table like MLPerf's whose law is known: a fixed cost of a step, a time of a sample for each device, a
// factor for each vendor. The committed part of the book's specs finds it, and predicts systems that it has
// not seen.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "analysis/calibration/calibrate.hpp"
#include "support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::calibration_batch_law {

namespace {

constexpr double kFixedS = 4e-3, kNoise = 0.004, kSharedHost = 0.01;
constexpr double kEvaluationS = 5e-6;  // for each trained sample

struct System {
  const char* vendor;
  const char* device;
  int gpus, nodes, batch;
};

double sample_s(const std::string& device) { return device == "fast" ? 1e-4 : 2.5e-4; }
double factor_of(const std::string& vendor) { return vendor == "slow Inc" ? 1.06 : 1.0; }

/// What GPUs over PCIe take from each other on their host.
double shared(const System& system) {
  const int per_node = system.gpus / system.nodes;
  return std::string(system.device) == "fast" ? 1 : 1 + kSharedHost * (per_node - 1);
}

/// Each vendor's smallest system is one node.
const std::vector<System> kSystems{
    {"NVIDIA", "fast", 4, 1, 800},    {"NVIDIA", "fast", 8, 1, 400},   {"NVIDIA", "fast", 16, 2, 200},
    {"B", "fast", 8, 1, 400},         {"B", "fast", 64, 8, 50},        {"C", "fast", 8, 1, 300},
    {"slow Inc", "fast", 8, 1, 400},  {"slow Inc", "fast", 8, 1, 800}, {"slow Inc", "fast", 8, 1, 200},
    {"slow Inc", "fast", 32, 4, 100}, {"D", "other PCIe", 8, 1, 400},  {"D", "other PCIe", 16, 2, 100},
    {"E", "other PCIe", 4, 1, 300},   {"B", "fast", 512, 64, 10},      {"D", "other PCIe", 128, 16, 20}};

std::string table(double noise) {
  Stream stream({.seed = 3, .purpose = Purpose::resampling, .entity = 7, .step = 0});
  std::string text =
      "round,organization,system,benchmark,accelerator,accelerators,nodes,accelerators_per_node,global_batch,samples_per_s,seconds_to_target_median,samples_to_target_median\n";
  for (const System& each : kSystems) {
    const double slower = factor_of(each.vendor) * shared(each) * std::exp(noise * stream.normal());
    const double step_s = slower * (kFixedS + each.batch * sample_s(each.device));
    const double evaluated_s = slower * each.batch * kEvaluationS;
    text += fmt::format("r,{},s,net,{},{},{},{},{},{:.17g},{:.17g},{}\n", each.vendor, each.device, each.gpus,
                        each.nodes, each.gpus / each.nodes, each.batch * each.gpus,
                        each.batch * each.gpus / step_s, 1000 * (step_s + evaluated_s),
                        1000 * each.batch * each.gpus);
  }
  return text;
}

/// Few parameters: communication is next to nothing, so that the law is all that there is.
Json spec() {
  return {{"use", SIMSGD_SOURCE_DIR "/scenarios/book/parts/mlperf.json"},
          {"name", "made up"},
          {"scenario", {{"workload", {{"name", "net"}, {"parameters", 1000}}}}},
          {"data",
           {{{"files", {"table.csv"}},
             {"map", {{"use", SIMSGD_SOURCE_DIR "/scenarios/book/maps/mlperf.json"}}}}}}};
}

std::unique_ptr<Calibration> fitted(double noise) {
  const Folder folder;
  folder.write_json("spec.json", spec());
  folder.write("table.csv", table(noise));
  CalibrationSettings settings;
  settings.data = std::filesystem::path(folder.path("table.csv")).parent_path().string();
  Spec made_up = load_spec(folder.path("spec.json"));
  made_up.fit.draws = 2;  // values and errors are those of the fit itself
  return calibrate(std::move(made_up), settings);
}

double value_of(const Calibration& calibration, const std::string& name) {
  const std::vector<ParameterSpec>& parameters = calibration.model().parameters;
  for (std::size_t j = 0; j < parameters.size(); ++j)
    if (parameters[j].name == name) return calibration.best().values[j];
  FAIL("no parameter " << name);
  return 0;
}

}  // namespace

TEST_CASE("a law of the batch is found again, and the systems left out are predicted") {
  const auto calibration = fitted(kNoise);
  CHECK(value_of(*calibration, "host, each step") == doctest::Approx(kFixedS).epsilon(0.1));
  CHECK(value_of(*calibration, "a sample: fast") == doctest::Approx(sample_s("fast")).epsilon(0.02));
  CHECK(value_of(*calibration, "a sample: other PCIe") ==
        doctest::Approx(sample_s("other PCIe")).epsilon(0.04));
  // Four entries pull it from 1, and 1 weighs as one more.
  const double slow = value_of(*calibration, "vendor: slow Inc, fast");
  CHECK(slow > 1.035);
  CHECK(slow < 1.065);
  CHECK(value_of(*calibration, "vendor: C, fast") == doctest::Approx(1).epsilon(0.01));

  const std::vector<LeftOutColumn> columns = left_out_columns(*calibration);
  REQUIRE(columns.size() == 2);
  CHECK(columns[0].column == "organization");
  // Larger than the smallest of one node: 8 and 16 of NVIDIA, 64 of B, 32 of slow Inc, 16 of D.
  CHECK(columns[0].points.size() == 5);
  for (const LeftOutColumn& column : columns) CHECK(column.mean_error < 0.03);

  const Judgement& beyond = calibration->tests.front().front();
  CHECK(beyond.points.size() == 2);
  CHECK(beyond.all.worst < 0.05);
  // Seconds to the target are a thousand steps and evaluations, whose time NVIDIA's smallest system tells.
  CHECK(value_of(*calibration, "evaluation on the host, for each trained sample") ==
        doctest::Approx(kEvaluationS).epsilon(0.2));
  const Judgement& target = calibration->tests.back().front();
  CHECK(target.points.size() == kSystems.size() - 1);
  CHECK(target.all.mean < 0.03);
}

TEST_CASE("what is usual weighs as one measurement: one entry moves a factor half as far as it says") {
  Json one = spec();
  one["fit"]["outlier"] = 10;  // squares, so that the shares are those of least squares
  one["data"][0]["where"] = {{"organization", {"NVIDIA", "B", "C", "D", "E"}}};
  const Folder folder;
  folder.write_json("spec.json", one);
  std::string rows = table(0);
  // C's only entry takes 10 % longer than the law.
  const std::size_t begin = rows.find("r,C,"), end = rows.find('\n', begin);
  rows.replace(begin, end - begin,
               fmt::format("r,C,s,net,fast,8,1,8,2400,{:.17g},1,2400",
                           2400 / (1.1 * (kFixedS + 300 * sample_s("fast")))));
  folder.write("table.csv", rows);
  CalibrationSettings settings;
  settings.data = std::filesystem::path(folder.path("table.csv")).parent_path().string();
  const auto calibration = calibrate(load_spec(folder.path("spec.json")), settings);
  // By hand: NVIDIA and B have factors too, so the law moves little; C's is half of log(1.1) away from 1.
  CHECK(std::log(value_of(*calibration, "vendor: C, fast")) ==
        doctest::Approx(std::log(1.1) / 2).epsilon(0.25));
}

TEST_CASE("a usual value outside the bounds is refused") {
  Json wrong = spec();
  wrong["models"] = {{{"name", "m"},
                      {"parameters",
                       {{{"name", "v"},
                         {"pointers", {"/workload/compute_factor"}},
                         {"low", 0.5},
                         {"high", 2},
                         {"usual", 3}}}}}};
  const Folder folder;
  folder.write_json("spec.json", wrong);
  const std::string errors = refusal_of<ConfigError>([&] { load_spec(folder.path("spec.json")); });
  CAPTURE(errors);
  CHECK(errors.find("is not between \"low\" and \"high\"") != std::string::npos);
}

}  // namespace simsgd::test::calibration_batch_law
