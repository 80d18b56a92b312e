// From sections to the structs of a job.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_jobs {

using doctest::Approx;

namespace {

Json cluster_of(int nodes, int gpus_per_node, int workers) {
  Json scenario = small_scenario();
  scenario["cluster"]["nodes"] = nodes;
  scenario["cluster"]["gpus_per_node"] = gpus_per_node;
  scenario["cluster"]["workers"] = workers;
  scenario["cluster"]["gpu_link"] = {{"bandwidth", "10 GB/s"}, {"latency", "1 us"}};
  return scenario;
}

std::vector<int> placed(Json scenario, const Json& placement) {
  scenario["cluster"]["placement"] = placement;
  return job_of(scenario).cluster.endpoint_of_rank;
}

LogicalGraph graph_of(const Json& algorithm) {
  Json scenario = small_scenario();
  scenario["algorithm"] = algorithm;
  const Folder folder;
  folder.write("star.dot", "graph { 2 -- 0; 2 -- 1; 2 -- 3 }");
  folder.write_json("s.json", scenario);
  return make_job(load_scenario(folder.path("s.json"), {})).graph;
}

}  // namespace

TEST_CASE("workers are placed node by node, in turn, or as listed") {
  const Json scenario = cluster_of(3, 2, 4);
  CHECK(placed(scenario, "block") == std::vector<int>{0, 1, 2, 3});
  CHECK(placed(scenario, "round_robin") == std::vector<int>{0, 2, 4, 1});
  CHECK(placed(scenario, {5, 0, 3, 1, 2, 4}) == std::vector<int>{5, 0, 3, 1});
}

TEST_CASE("a random placement is distinct, depends on the seed, and not on the number of workers") {
  Json scenario = cluster_of(16, 4, 64);
  const std::vector<int> all = placed(scenario, {{"name", "random"}});
  CHECK(std::set<int>(all.begin(), all.end()).size() == 64);
  CHECK(all != placed(cluster_of(16, 4, 64), "block"));
  scenario["cluster"]["workers"] = 8;
  CHECK(placed(scenario, {{"name", "random"}}) == std::vector<int>(all.begin(), all.begin() + 8));
  scenario["seed"] = 2;
  CHECK(placed(scenario, {{"name", "random"}}) != std::vector<int>(all.begin(), all.begin() + 8));
}

TEST_CASE("the network costs what the cluster file says") {
  const Cluster cluster = job_of(cluster_of(2, 2, 4)).cluster;
  // Inside a node 1 us + m / 10 GB/s, between nodes 10 us + m / 1 GB/s.
  CHECK(cluster.network.path_cost(0, 1).alpha_s == Approx(1e-6).epsilon(1e-12));
  CHECK(cluster.network.path_cost(0, 1).beta_s_per_byte == Approx(1e-10).epsilon(1e-12));
  CHECK(cluster.network.path_cost(0, 2).alpha_s == Approx(10e-6).epsilon(1e-12));
  CHECK(cluster.network.path_cost(0, 2).beta_s_per_byte == Approx(1e-9).epsilon(1e-12));
}

TEST_CASE("devices, hosts and node speeds are read with their units") {
  Json scenario = small_scenario();
  scenario["cluster"]["device"] = {{"name", "D"},
                                   {"peak_flops", "10 TFLOPS"},
                                   {"efficiency", 0.25},
                                   {"memory", "16 GB"},
                                   {"memory_bandwidth", "1 TB/s"},
                                   {"launch", "5 us"},
                                   {"price_usd_per_h", 2.5},
                                   {"busy_power", "300 W"},
                                   {"idle_power", "30 W"}};
  scenario["cluster"]["host"] = {
      {"launch", "10 us"}, {"pack", 1e-10}, {"staging_bandwidth", "5 GB/s"}, {"reduce", 2e-10}};
  scenario["cluster"]["node_speed"] = {1, 1, 0.5, 1};
  const Cluster cluster = job_of(scenario).cluster;
  CHECK(cluster.device.peak_flops == 10e12);
  CHECK(cluster.device.efficiency == 0.25);
  CHECK(cluster.device.memory_bytes == 16e9);
  CHECK(cluster.device.memory_Bps == 1e12);
  CHECK(cluster.device.launch_s == Approx(5e-6).epsilon(1e-12));
  CHECK(cluster.device.price_usd_per_h == 2.5);
  CHECK(cluster.device.busy_W == 300);
  CHECK(cluster.device.idle_W == 30);
  CHECK(cluster.host.launch_s == Approx(10e-6).epsilon(1e-12));
  CHECK(cluster.host.pack_s_per_byte == 1e-10);
  CHECK(cluster.host.staging_Bps == 5e9);
  CHECK(cluster.host.reduce_s_per_byte == 2e-10);
  CHECK(cluster.speed_of_rank(2) == 0.5);
}

