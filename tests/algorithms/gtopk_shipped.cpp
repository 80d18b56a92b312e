// gTop-k on the clusters that we ship: what it costs beside its messages is there, and adds up as by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/language/scenario.hpp"
#include "sim/recording/metrics.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_gtopk_shipped {

namespace {

struct Step {
  double seconds = 0, selection_s = 0, efficiency = 0;
};

// ResNet-50, batch 64, on 16 nodes with 4 V100 each.
Step step_on(const std::string& cluster) {
  const Overrides overrides = {{{"/cluster/use", "clusters/" + cluster + ".json"},
                                {"/cluster/workers", "64"},
                                {"/workload/batch", "64"},
                                {"/workload/micro_batches", "1"}},
                               {}};
  const Job job = make_job(
      load_scenario(std::string(SIMSGD_SOURCE_DIR) + "/scenarios/papers/gtopk_gtopk.json", overrides));
  Step step;
  for (const MetricValue& metric : metric_values(simulate_job(job), job)) {
    if (metric.name == "iteration_time_mean_s") step.seconds = metric.value;
    if (metric.name == "selection_s") step.selection_s = metric.value;
    if (metric.name == "scaling_efficiency") step.efficiency = metric.value;
  }
  return step;
}

}  // namespace

TEST_CASE(
    "on 64 V100 choosing and merging cost gTop-k a quarter of its throughput, on InfiniBand and 10 GbE") {
  constexpr double kD = 25557032, kK = 25557;
  // Measured: 253.1 samples/s. Accumulating: 20 bytes per parameter at 90 % of 900 GB/s.
  const double compute_s = 64 / 253.1 + 20 * kD / 810e9;
  const double selection_s = 0.108e-9 * kD * std::log2(kD);
  // Six messages to rank 0 and six back, of 8 bytes for each entry: two of each in a node at 12 GB/s and 5
  // us, four between nodes; after each on the way to it a merge of 70 ns for each entry; NCCL's 8.4 us once.
  const auto exchange_s = [](double alpha_s, double bandwidth_Bps) {
    const double inside_s = 5e-6 + 8 * kK / 12e9, between_s = alpha_s + 8 * kK / bandwidth_Bps;
    return 2 * (2 * inside_s + 4 * between_s) + 6 * kK * 70e-9 + 8.4e-6;
  };
  const Step infiniband = step_on("infiniband-100g"), ethernet = step_on("ethernet-10g");
  CHECK(infiniband.selection_s == doctest::Approx(selection_s).epsilon(1e-9));
  CHECK(infiniband.seconds ==
        doctest::Approx(compute_s + selection_s + exchange_s(1.5e-6, 12e9)).epsilon(1e-6));
  CHECK(ethernet.seconds ==
        doctest::Approx(compute_s + selection_s + exchange_s(25e-6, 1.177e9)).epsilon(1e-6));
  CHECK(infiniband.efficiency == doctest::Approx(0.761).epsilon(1e-3));
  CHECK(ethernet.efficiency == doctest::Approx(0.757).epsilon(1e-3));
}

}  // namespace simsgd::test::algorithms_gtopk_shipped
