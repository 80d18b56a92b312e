// What a schema cannot say: the full text of every message of the builders.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_messages_jobs {

TEST_CASE("fewer GPUs than workers") {
  CHECK(
      errors_with("/cluster/nodes", 1) ==
      "s.json:/cluster/workers: is more than the 1 GPU of the cluster (1 node x 1). Found: 4. Use at most 1 worker, or 4 nodes.");
}

TEST_CASE("more workers than a run can have") {
  CHECK(
      errors_with("/cluster/workers", 1048577) ==
      "s.json:/cluster/workers: is more than the 1048576 workers that a run can have. Found: 1048577. Every worker has a stack of its own; simsgd bench costs schedules for more.");
}

TEST_CASE("a cluster that is too large") {
  CHECK(errors_with("/cluster/nodes", 5000000) ==
        "s.json:/cluster/nodes: makes a cluster of 5000000 GPUs. Found: 5000000. Use at most 4194304.");
}

TEST_CASE("several GPUs per node need a link between them") {
  CHECK(
      errors_with("/cluster/gpus_per_node", 2) ==
      "s.json:/cluster: has several GPUs per node and no \"gpu_link\". Add \"gpu_link\": NVLink or PCIe inside a node, such as {\"bandwidth\": \"12 GB/s\"}.");
}

TEST_CASE("one speed per node") {
  CHECK(
      errors_with("/cluster/node_speed", {1, 2}) ==
      "s.json:/cluster/node_speed: has 2 entries for 4 nodes. Found: [1,2]. Give one speed per node, or [].");
}

TEST_CASE("a placement names one GPU of the cluster per worker") {
  CHECK(errors_with("/cluster/placement", {2, 0}) ==
        "s.json:/cluster/placement: names 2 GPUs for 4 workers. Found: [2,0]. Name one GPU per worker.");
  CHECK(
      errors_with("/cluster/placement", {0, 1, 2, 4}) ==
      "s.json:/cluster/placement/3: is no GPU of the cluster, which has 4. Found: 4. Write numbers from 0 to 3, each once.");
}

TEST_CASE("what a topology rejects") {
  CHECK(
      errors_with(
          "/cluster/topology",
          {{"name", "dragonfly"}, {"rows", 1}, {"columns", 1}, {"nodes_per_router", 1}, {"groups", 2}}) ==
      "s.json:/cluster/topology/groups: hold 1 nodes each, too few for 4 nodes. Found: 2. Give at least 4.");
}

TEST_CASE("micro-batches divide the batch") {
  CHECK(errors_with("/workload/micro_batches", 3) ==
        "s.json:/workload/micro_batches: does not divide the batch of 8. Found: 3. Use a divisor of it.");
}

TEST_CASE("a measured time is given once") {
  const Json entry = {{"device", "D"}, {"batch", 8}, {"source", "a test"}};
  Json twice = entry;
  twice["samples_per_s"] = 10;
  twice["forward_backward"] = "1 s";
  CHECK(
      errors_with("/workload/one_device", {twice, entry}) ==
      "s.json:/workload/one_device/0: says the time twice. Give either \"forward_backward\" or \"samples_per_s\", or a \"step_cost\".\n"
      "s.json:/workload/one_device/1: does not say how long the step takes. Found: {\"batch\":8,\"device\":\"D\",\"source\":\"a test\"}. Give either \"forward_backward\" or \"samples_per_s\", or a \"step_cost\".");
}

TEST_CASE("a workload without any time for the device") {
  CHECK(
      errors_with("/cluster/device/peak_flops", 0) ==
      "s.json:/workload: has no one-device time for the device \"D\". Add a measured time to \"one_device\", or give the layers' forward_flop and the device's peak_flops.");
}

