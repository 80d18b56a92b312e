// Slow and jittery links, and crashes, as scenarios write them.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_links_and_failures {

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

TEST_CASE("nodes and links that are not there") {
  CHECK(errors_with("/network", {{"slow_links", {{{"nodes", {99}}}}}})
            .find("/network/slow_links/0/nodes/0: is not a node of the cluster, which has") !=
        std::string::npos);
  CHECK(errors_with("/network", {{"slow_links", {{{"links", {"no such link"}}}}}})
            .find("/network/slow_links/0/links/0: is not a link of the network") != std::string::npos);
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

TEST_CASE("a crash of a worker that is not there") {
  CHECK(errors_with("/failures", {{"crashes", {{{"worker", 99}, {"time", 1}}}}})
            .find("/failures/crashes/0/worker: is not a rank of this job, which has") != std::string::npos);
}

}  // namespace simsgd::test::scenarios_links_and_failures
