// What is known of costs: everything of the clusters and devices that we ship; what is left out is unknown,
// counts as 0, and is said.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "algorithms/plugin.hpp"
#include "scenarios/language/json_source.hpp"
#include "sim/cluster/kernels.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_costs {

using doctest::Approx;

namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kScenarios + folder))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> unknown_costs(const Job& job) {
  std::vector<std::string> texts;
  for (const Note& note : job.notes)
    if (note.about == "unknown-cost") texts.push_back(note.text);
  return texts;
}

// The small scenario with factors for K-FAC, a device "D" and a cluster "C" that know all that is not asked
// here.
Json scenario_with(const Json& algorithm) {
  Json scenario = small_scenario();
  scenario["workload"]["layers"][0]["tensors"] = {{10, 100}, 10};
  scenario["cluster"]["name"] = "C";
  scenario["cluster"]["host"] = {{"launch", 0}, {"pack", 0}, {"staged", false}, {"reduce", 0}, {"tensor", 0}};
  scenario["cluster"]["device"]["launch"] = 0;
  scenario["cluster"]["device"]["memory_bandwidth"] = "1 TB/s";
  scenario["algorithm"] = algorithm;
  return scenario;
}

}  // namespace

TEST_CASE("every device that we ship knows every kernel, and says where it has that from") {
  for (const std::string& file : files_in("devices")) {
    CAPTURE(file);
    Json scenario = small_scenario();
    scenario["cluster"]["device"] = {{"use", file}};
    const Device device = job_of(scenario).cluster.device;
    CHECK(device.peak_flops > 0);
    CHECK(device.memory_Bps > 0);
    CHECK(device.launch_s > 0);
    CHECK((device.selection_s > 0 || !device.selection_times.empty()));
    CHECK(device.vector_pass.efficiency > 0);
    CHECK(device.copy_Bps > 0);
    CHECK(device.gemm.efficiency > 0);
    CHECK(device.gemm.gather_s > 0);
    CHECK(device.inverse.times.size() >= 5);
    CHECK(device.inverse.overhead_s > 0);
    CHECK(device.qr.column_s > 0);
    CHECK(device.qr.overhead_s > 0);
    for (const KernelDescription& kernel : describe_kernels(device)) {
      CAPTURE(kernel.name);
      CHECK(unknown_costs(device, kernel.kernel).empty());
    }
    CHECK(device.communication_slowdown.known());
    for (std::size_t i = 1; i < device.inverse.times.size(); ++i)
      CHECK(device.inverse.times[i].seconds >= device.inverse.times[i - 1].seconds);
    for (const char* key : {"selection", "vector_pass", "copy_bandwidth", "gemm", "gather", "inverse", "qr",
                            "quantise", "accumulate", "overhead", "communication_slowdown"}) {
      CAPTURE(key);
      CHECK(device.source.find(key) != std::string::npos);
    }
  }
}

TEST_CASE("every cluster that we ship knows what its hosts cost, and says from where") {
  JsonFiles files;
  for (const std::string& file : files_in("clusters")) {
    CAPTURE(file);
    const Cluster cluster = load_cluster(file, 8).cluster;
    const HostCosts& host = cluster.host;
    for (const Cost& cost :
         {host.launch_s, host.pack_s_per_byte, host.staging_Bps, host.reduce_s_per_byte, host.tensor_s,
          host.scale_s_per_byte, host.copy_s, host.merge_s, host.scatter_add_s})
      CHECK(cost.known());
    CHECK(cluster.device.accumulate_s.known());
    const auto source = files.read(file)["source"].get<std::string>();
    for (const char* key : {"launch", "reduce", "tensor"}) {
      CAPTURE(key);
      CHECK(source.find(key) != std::string::npos);
    }
  }
}