TEST_CASE("a network is given by its layers, or by the time of a step") {
  const auto with = [](const Json& workload) { return errors_with("/workload", workload); };
  CHECK(with({{"step_time", "0.13 s"}, {"parameters", 25.6e6}, {"batch", 64}}) == "");
  CHECK(
      with({{"batch", 64}}) ==
      "s.json:/workload: lacks the key \"layers\". Add \"layers\": its layers in forward order; or \"step_time\" and \"parameters\": what a step takes on one device, and how many parameters it has.");
  CHECK(
      with({{"step_time", "0.13 s"}, {"batch", 64}}) ==
      "s.json:/workload: lacks the key \"parameters\". Add \"parameters\" to \"step_time\": how many there are, such as 25.6e6, is what has to be sent.");
  CHECK(
      errors_with("/workload/step_time", "0.13 s") ==
      "s.json:/workload/step_time: is given beside \"layers\". Found: \"0.13 s\". Keep one of the two.\n"
      "s.json:/workload: lacks the key \"parameters\". Add \"parameters\" to \"step_time\": how many there are, such as 25.6e6, is what has to be sent.");
  CHECK(
      errors_with("/workload/parameters", 100) ==
      "s.json:/workload/parameters: is about a network without \"layers\". Found: 100. Remove it, or give \"step_time\" in place of the layers.");
  const Json measured = {{"device", "D"}, {"batch", 8}, {"samples_per_s", 10}, {"source", "a test"}};
  CHECK(
      with({{"step_time", "0.13 s"}, {"parameters", 1e6}, {"batch", 64}, {"one_device", {measured}}}) ==
      "s.json:/workload/one_device: is given beside \"step_time\". Found: [{\"batch\":8,\"device\":\"D\",\"samples_per_s\":10,\"source\":\"a test\"}]. Keep one of the two.");
}

