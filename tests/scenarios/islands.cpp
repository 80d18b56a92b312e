// Workers of several GPUs: what they exchange inside by closed forms written here, and what follows for
// samples, memory, money and places.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analysis/runner.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_islands {

using doctest::Approx;

namespace {

constexpr double kParameters = 1e6, kBytes = 4e6, kStep_s = 10e-3, kGpuLink_Bps = 10e9, kGpuLink_s = 5e-6,
                 kNic_Bps = 1e9, kNic_s = 10e-6;

Approx exactly(double value) { return Approx(value).epsilon(1e-12); }

/// Four workers on nodes of four GPUs; rings everywhere.
Json with_island(const Json& island) {
  Json scenario = small_scenario();
  Json& cluster = scenario["cluster"];
  cluster["gpus_per_node"] = 4;
  cluster["gpu_link"] = {{"bandwidth", kGpuLink_Bps}, {"latency", kGpuLink_s}};
  cluster["collectives"] = {{"all_reduce", "ring"}, {"all_gather", "ring"}, {"reduce_scatter", "ring"}};
  if (!island.is_null()) cluster["island"] = island;
  scenario["workload"] = {
      {"step_time", kStep_s}, {"parameters", kParameters}, {"equal_layers", 4}, {"batch", 8}};
  return scenario;
}

/// A message of a ring's step among g, inside a node.
double hop_s(double gpus, double bytes) { return kGpuLink_s + bytes / gpus / kGpuLink_Bps; }

double memory(const Job& job) { return total_bytes(job.memory); }

double metric(const Json& scenario, const char* name) {
  return run_scenario(load(scenario), {}).document["metrics"][name].get<double>();
}

}  // namespace

TEST_CASE("an island of one GPU is a worker as there is without islands") {
  const Json none = with_island(nullptr), one = with_island({{"gpus", 1}});
  CHECK(job_of(none).cluster.endpoint_of_rank == job_of(one).cluster.endpoint_of_rank);
  for (const char* name : {"iteration_time_mean_s", "throughput_samples_per_s", "memory_bytes_per_gpu",
                           "scaling_efficiency", "bytes_sent_per_worker_per_step"})
    CHECK(metric(none, name) == metric(one, name));
}

TEST_CASE(
    "data parallel inside: a ring's all_reduce of the gradients, after the backward pass or beside it") {
  const double reduce_s = 6 * hop_s(4, kBytes);
  const Job job = job_of(with_island({{"gpus", 4}}));
  CHECK(job.workload.step_compute_s() == exactly(kStep_s + reduce_s));
  CHECK(job.workload.batch == 32);
  CHECK(job.cluster.nodes == 4);
  CHECK(job.cluster.endpoint_of_rank == std::vector<int>{0, 4, 8, 12});
  CHECK(job.workload.one_device_step_s == exactly(kStep_s));
  CHECK(memory(job) == exactly(memory(job_of(with_island(nullptr)))));

  const Json beside = {{"gpus", 4}, {"overlap", true}};
  CHECK(job_of(with_island(beside)).workload.step_compute_s() == exactly(kStep_s));
  Json pieces = with_island({{"gpus", 4}, {"pieces", 10}});
  CHECK(job_of(pieces).workload.step_compute_s() == exactly(kStep_s + 10 * 6 * hop_s(4, kBytes / 10)));
  // The gradients of two micro-batches are averaged once.
  pieces["workload"]["micro_batches"] = 2;
  CHECK(job_of(pieces).workload.step_compute_s() == exactly(kStep_s + 10 * 6 * hop_s(4, kBytes / 10)));
}

TEST_CASE("an island of two nodes goes over their NICs, and is as fast as the slower one") {
  Json scenario = with_island({{"gpus", 8}});
  scenario["cluster"]["node_speed"] = {1, 0.5, 1, 1, 1, 1, 0.25, 1};
  const Job job = job_of(scenario);
  CHECK(job.workload.step_compute_s() == exactly(kStep_s + 14 * (kNic_s + kBytes / 8 / kNic_Bps)));
  CHECK(job.cluster.nodes == 8);
  CHECK(job.cluster.endpoint_of_rank == std::vector<int>{0, 8, 16, 24});
  CHECK(job.cluster.speed_of_rank(0) == 0.5);
  CHECK(job.cluster.speed_of_rank(1) == 1);
  CHECK(job.cluster.speed_of_rank(3) == 0.25);
}

TEST_CASE("sharded inside: parameters are gathered twice for each micro-batch, gradients scattered once") {
  Json scenario = with_island({{"gpus", 4}, {"inside", "sharded"}});
  const double pass_s = 3 * hop_s(4, kBytes);
  Job job = job_of(scenario);
  CHECK(job.workload.step_compute_s() == exactly(kStep_s + 3 * pass_s));
  CHECK(job.workload.forward_s() == exactly(kStep_s / 3 + pass_s));
  CHECK(job.workload.batch == 32);
  CHECK(memory(job) == exactly(memory(job_of(with_island(nullptr))) / 4));
  scenario["workload"]["micro_batches"] = 2;
  CHECK(job_of(scenario).workload.step_compute_s() == exactly(kStep_s + 2 * 3 * pass_s));
}

TEST_CASE("tensor parallel inside: a quarter of the computing, and each second product's output is summed") {
  Json scenario = with_island({{"gpus", 4}, {"inside", "tensor_parallel"}});
  const auto layer = [](int rows, int columns, int activations) {
    return Json{{"type", "fc"},
                {"tensors", {{rows, columns}}},
                {"forward", "2 ms"},
                {"backward", "4 ms"},
                {"activations", activations}};
  };
  scenario["workload"] = {{"batch", 8},
                          {"layers", {layer(4096, 1024, 4096), layer(1024, 4096, 1024), layer(8, 8, 8)}}};
  const Job job = job_of(scenario);
  const double sum_s = 6 * hop_s(4, 1024 * 8 * 4);
  CHECK(job.workload.step_compute_s() == exactly(3 * 6e-3 / 4 + 2 * sum_s));
  CHECK(job.workload.batch == 8);
  scenario["cluster"].erase("island");
  CHECK(memory(job) == exactly(memory(job_of(scenario)) / 4));
  CHECK(job.workload.one_device_step_s == exactly(job_of(scenario).workload.one_device_step_s / 4));
}

TEST_CASE("a given exchange is added to a step, and all its GPUs cost and count") {
  Json scenario = with_island({{"gpus", 4}, {"inside", "given"}, {"time", "2 ms"}});
  CHECK(job_of(scenario).workload.step_compute_s() == exactly(kStep_s + 2e-3));
  scenario["cluster"]["device"]["price_usd_per_h"] = 3600;  // a dollar a second
  scenario["cluster"]["workers"] = 1;
  CHECK(metric(scenario, "throughput_samples_per_s") == exactly(32 / 12e-3));
  CHECK(metric(scenario, "scaling_efficiency") == exactly(10.0 / 12));
  CHECK(metric(scenario, "cost_usd") == exactly(4 * 10 * 12e-3));
}

TEST_CASE("a step's law is that of the island, so that parts of a batch are too") {
  Json scenario = with_island({{"gpus", 4}, {"inside", "given"}, {"time", 0}});
  scenario["workload"] = {
      {"step_cost", {{"fixed", "4 ms"}, {"per_sample", "1 ms"}}}, {"parameters", kParameters}, {"batch", 8}};
  const Job job = job_of(scenario);
  CHECK(job.workload.step_law->seconds(32) == exactly(12e-3));
  CHECK(job.workload.parts_per_step(8) == exactly(12.0 / 5));
}

}  // namespace simsgd::test::scenarios_islands
