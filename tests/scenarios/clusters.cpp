// Workers of several GPUs: what they exchange inside by closed forms written here, and what follows for
// samples, memory, money and places.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analysis/runner.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_clusters {

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

// Slow and jittery links, and crashes, as scenarios write them.

namespace {

Job with(const std::string& section, const Json& value) {
  Json scenario = small_scenario();
  scenario[section] = value;
  return job_of(scenario);
}

double beta(const Job& job, int from, int to) {
  const auto& endpoints = job.cluster.endpoint_of_rank;
  return job.cluster.network
      .path_cost(endpoints[static_cast<std::size_t>(from)], endpoints[static_cast<std::size_t>(to)])
      .beta_s_per_byte;
}

}  // namespace

TEST_CASE("a slow node has cables with a share of the bandwidth, both ways") {
  const Job plain = job_of(small_scenario());
  const Job slow = with("network", {{"slow_links", {{{"nodes", {1}}, {"bandwidth_factor", 0.25}}}}});
  REQUIRE(plain.workers() >= 3);
  CHECK(beta(slow, 0, 1) == doctest::Approx(4 * beta(plain, 0, 1)).epsilon(1e-12));
  CHECK(beta(slow, 1, 0) == doctest::Approx(4 * beta(plain, 1, 0)).epsilon(1e-12));
  CHECK(beta(slow, 0, 2) == doctest::Approx(beta(plain, 0, 2)).epsilon(1e-12));
}

TEST_CASE("without nodes and links all links change") {
  const Job plain = job_of(small_scenario());
  const Job slow = with("network", {{"slow_links", {{{"extra_latency", "1 ms"}, {"jitter_factor", 2}}}}});
  for (std::size_t id = 0; id < plain.cluster.network.links.size(); ++id) {
    CHECK(slow.cluster.network.links[id].latency_s ==
          doctest::Approx(plain.cluster.network.links[id].latency_s + 1e-3).epsilon(1e-12));
    CHECK(slow.cluster.network.links[id].jitter_factor == 2);
  }
}

TEST_CASE("TCP gets half of a shaper's rate where its loss is as large, and nearly all where it is small") {
  Json scenario = small_scenario();
  const double whole_Bps = job_of(scenario).cluster.network.between.bandwidth_Bps;
  const auto rate_with = [&](double loss_Bps) {
    scenario["cluster"]["nic"]["shaper_loss"] = loss_Bps;
    return job_of(scenario).cluster.network.between.bandwidth_Bps;
  };
  CHECK(rate_with(whole_Bps) == doctest::Approx(whole_Bps / 2));
  CHECK(rate_with(whole_Bps / 100) == doctest::Approx(whole_Bps / 1.1));
  CHECK(rate_with(0) == doctest::Approx(whole_Bps));
}

TEST_CASE("goodput is a share of the line rate, of the NIC and of what has its rate") {
  Json scenario = small_scenario();
  scenario["cluster"]["topology"] = {{"name", "switch_tree"}, {"ports", 3}};
  const Job line = job_of(scenario);
  scenario["cluster"]["nic"]["goodput"] = 0.8;
  const Job payload = job_of(scenario);
  for (std::size_t id = 0; id < line.cluster.network.links.size(); ++id)
    CHECK(payload.cluster.network.links[id].bandwidth_Bps ==
          doctest::Approx(0.8 * line.cluster.network.links[id].bandwidth_Bps).epsilon(1e-12));
  CHECK(payload.cluster.network.between.bandwidth_Bps == doctest::Approx(0.8e9));
  // A segment is payload already, and fits what is left.
  const auto with_segment = [&](const char* bandwidth) {
    scenario["cluster"]["nic"]["segments"] = {{{"latency", "5 us"}, {"bandwidth", bandwidth}}};
    return errors_of(scenario);
  };
  CHECK(with_segment("0.8 GB/s").empty());
  CHECK(with_segment("0.81 GB/s").find("nic/segments/0/bandwidth: is more than the link has") !=
        std::string::npos);
  CHECK_FALSE(errors_with("/cluster/nic/goodput", 1.1).empty());
  CHECK_FALSE(errors_with("/cluster/nic/goodput", 0).empty());
}

TEST_CASE("GPUs that share a host compute longer, each node by the workers on it") {
  Json scenario = small_scenario();
  Json& cluster = scenario["cluster"];
  cluster["gpus_per_node"] = 4;
  cluster["nodes"] = 2;
  cluster["gpu_link"] = {{"bandwidth", "10 GB/s"}};
  cluster["shared_host"] = 0.1;
  cluster["placement"] = {0, 1, 2, 4};  // three on a node, one by itself
  CHECK(job_of(scenario).cluster.node_speed == std::vector<double>{1 / 1.2, 1});
  cluster["node_speed"] = {0.5, 2};
  CHECK(job_of(scenario).cluster.node_speed == std::vector<double>{0.5 / 1.2, 2});
  cluster["shared_host"] = 0;
  CHECK(job_of(scenario).cluster.node_speed == std::vector<double>{0.5, 2});
  cluster.erase("node_speed");
  CHECK(job_of(scenario).cluster.node_speed.empty());
  CHECK(job_of(scenario).workload.one_device_step_s == job_of(small_scenario()).workload.one_device_step_s);
}

TEST_CASE("crashes: when, how long, and how often a checkpoint is written") {
  const Job job = with("failures", {{"mean_time_between", "2 h"},
                                    {"restart", "5 min"},
                                    {"checkpoint_every", 100},
                                    {"checkpoint", "3 s"},
                                    {"crashes", {{{"worker", 1}, {"time", "10 s"}}}}});
  CHECK(job.failures.any());
  CHECK(job.failures.mean_time_between_s == 7200);
  CHECK(job.failures.restart_s == 300);
  CHECK(job.failures.checkpoint_every == 100);
  CHECK(job.failures.checkpoint_s == 3);
  REQUIRE(job.failures.crashes.size() == 1);
  CHECK(job.failures.crashes[0].rank == 1);
  CHECK(job.failures.crashes[0].time_s == 10);
  CHECK(!job_of(small_scenario()).failures.any());
}

}  // namespace simsgd::test::scenarios_clusters