TEST_CASE("layers cannot take longer than the step that they are part of") {
  Json scenario = small_scenario();
  scenario["workload"]["layers"].push_back(
      {{"type", "other"}, {"tensors", Json::array()}, {"forward", "2 s"}, {"backward", 0}});
  scenario["workload"]["one_device"] = {
      {{"device", "D"}, {"batch", 8}, {"forward_backward", "1 s"}, {"source", "a test"}}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/workload/layers: have times of their own that add up to more than the measured step. Mend them, or the one-device time of 1 s for 8 samples.");
}

TEST_CASE("a factor on compute time") {
  CHECK(
      errors_with("/workload/compute_factor", 0) ==
      "s.json:/workload/compute_factor: has no finite mean above 0. Found: 0. Give a distribution that has one.");
  CHECK(
      errors_with("/workload/compute_time", {{"name", "pareto"}, {"minimum", "1 s"}, {"shape", 0.5}}) ==
      "s.json:/workload/compute_time: has no finite mean above 0. Found: {\"minimum\":\"1 s\",\"name\":\"pareto\",\"shape\":0.5}. Give a distribution that has one.");
  CHECK(
      errors_with("/workload/compute_factor", {{"name", "gamma"}, {"mean", 1}}) ==
      "s.json:/workload/compute_factor/cv: is missing. Give either \"mean\" and \"cv\" or \"shape\" and \"scale\".");
  Json scenario = small_scenario();
  scenario["workload"]["compute_factor"] = 1;
  scenario["workload"]["compute_time"] = "1 s";
  CHECK(errors_of(scenario) ==
        "s.json:/workload/compute_factor: is given beside \"compute_time\". Found: 1. Keep one of the two.");
}

TEST_CASE("a model that does not fit the memory of the GPU") {
  // 1,010 parameters x 4 B x 2 (gradient) and 8 samples x 10^8 activations x 4 B = 3.2 GB.
  CHECK(
      errors_with("/workload/layers/0/activations", 1e8) ==
      "s.json:/workload/batch: needs 3.2 GB on each GPU, and D has 1 GB. Found: 8. Use a smaller batch or more micro_batches; it takes: parameters 4.04 kB, gradients 4.04 kB, activations 3.2 GB.");
}

TEST_CASE("the learner as workload, and targets, need a learner") {
  Json scenario = small_scenario();
  scenario["workload"] = "self";
  scenario["target"] = {{"metric", "train_loss"}, {"value", 1}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/workload: is the learner's, and there is no learner. Found: \"self\". Add \"learner\", or use a workload file.\n"
      "s.json:/target: asks for a level of learning, and there is no learner. Found: {\"metric\":\"train_loss\",\"stop\":false,\"value\":1,\"window\":1}. Add \"learner\", or remove it.");
}

TEST_CASE("a target on test data needs test data") {
  Json scenario = small_scenario();
  scenario["learner"] = {{"model", {{"name", "quadratic"}}}, {"data", {{"name", "quadratic"}}}, {"batch", 1}};
  scenario["target"] = {{"metric", "test_loss"}, {"value", 1}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/target/metric: needs test data, and the data set has none. Found: \"test_loss\". Use train_loss.");
}

TEST_CASE("to stop at a level of the test set, one has to look at it on the way") {
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  scenario["target"] = {{"metric", "test_accuracy"}, {"value", 0.5}, {"stop", true}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/target/stop: asks to stop at a level that is only measured at the end. Found: true. Set /record/evaluate_every to the steps between evaluations, or a time such as \"10 s\".");
  scenario["record"]["evaluate_every"] = 5;
  CHECK(errors_of(scenario) == "");
}

TEST_CASE("evaluations by the clock need a time above 0, with its unit") {
  Json scenario = small_scenario();
  scenario["record"]["evaluate_every"] = "0 s";
  CHECK(
      errors_of(scenario) ==
      "s.json:/record/evaluate_every: is no time above 0. Found: \"0 s\". Use a number of steps, or a time such as \"10 s\".");
  scenario["record"]["evaluate_every"] = "10 s";
  CHECK(job_of(scenario).record.evaluate_every_s == 10);
}

TEST_CASE("samples that take longer than anybody waits") {
  Json scenario = small_scenario();
  scenario["stop"] = {{"samples", 1e12}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/stop/samples: is 1.25e+11 steps of all workers together. Found: 1000000000000.0. Steps times workers can be at most 1e+10.");
}

TEST_CASE("epochs are passes over a training set") {
  Json scenario = small_scenario();
  scenario["stop"] = {{"epochs", 2}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/stop/epochs: counts passes over a training set, and there is no learner. Found: 2. Use \"steps\", \"samples\" or \"time\".");
  scenario["learner"] = small_learner();
  const Job job = job_of(scenario);
  // Two passes, in batches of the learner, each of which stands for one of the workload.
  CHECK(job.stop.samples == doctest::Approx(2.0 * static_cast<double>(job.learner->train_samples()) /
                                            job.learner->batch() * job.workload.batch));
}

TEST_CASE("a cosine needs an end") {
  Json scenario = small_scenario();
  scenario["optimizer"] = {{"name", "sgd"}, {"schedule", {{"name", "cosine"}}}};
  CHECK(errors_of(scenario) == "");
  scenario["stop"] = {{"time", "1 min"}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/optimizer/schedule: needs \"total_steps\", because /stop/steps does not say how long the run is. Found: {\"floor\":0,\"name\":\"cosine\",\"warmup_from\":0,\"warmup_steps\":0}. Add \"total_steps\".");
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

TEST_CASE("a model and data that do not go together") {
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  scenario["learner"]["model"]["name"] = "quadratic";
  const std::string errors = errors_of(scenario);
  CAPTURE(errors);
  CHECK(errors.starts_with("s.json:/learner/model/name: "));
}

TEST_CASE("label skew needs labels") {
  Json scenario = small_scenario();
  scenario["learner"] = {{"model", {{"name", "quadratic"}}},
                         {"data", {{"name", "quadratic"}}},
                         {"partition", {{"name", "dirichlet"}, {"alpha", 0.5}}},
                         {"batch", 1}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/learner/partition: is by label, and the data set \"quadratic\" has no labels. Found: {\"alpha\":0.5,\"name\":\"dirichlet\"}. Use an iid partition, or a data set with classes.");
}

TEST_CASE("what a straggler rejects") {
  CHECK(
      errors_with("/stragglers",
                  {{{"name", "lognormal"}, {"mean", "1 ms"}, {"median", "1 ms"}, {"sigma", 1}}}) ==
      "s.json:/stragglers/0/median: is given beside \"mean\". Found: \"1 ms\". Give either \"mean\" or \"median\".");
}

}  // namespace simsgd::test::scenarios_messages_jobs