TEST_CASE("memory: parameters, gradients, velocity, and the activations of a micro-batch") {
  Json scenario = small_scenario();
  scenario["workload"]["layers"][0]["activations"] = 500;
  scenario["workload"]["micro_batches"] = 2;
  // 1,010 parameters x 4 B x 2 + 500 activations x 4 B x 4 samples = 8,080 + 8,000 B.
  CHECK(total_bytes(job_of(scenario).memory) == 16080);
  scenario["optimizer"] = {{"name", "sgd"}, {"momentum", 0.9}};
  CHECK(total_bytes(job_of(scenario).memory) == 16080 + 4040);
  scenario["optimizer"] = {{"name", "adamw"}};  // two vectors
  CHECK(total_bytes(job_of(scenario).memory) == 16080 + 8080);
}

TEST_CASE("an optimizer's options, and those that all have, become what a run calls") {
  // From w = 1 the gradient 4, clipped to 2, at step 1 of rate 0.25.
  const auto stepped = [](const Json& optimizer) {
    Json scenario = small_scenario();
    scenario["optimizer"] = optimizer;
    const OptimizerSpec spec = job_of(scenario).optimizer;
    Executor executor(1);
    const ReplicaState start{executor.constant({{1}, {}, {}}), {}};
    const Tensor gradient = executor.constant({{4}, {}, {}});
    ReplicaState state = spec.step(executor, 1, start, gradient);
    state = spec.step(executor, 2, state, gradient);
    return static_cast<double>(executor.get(state.parameters).values[0]);
  };
  const auto clipped = [](Json optimizer) {
    optimizer.update({{"learning_rate", 0.25}, {"clip_norm", 2}});
    return optimizer;
  };
  CHECK(stepped(clipped({{"name", "sgd"}})) == 0);                         // 1 - 2 * 0.25 * 2
  CHECK(stepped(clipped({{"name", "sgd"}, {"momentum", 0.5}})) == -0.25);  // 0.5 - 0.25 * 3
  CHECK(stepped(clipped({{"name", "sgd"}, {"momentum", 0.5}, {"nesterov", true}})) ==
        -0.625);  // 0.25 (3; 3.5)
  // adamw, whatever the gradient's length: 1 - 0.25 = 0.75, then 0.5; with decay 0.5
  // 0.875 - 0.25 = 0.625, then 0.875 * 0.625 - 0.25.
  CHECK(stepped(clipped({{"name", "adamw"}, {"weight_decay", 0}})) == Approx(0.5).epsilon(1e-6));
  CHECK(stepped(clipped({{"name", "adamw"}, {"weight_decay", 0.5}})) == Approx(0.296875).epsilon(1e-6));
  // epsilon as long as the gradient halves each step; betas of 0 take the gradient itself, the same here.
  CHECK(stepped(
            clipped({{"name", "adamw"}, {"weight_decay", 0}, {"epsilon", 2}, {"beta1", 0}, {"beta2", 0}})) ==
        Approx(0.75).epsilon(1e-6));
}

TEST_CASE("precision sets the bytes of a parameter in messages") {
  Json scenario = small_scenario();
  CHECK(job_of(scenario).workload.model_bytes() == 4040);
  for (const char* precision : {"fp16", "bf16"}) {
    CAPTURE(precision);
    scenario["network"]["precision"] = precision;
    CHECK(job_of(scenario).workload.model_bytes() == 2020);
  }
}

TEST_CASE("the learner can be the workload") {
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  scenario["learner"]["model"] = {{"name", "mlp"}, {"hidden", {32}}};
  scenario["workload"] = "self";
  const Job job = job_of(scenario);
  CHECK(job.workload.name == "self");
  CHECK(job.workload.batch == 16);
  REQUIRE(job.workload.layers.size() == 2);
  CHECK(job.workload.parameters() == static_cast<double>(job.learner->parameters()));
  const Layer& first = job.workload.layers[0];
  CHECK(first.kind == Layer::Kind::fc);
  REQUIRE(first.tensors.size() == 2);  // weight and bias
  CHECK(first.tensors[0].rows == 32);
  CHECK(first.tensors[0].columns * 32 + 32 == first.parameters());
  CHECK(!first.tensors[1].is_matrix());
  CHECK(first.tensors[1].rows == 32);
  CHECK(first.forward_s > 0);
  CHECK(job.workload.one_device_source == "modelled from FLOPs and memory traffic on D");
}

TEST_CASE("compute_time is a factor of mean 1 with the same shape") {
  Json scenario = small_scenario();
  scenario["workload"]["compute_time"] = {
      {"name", "uniform"}, {"minimum", "1 s"}, {"maximum", "3 s"}, {"source", "a test"}};
  const Distribution factor = job_of(scenario).workload.compute_factor;
  CHECK(factor.mean() == Approx(1).epsilon(1e-12));
  CHECK(factor.quantile(0.25) == Approx(0.75).epsilon(1e-12));  // 1.5 s over 2 s
}