TEST_CASE("on what we ship no algorithm uses an unknown cost") {
  for (const std::string& file : files_in("clusters")) {
    for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
      CAPTURE(file);
      CAPTURE(plugin.info.name);
      Json scenario = small_scenario();
      scenario["cluster"] = {{"use", file}, {"workers", plugin.info.name == "kfac" ? 1 : 8}};
      scenario["workload"] = {{"use", kScenarios + "workloads/resnet50.json"}, {"batch", 8}};
      scenario["algorithm"] = {{"name", plugin.info.name}};
      if (plugin.info.name == "dropcompute") scenario["algorithm"]["deadline"] = "1 s";
      scenario["stop"]["steps"] = 1000;
      CHECK(unknown_costs(job_of(scenario)).empty());
    }
  }
}

TEST_CASE("vectors that the device copies and adds take their passes over its memory") {
  Json scenario = scenario_with({{"name", "sgp"}});
  scenario["cluster"]["device"]["memory_bandwidth"] = "1 TB/s";
  scenario["cluster"]["device"]["vector_pass"] = {{"efficiency", 0.8}};
  scenario["cluster"]["device"]["copy_bandwidth"] = "10 GB/s";
  scenario["cluster"]["host"] = {{"staged", true}};
  Cluster cluster = job_of(scenario).cluster;
  CHECK(cluster.host.pack_s_per_byte == Approx(2 / 0.8e12).epsilon(1e-12));   // reads and writes
  CHECK(cluster.host.scale_s_per_byte == Approx(2 / 0.8e12).epsilon(1e-12));  // likewise
  // Into one vector: 4 bytes read, 4 written; the sum with the residual: 8 read, 4 written.
  CHECK(cluster.device.accumulate_s == Approx(20 / 0.8e12).epsilon(1e-12));
  CHECK(cluster.host.staging_Bps == 10e9);
  scenario["cluster"]["host"] = {{"staged", true}, {"pack", 1e-10}, {"staging_bandwidth", "3 GB/s"}};
  cluster = job_of(scenario).cluster;
  CHECK(cluster.host.pack_s_per_byte == 1e-10);
  CHECK(cluster.host.staging_Bps == 3e9);
  scenario["cluster"]["host"] = {{"staged", false}};
  CHECK(job_of(scenario).cluster.host.staging_Bps.known());
  CHECK(job_of(scenario).cluster.host.staging_Bps == 0);
}

// What training ResNet-50 needs of a GPU, part by part, by formulas over its layers.

