// Seconds of layers, against numbers worked out by hand.
#include "scenarios/language/layer_times.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
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
  CHECK(workload.one_device_source ==
        "times of some layers, of the others modelled from FLOPs and memory traffic on D");
  scenario["workload"].erase("layer_times_batch");
  scenario["workload"]["one_device"] = {
      {{"device", "D"}, {"batch", 32}, {"forward_backward", "320 ms"}, {"source", "a test"}}};
  workload = job_of(scenario).workload;
  CHECK(workload.layers[1].forward_s == Approx(0.04).epsilon(1e-12));
}

TEST_CASE("a device by its name among other words") {
  for (const char* called : {"V100", "Tesla V100-DGXS-32GB", "tesla v100", "V100-PCIe"})
    CHECK(is_device(called, "V100"));
  CHECK(is_device("NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"));
  CHECK(is_device("", ""));
  for (const char* called : {"V1000", "V-100", "GV100", ""}) CHECK_FALSE(is_device(called, "V100"));
  CHECK_FALSE(is_device("RTX 2080", "RTX 2080 Ti"));
  CHECK_FALSE(is_device("V100", ""));
}

namespace {

/// Layers that a device O was measured with, 4 samples each: products, a batch norm, an embedding, and one of
/// which nothing is known. The cluster's device computes twice as fast as O and has a fifth of its memory
/// bandwidth.
Json measured_elsewhere() {
  Json scenario = small_scenario();
  Json& device = scenario["cluster"]["device"];
  device.update({{"peak_flops", 8e12},
                 {"efficiency", 0.5},
                 {"memory", "64 GB"},
                 {"memory_bandwidth", 0.2e12},
                 {"launch", "3 us"}});
  const auto layer = [](double flop, double activations, double forward_s, double backward_s) {
    return Json{{"type", "other"},      {"tensors", {1000}},
                {"forward_flop", flop}, {"activations", activations},
                {"forward", forward_s}, {"backward", backward_s}};
  };
  scenario["workload"] = {
      {"batch", 12},
      {"micro_batches", 2},
      {"layer_times_batch", 4},
      {"measured_on", {{"name", "O"}, {"peak_flops", 4e12}, {"efficiency", 0.5}, {"memory_bandwidth", 1e12}}},
      {"layers",
       {layer(1e9, 1e3, 3e-3, 7e-3), layer(0, 1e6, 1e-3, 1e-3), layer(1e8, 1e6, 2e-3, 5e-3),
        layer(0, 0, 4e-3, 0)}}};
  return scenario;
}

const Note* note_about(const Job& job, const std::string& about) {
  for (const Note& note : job.notes)
    if (note.about == about) return &note;
  return nullptr;
}

}  // namespace

TEST_CASE("times that were measured on another device: layer by layer by both devices' rooflines") {
  Json scenario = measured_elsewhere();
  const Job job = job_of(scenario);
  // Once more, on its own: 6 samples a micro-batch, rates that are reached in FLOP/s and B/s.
  const double flop[] = {1e9, 0, 1e8}, entries[] = {1e3, 1e6, 1e6}, forward[] = {3e-3, 1e-3, 2e-3, 4e-3},
               backward[] = {7e-3, 1e-3, 5e-3, 0};
  const auto bound = [&](int i, double flops, double bytes_per_s) {
    const double computing = 6 * flop[i] / flops, moving = 4 * (2 * 6 * entries[i] + 1000) / bytes_per_s;
    return computing > moving ? computing : moving;
  };
  double share[4], known = 0, scaled = 0, step = 0;
  for (int i = 0; i < 3; ++i) {
    share[i] = bound(i, 4e12, 0.2e12) / bound(i, 2e12, 1e12);
    known += forward[i] + backward[i];
    scaled += share[i] * (forward[i] + backward[i]);
  }
  share[3] = scaled / known;
  CHECK(share[0] == Approx(0.5));                 // bound by computing on both
  CHECK(share[1] == Approx(5));                   // by memory on both
  CHECK(share[2] == Approx(240.02e-6 / 300e-6));  // by computing on O, by memory here
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(job.workload.layers[i].forward_s == Approx(6 / 4.0 * share[i] * forward[i]).epsilon(1e-12));
    CHECK(job.workload.layers[i].backward_s == Approx(6 / 4.0 * share[i] * backward[i]).epsilon(1e-12));
    step += 3 * share[i] * (forward[i] + backward[i]);
  }
  CHECK(job.workload.one_device_step_s == Approx(step).epsilon(1e-12));
  CHECK(job.workload.one_device_source == "times of the layers, measured on O, batch 4, scaled to D");
  REQUIRE(note_about(job, "scaled-device-time") != nullptr);
  CHECK(
      note_about(job, "scaled-device-time")->text ==
      fmt::format(
          "the layers' times were measured on O and are scaled to D, each by the two devices' modelled times of its FLOPs and memory traffic: to {:.3g} of them in all",
          share[3]));
  CHECK(note_about(job, "extrapolated-device-time")->text ==
        "the layers' times for 6 samples are taken in proportion from those measured with 4");
  CHECK(load(load(scenario).resolved).resolved == load(scenario).resolved);

  scenario["cluster"]["device"]["name"] = "O";  // its own: as measured, whatever the rates
  const Job own = job_of(scenario);
  CHECK(own.workload.layers[2].backward_s == Approx(7.5e-3).epsilon(1e-12));
  CHECK(own.workload.one_device_source == "times of the layers, measured on O, batch 4");
  CHECK(note_about(own, "scaled-device-time") == nullptr);
  CHECK(note_about(own, "modelled-device-time") == nullptr);
  CHECK(note_about(own, "unknown-device") == nullptr);

  scenario["workload"].erase("measured_on");
  const Job unknown = job_of(scenario);
  CHECK(unknown.workload.one_device_step_s == own.workload.one_device_step_s);
  CHECK(unknown.workload.one_device_source == "times of the layers, batch 4");
  CHECK(
      note_about(unknown, "unknown-device")->text ==
      "the layers' own times hold on O as on any device: the workload does not say what they were measured on (/workload/measured_on)");
}