TEST_CASE("learner, optimizer, stragglers, network, stop, target and record") {
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  scenario["optimizer"] = {
      {"name", "sgd"},
      {"learning_rate", 0.5},
      {"momentum", 0.9},
      {"nesterov", true},
      {"weight_decay", 1e-4},
      {"schedule", {{"name", "step"}, {"milestones", {5, 8}}, {"gamma", 0.2}, {"warmup_steps", 2}}}};
  scenario["stragglers"] = {{{"name", "constant"}, {"delay", "10 ms"}, {"workers", {1}}}};
  scenario["network"] = {{"fidelity", "messages"}, {"jitter", "2 us"}, {"all_reduce", "recursive_doubling"}};
  scenario["stop"]["time"] = "1 h";
  scenario["target"] = {{"metric", "train_loss"}, {"value", 0.1}, {"stop", true}};
  scenario["record"] = {{"evaluate_every", 5}, {"timeline_events", 0}};
  const Job job = job_of(scenario);
  CHECK(job.learner->batch() == 16);
  CHECK(job.learner->workers() == 4);
  CHECK(job.optimizer.rule->state_names() == std::vector<std::string>{"momentum"});
  CHECK(job.optimizer.clip_norm == 0);
  CHECK(job.optimizer.learning_rate.at(5) == Approx(0.1).epsilon(1e-12));
  CHECK(job.stragglers.at(1, 1, 4, 1, 1.0).delay_s == Approx(0.01).epsilon(1e-12));
  CHECK(job.network.fidelity == Fidelity::messages);
  CHECK(job.network.collectives.at(CollectiveOp::all_reduce).ways.front().schedule == "recursive_doubling");
  CHECK(job.network.jitter.mean() == Approx(2e-6).epsilon(1e-12));
  CHECK(job.stop.steps == 10);
  CHECK(job.stop.time_s == 3600);
  CHECK(job.target.metric == Target::Metric::train_loss);
  CHECK(job.target.stop);
  CHECK(job.record.evaluate_every == 5);
  CHECK(job.record.timeline_events == 0);
  CHECK(job.algorithm != nullptr);
}

TEST_CASE("a cluster by itself has no limit on workers") {
  const Folder folder;
  Json cluster = small_scenario()["cluster"];
  cluster.erase("workers");
  const std::string file = folder.write_json("c.json", cluster);
  CHECK(load_cluster(file, 65536).cluster.workers() == 65536);
  CHECK(load_cluster(file, 2, {{{"/cluster/nodes", "7"}}, {}}).cluster.nodes == 7);
  CHECK_THROWS_WITH(
      load_cluster(file, 8, {{{"/cluster/nodes", "7"}}, {}}),
      "--workers: is more than the 7 GPUs of the cluster (7 nodes x 1). Found: 8. Use at most 7 workers, or 8 nodes.");
  CHECK_THROWS_WITH(load_cluster(file, 0),
                    "--workers: is out of range. Found: 0. Write a whole number of at least 1.");
}

TEST_CASE("an algorithm gets the graph that it names, a ring if it names none, and none if it needs none") {
  using Edge = LogicalGraph::Edge;
  CHECK(graph_of({{"name", "d_psgd"}}).edges == std::vector<Edge>{{0, 1}, {0, 3}, {1, 2}, {2, 3}});
  CHECK(graph_of({{"name", "matcha"}, {"graph", {{"name", "complete"}}}}).edges.size() == 6);
  CHECK(graph_of({{"name", "ad_psgd"}, {"graph", {{"name", "file"}, {"path", "star.dot"}}}}).edges ==
        std::vector<Edge>{{0, 2}, {1, 2}, {2, 3}});
  CHECK(graph_of({{"name", "allreduce_sgd"}}).edges.empty());
}

TEST_CASE("data that are missing or cut off") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  scenario["learner"]["data"] = {{"name", "idx"}, {"train_images", "images"}, {"train_labels", "labels"}};
  folder.write_json("s.json", scenario);
  CHECK(
      folder.errors("s.json") ==
      "s.json:/learner/data/train_labels: the file labels does not exist. Found: \"labels\". Name an IDX file of unsigned bytes, plain or compressed with gzip.");
  // Two images of 2 x 2, of which the last byte is missing.
  folder.write("images", std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02", 16) + "1234567");
  folder.write("labels", std::string("\0\0\x08\x01\0\0\0\x02\0\x01", 10));
  const std::string errors = folder.errors("s.json");
  CAPTURE(errors);
  CHECK(errors.starts_with("s.json:/learner/data/train_images: the file images "));
  CHECK(errors.find("Found: \"images\". Name an IDX file of unsigned bytes") != std::string::npos);
  folder.write("images", std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02", 16) + "12345678");
  CHECK(folder.errors("s.json") == "");
}

TEST_CASE("evaluations may be by the clock, and epochs are passes over the learner's training set") {
  Json scenario = small_scenario();
  scenario["record"]["evaluate_every"] = "10 s";
  scenario["stop"] = {{"epochs", 2}};
  scenario["learner"] = small_learner();
  const Job job = job_of(scenario);
  CHECK(job.record.evaluate_every_s == 10);
  // Two passes, in batches of the learner, each of which stands for one of the workload.
  CHECK(job.stop.samples == doctest::Approx(2.0 * static_cast<double>(job.learner->train_samples()) /
                                            job.learner->batch() * job.workload.batch));
}

}  // namespace simsgd::test::scenarios_jobs
