// What training ResNet-50 needs of a GPU, part by part, by formulas over its layers.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_memory {

using doctest::Approx;

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
        replica_and({{"coded gradient", (25'557'032 + 32 * 6240) / 8.0}, {"error", kVector}}));
  // 128 of each 4,096 at 12 + 2 bits, 64 bits for their two values; 2,088 are left beside 6,239 whole chunks.
  check({{"name", "sparseloco"}}, replica_and({{"outer model and error", 2 * kVector},
                                               {"coded difference", 6240 * (128 * 14 + 64) / 8.0}}));
  // 4 of each 64 at 6 + 32 bits; 40 are left beside 399,328 whole chunks.
  check({{"name", "demo"}},
        replica_and({{"momentum", kVector}, {"coded parts of it", 399'329 * 4 * 38 / 8.0}}));
  check({{"name", "noloco"}}, replica_and({{"slow model and its last step", 2 * kVector},
                                           {"a partner's progress and slow model", 2 * kVector}}));
  check({{"name", "async_local_sgd"}}, replica_and({{"start and, on rank 0, the server", 4 * kVector}}));
  check({{"name", "halos"}}, replica_and({{"start and, on rank 0, two servers", 8 * kVector}}));
  check({{"name", "decoupled_diloco"}},
        replica_and({{"received model and, on rank 0, the syncer", 4 * kVector}}));
  for (const char* name : {"bytescheduler", "dear", "mg_wfbp"}) check({{"name", name}}, replica_and({}));
  check({{"name", "onebit_adam"}}, replica_and({{"moments and errors", (3 + 1.0 / 64) * kVector},
                                                {"coded first moment", 2 * (25'557'032 + 32 * 6240) / 8.0}}));
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

}  // namespace simsgd::test::scenarios_memory