TEST_CASE("layers without FLOPs are scaled alike by rates that both devices have, else refused") {
  Json scenario = measured_elsewhere();
  for (Json& layer : scenario["workload"]["layers"]) layer["forward_flop"] = layer["activations"] = 0;
  CHECK(job_of(scenario).workload.layers[0].backward_s == Approx(6 / 4.0 * 7e-3 / 2).epsilon(1e-12));
  CHECK(
      note_about(job_of(scenario), "scaled-device-time")->text.find("all alike by the two devices' rates") !=
      std::string::npos);
  scenario["workload"]["measured_on"].erase("peak_flops");
  CHECK(job_of(scenario).workload.layers[0].backward_s == Approx(6 / 4.0 * 7e-3 * 5).epsilon(1e-12));
  scenario["cluster"]["device"].erase("memory_bandwidth");
  const Folder folder;
  folder.write_json("s.json", scenario);
  CHECK(
      folder.errors("s.json") ==
      "s.json:/workload/measured_on: is not the cluster's device D, and no rate is known of both by which the layers' times could be scaled. Found: {\"efficiency\":0.5,\"memory_bandwidth\":1000000000000.0,\"name\":\"O\",\"peak_flops\":0}. Give \"peak_flops\" or \"memory_bandwidth\" of both, or a time in \"one_device\" that was measured on the cluster's device.");
  // A one-device time of this device is its whole step: the layers' times only share it.
  scenario["workload"]["one_device"] = {
      {{"device", "D"}, {"batch", 6}, {"forward_backward", 1}, {"source", "a test"}}};
  CHECK(job_of(scenario).workload.one_device_step_s == Approx(2).epsilon(1e-12));
}

TEST_CASE("what the device waits for its host is of any device and batch, once a pass") {
  Json scenario = measured_elsewhere();
  scenario["workload"]["host_gap"] = {{"forward", "6 ms"}, {"backward", "1 ms"}};
  Json without = scenario;
  without["workload"].erase("host_gap");
  for (const char* device : {"D", "O"})
    for (const int batch : {12, 4, 400}) {
      for (Json* each : {&scenario, &without}) {
        (*each)["cluster"]["device"]["name"] = device;
        (*each)["workload"]["batch"] = batch;
      }
      const Workload with = job_of(scenario).workload, bare = job_of(without).workload;
      CHECK(with.forward_s() == Approx(bare.forward_s() + 6e-3).epsilon(1e-12));
      CHECK(with.backward_s() == Approx(bare.backward_s() + 1e-3).epsilon(1e-12));
      CHECK(with.one_device_step_s == Approx(bare.one_device_step_s + 14e-3).epsilon(1e-12));
      CHECK(with.layers[0].forward_s / with.layers[2].forward_s ==
            Approx(bare.layers[0].forward_s / bare.layers[2].forward_s).epsilon(1e-12));
      // Of 4 parts of a micro-batch each waits as long.
      CHECK(with.parts_per_step(4) ==
            Approx(with.step_compute_s() / (bare.step_compute_s() / 4 + 14e-3)).epsilon(1e-12));
    }
  scenario["workload"]["batch"] = 8;
  CHECK(
      note_about(job_of(scenario), "host-gap")->text ==
      "in 23 % of a step of one device, 7 ms, it waits for its host, which launches or loads: that stays the same for any device and batch (/workload/host_gap)");
  scenario["workload"]["batch"] = 800;
  CHECK(note_about(job_of(scenario), "host-gap") == nullptr);
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
