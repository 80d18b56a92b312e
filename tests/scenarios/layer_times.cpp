// Seconds of layers, against numbers worked out by hand.
#include "scenarios/language/layer_times.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_layer_times {

using doctest::Approx;

namespace {

/// 10 TFLOPS of which a half is reached, 1 TB/s, 5 us per kernel.
Device device() {
  Device all;
  all.name = "D";
  all.peak_flops = 10e12;
  all.efficiency = 0.5;
  all.memory_Bps = 1e12;
  all.launch_s = 5e-6;
  return all;
}

Layer layer(double flop, double activations, double parameters) {
  Layer all;
  all.forward_flop = flop;
  all.activations = activations;
  all.tensors = {parameters};
  return all;
}

LayerTable table(std::vector<Layer> layers) {
  LayerTable all;
  all.own.resize(layers.size());
  all.layers = std::move(layers);
  return all;
}

}  // namespace

TEST_CASE("a layer is bound by arithmetic or by memory") {
  // 10 samples x 1 GFLOP at 5 TFLOPS = 2 ms; 4 B x (2 x 10 x 1000 + 1000) at 1 TB/s = 84 ns.
  CHECK(modelled_forward_s(layer(1e9, 1000, 1000), device(), 10) == Approx(2e-3).epsilon(1e-12));
  // A batch norm: no FLOPs; 4 B x (2 x 10 x 10^6 + 2000) at 1 TB/s = 80.008 us.
  CHECK(modelled_forward_s(layer(0, 1e6, 2000), device(), 10) == Approx(80.008e-6).epsilon(1e-12));
  Device unknown = device();
  unknown.memory_Bps = 0;
  CHECK(modelled_forward_s(layer(0, 1e6, 2000), unknown, 10) == 0);
}

TEST_CASE("a modelled layer takes its launch, and twice the forward time backward") {
  LayerTable all = table({layer(1e9, 1000, 1000)});
  REQUIRE(model_times(all, device(), 10));
  CHECK(all.layers[0].forward_s == Approx(2.005e-3).epsilon(1e-12));
  CHECK(all.layers[0].backward_s == Approx(4.010e-3).epsilon(1e-12));
}

TEST_CASE("a measured step is shared in proportion to the modelled times, a third of it forward") {
  LayerTable all = table({layer(1e9, 0, 0), layer(3e9, 0, 0)});
  REQUIRE(share_measured_time(all, device(), 10, 0.12));
  // 0.12 s = 0.03 + 0.09; 0.01 and 0.03 forward.
  CHECK(all.layers[0].forward_s == Approx(0.01).epsilon(1e-12));
  CHECK(all.layers[0].backward_s == Approx(0.02).epsilon(1e-12));
  CHECK(all.layers[1].forward_s == Approx(0.03).epsilon(1e-12));
  CHECK(all.layers[1].backward_s == Approx(0.06).epsilon(1e-12));
}

TEST_CASE("without rates of the device the FLOPs share the step, without FLOPs the parameters") {
  Device unknown;
  LayerTable all = table({layer(1e9, 5e9, 10), layer(3e9, 0, 70)});
  REQUIRE(share_measured_time(all, unknown, 10, 0.12));
  CHECK(all.layers[0].forward_s == Approx(0.01).epsilon(1e-12));
  all = table({layer(0, 0, 10), layer(0, 0, 70)});
  REQUIRE(share_measured_time(all, device(), 10, 0.24));
  CHECK(all.layers[0].forward_s == Approx(0.01).epsilon(1e-12));
  CHECK(all.layers[1].forward_s == Approx(0.07).epsilon(1e-12));
}

TEST_CASE("a layer's own time is kept, and the others share the rest") {
  LayerTable all = table({layer(0, 0, 0), layer(1e9, 0, 0)});
  all.own[0] = OwnTime{.forward_s = 0.01, .backward_s = 0};  // per sample
  REQUIRE(share_measured_time(all, device(), 10, 0.16));
  CHECK(all.layers[0].forward_s == Approx(0.1).epsilon(1e-12));
  CHECK(all.layers[0].backward_s == 0);
  CHECK(all.layers[1].forward_s == Approx(0.02).epsilon(1e-12));
  CHECK(all.layers[1].backward_s == Approx(0.04).epsilon(1e-12));
  CHECK(!share_measured_time(all, device(), 10, 0.09));
}