namespace {

constexpr double kVector = 4 * 25'557'032.0;            // bytes of an fp32 vector of the model's size
constexpr double kActivations = 4 * 32 * 22'228'968.0;  // a batch of 32
/// Of layers with a matrix of rows x columns: 4 (rows^2 + columns^2), + 1 column for a bias.
constexpr double kFactors = 4 * 153'851'562.0;
/// 4 columns of each matrix's two factors, and the vectors.
constexpr double kThin = 4 * 384'084.0;

/// Batches of 32 on 64 workers, SGD with momentum.
std::vector<MemoryPart> memory_of(const Json& algorithm) {
  Json scenario = small_scenario();
  scenario["cluster"] = {{"use", kScenarios + "clusters/infiniband-100g.json"}, {"workers", 64}};
  scenario["workload"] = {{"use", kScenarios + "workloads/resnet50.json"}, {"batch", 32}};
  scenario["optimizer"] = {{"name", "sgd"}, {"momentum", 0.9}};
  scenario["algorithm"] = algorithm;
  scenario["stop"]["steps"] = 1000;
  return job_of(scenario).memory;
}

using Parts = std::vector<std::pair<std::string, double>>;

/// What every replica has, and `more`.
Parts replica_and(const Parts& more) {
  Parts parts = {{"parameters", kVector}, {"gradients", kVector}, {"optimizer state", kVector}};
  parts.emplace_back("activations", kActivations);
  parts.insert(parts.end(), more.begin(), more.end());
  return parts;
}

void check(const Json& algorithm, const Parts& expected) {
  CAPTURE(algorithm.dump());
  const std::vector<MemoryPart> parts = memory_of(algorithm);
  REQUIRE(parts.size() == expected.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CHECK(parts[i].name == expected[i].first);
    CHECK(parts[i].bytes == Approx(expected[i].second).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE("memory of ResNet-50 on 64 workers, part by part") {
  check({{"name", "allreduce_sgd"}}, replica_and({}));
  // 25,557 of 25,557,032 entries, an index and a number of 4 bytes each.
  check({{"name", "gtopk"}, {"density", 0.001}},
        replica_and({{"residual", kVector}, {"chosen entries", 25'557 * 8}}));
  check({{"name", "spd_kfac"}}, replica_and({{"factors", kFactors}, {"inverses", kFactors}}));
  // A bit for each of 25,557,032 numbers, and a scale for each 4,096.
  check({{"name", "coded_sgd"}},
        replica_and({{"coded message", (25'557'032 + 32 * 6240) / 8.0}, {"error feedback", kVector}}));
  // 128 of each 4,096 at 12 + 2 bits, 64 bits for their two values; 2,088 are left beside 6,239 whole chunks.
  check({{"name", "sparseloco"}}, replica_and({{"outer model", kVector},
                                               {"coded message", 6240 * (128 * 14 + 64) / 8.0},
                                               {"error feedback", kVector}}));
  // 4 of each 64 at 6 + 32 bits; 40 are left beside 399,328 whole chunks.
  check({{"name", "demo"}},
        replica_and({{"coded message", 399'329 * 4 * 38 / 8.0}, {"error feedback", kVector}}));
  check({{"name", "noloco"}}, replica_and({{"slow model and its last step", 2 * kVector},
                                           {"a partner's progress and slow model", 2 * kVector}}));
  check({{"name", "async_local_sgd"}}, replica_and({{"start and, on rank 0, the server", 4 * kVector}}));
  check({{"name", "halos"}}, replica_and({{"start and, on rank 0, two servers", 8 * kVector}}));
  check({{"name", "decoupled_diloco"}},
        replica_and({{"received model and, on rank 0, the syncer", 4 * kVector}}));
  for (const char* name : {"bytescheduler", "dear", "mg_wfbp"}) check({{"name", name}}, replica_and({}));
  check({{"name", "onebit_adam"}},
        replica_and({{"moments and error of the served part", (2 + 1.0 / 64) * kVector},
                     {"gathered first moment", (25'557'032 + 32 * 6240) / 8.0},
                     {"coded message", (25'557'032 + 32 * 6240) / 8.0},
                     {"error feedback", kVector}}));
  // The optimizer's state is the servers', in the memory of hosts.
  check({{"name", "parameter_server"}}, {{"parameters", kVector},
                                         {"gradients", kVector},
                                         {"activations", kActivations},
                                         {"pulled parameters", kVector}});
  check({{"name", "des_loc"}}, replica_and({}));
  check({{"name", "powersgd"}}, replica_and({{"residual", kVector}, {"factors", kThin}}));
  check({{"name", "diloco"}}, replica_and({{"outer model and momentum", 2 * kVector}}));
  check({{"name", "hsdp"}, {"stage", 1}, {"shards", 4}}, {{"parameters", kVector},
                                                          {"gradients", kVector},
                                                          {"optimizer state", kVector / 4},
                                                          {"activations", kActivations}});
  check({{"name", "fsdp"}, {"stage", 1}}, {{"parameters", kVector},
                                           {"gradients", kVector},
                                           {"optimizer state", kVector / 64},
                                           {"activations", kActivations}});
  // The largest layer: a convolution of 512 x 4,608. With it, one of 512 + 512 (bn), gathered ahead.
  check({{"name", "fsdp"}, {"stage", 2}}, {{"parameters", kVector},
                                           {"gradients", kVector / 64},
                                           {"optimizer state", kVector / 64},
                                           {"activations", kActivations},
                                           {"a layer's gradients", 4.0 * 512 * 4608}});
  check({{"name", "fsdp"}, {"stage", 3}}, {{"parameters", kVector / 64},
                                           {"gradients", kVector / 64},
                                           {"optimizer state", kVector / 64},
                                           {"activations", kActivations},
                                           {"a layer's gradients", 4.0 * 512 * 4608},
                                           {"gathered layers", 4.0 * (512 * 4608 + 1024)}});
}

}  // namespace simsgd::test::scenarios_costs