TEST_CASE("own times of all layers are scaled to the measured step") {
  LayerTable all = table({layer(0, 0, 0), layer(1e9, 0, 0)});
  all.own = {OwnTime{1, 2}, OwnTime{3, 6}};
  REQUIRE(share_measured_time(all, device(), 1, 6));
  CHECK(all.layers[0].forward_s == Approx(0.5).epsilon(1e-12));
  CHECK(all.layers[1].backward_s == Approx(3).epsilon(1e-12));
}

TEST_CASE("the measured batch that is nearest by ratio is used") {
  const std::vector<OneDeviceTime> times = {{"D", 16, 1, "a"}, {"D", 128, 4, "b"}, {"E", 32, 1, "c"}};
  CHECK(nearest_time(times, "D", 32)->batch == 16);
  CHECK(nearest_time(times, "D", 64)->batch == 128);
  CHECK(nearest_time(times, "E", 1)->batch == 32);
  CHECK(nearest_time(times, "F", 1) == nullptr);
}

TEST_CASE("a step of a workload is its measured time per sample, in micro-batches") {
  Json scenario = small_scenario();
  scenario["workload"]["batch"] = 64;
  scenario["workload"]["micro_batches"] = 4;
  scenario["workload"]["one_device"] = {
      {{"device", "D"}, {"batch", 32}, {"forward_backward", "320 ms"}, {"source", "a test"}}};
  const Workload workload = job_of(scenario).workload;
  // 10 ms per sample: 160 ms for a micro-batch of 16, 640 ms for the step.
  CHECK(workload.forward_s() + workload.backward_s() == Approx(0.16).epsilon(1e-12));
  CHECK(workload.step_compute_s() == Approx(0.64).epsilon(1e-12));
  CHECK(workload.one_device_step_s == Approx(0.64).epsilon(1e-12));
  CHECK(workload.one_device_source == "D, batch 32: a test");
}

TEST_CASE("own times in a file hold for the measured batch, else for the batch that the file names") {
  Json scenario = small_scenario();
  scenario["workload"]["batch"] = 16;
  scenario["workload"]["layers"].push_back(
      {{"type", "other"}, {"tensors", Json::array()}, {"forward", "80 ms"}});
  scenario["workload"]["layer_times_batch"] = 8;
  Workload workload = job_of(scenario).workload;
  CHECK(workload.layers[1].name == "other2");
  CHECK(workload.layers[1].forward_s == Approx(0.16).epsilon(1e-12));
  CHECK(workload.layers[1].backward_s == Approx(0.32).epsilon(1e-12));
  CHECK(workload.one_device_source == "modelled from FLOPs and memory traffic on D");
  scenario["workload"].erase("layer_times_batch");
  scenario["workload"]["one_device"] = {
      {{"device", "D"}, {"batch", 32}, {"forward_backward", "320 ms"}, {"source", "a test"}}};
  workload = job_of(scenario).workload;
  CHECK(workload.layers[1].forward_s == Approx(0.04).epsilon(1e-12));
}

TEST_CASE("0.13 s a step alone: equal layers, a third of it forward, whatever the micro-batches") {
  Json scenario = small_scenario();
  scenario["workload"] = {
      {"step_time", "0.13 s"}, {"parameters", 25.6e6}, {"batch", 64}, {"micro_batches", 4}};
  const Scenario loaded = load(scenario);
  CHECK(loaded.resolved["workload"]["equal_layers"] == 32);
  CHECK(load(loaded.resolved).resolved == loaded.resolved);
  const Workload workload = make_job(loaded).workload;
  CHECK(workload.layers.size() == 32);
  CHECK(workload.parameters() == doctest::Approx(25.6e6).epsilon(1e-12));
  CHECK(workload.forward_s() == doctest::Approx(0.13 / 4 / 3).epsilon(1e-12));
  CHECK(workload.step_compute_s() == doctest::Approx(0.13).epsilon(1e-12));
  CHECK(workload.one_device_step_s == doctest::Approx(0.13).epsilon(1e-12));
  CHECK(workload.one_device_source == "step_time of the workload");
}

}  // namespace simsgd::test::scenarios_layer_times
