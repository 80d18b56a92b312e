// Non-blocking SGD where micro-batches end at the instant of SYNC: gains over blocking of the shipped
// networks, against whole numbers. The same rounds in every unit of time: ties.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/algorithms/nonblocking_support.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::algorithms_nonblocking_ties {

namespace {

constexpr std::int64_t kWorkers = 8, kMicroBatches = 8;

/// A speed of p / q.
struct Speed {
  std::int64_t p, q;
};

/// The gain over blocking with one device of 8 at speed p / q, from the definition, in whole numbers: a
/// micro-batch takes p at full speed and q on the slow device. The fast ones are through at 8 p. The slow one
/// has then ended 8 p / q of its own, one that ends at that instant among them, and is in the next one, which
/// it drops or finishes.
double derived_gain(Speed speed, bool drop) {
  const std::int64_t sync = kMicroBatches * speed.p;
  const std::int64_t done = std::min(kMicroBatches, sync / speed.q + (drop ? 0 : 1));
  const std::int64_t round = std::max(sync, done * speed.q);
  const std::int64_t samples = (kWorkers - 1) * kMicroBatches + done;
  const std::int64_t blocking_round = kMicroBatches * speed.q, blocking_samples = kWorkers * kMicroBatches;
  return static_cast<double>(samples * blocking_round) / static_cast<double>(round * blocking_samples);
}

/// The timing of a shipped network, times `unit`, on 8 devices without communication.
Job network_job(const std::string& network, double unit, Speed speed, const Json& parameters,
                std::uint64_t rounds) {
  Json scenario = small_scenario();
  scenario["workload"] = {{"use", kScenarios + "workloads/" + network + ".json"}, {"batch", 256}};
  scenario["cluster"]["device"]["memory"] = "100 GB";
  std::vector<double> speeds(kWorkers, 1.0);
  speeds[3] = static_cast<double>(speed.p) / static_cast<double>(speed.q);
  Job job = round_job(speeds, parameters, rounds);
  job.workload = job_of(scenario).workload;
  for (Layer& layer : job.workload.layers) {
    layer.forward_s *= unit;
    layer.backward_s *= unit;
  }
  return job;
}

/// Samples per unit of time.
double run(const std::string& network, double unit, Speed speed, const Json& parameters,
           std::uint64_t rounds) {
  const RunRecord record = simulate_job(network_job(network, unit, speed, parameters, rounds));
  double samples = 0;
  for (const WorkerRecord& worker : record.workers) samples += worker.samples;
  return samples * unit / record.end_s;
}

double gain(const std::string& network, double unit, Speed speed, const std::string& preempt,
            std::uint64_t rounds) {
  return run(network, unit, speed, {{"preempt", preempt}}, rounds) /
         run(network, unit, speed, {{"trigger", "none"}}, 10);
}

}  // namespace

TEST_CASE(
    "one device of 8 at half speed gains what is derived: 2,000 rounds, whatever the network and the unit") {
  CHECK(derived_gain({1, 2}, false) == 1.525);
  CHECK(derived_gain({1, 2}, true) == 1.875);
  CHECK(derived_gain({499, 1000}, false) == 1.875);  // the fourth is in progress at SYNC, and is the last
  for (const char* network : {"resnet20", "resnet50", "vgg16_cifar"})
    for (const double unit : {1e-3, 1.0, 1e3}) {
      CAPTURE(network);
      CAPTURE(unit);
      const bool is_long = unit == 1 && network == std::string("vgg16_cifar");
      CHECK(gain(network, unit, {1, 2}, "finish", is_long ? 2000 : 100) ==
            doctest::Approx(1.525).epsilon(1e-9));
    }
  CHECK(gain("resnet50", 1, {1, 2}, "drop", 100) == doctest::Approx(1.875).epsilon(1e-9));
}

TEST_CASE("the gain at every speed of the slow device is the derived one") {
  for (const std::int64_t hundredths : {30, 37, 38, 40, 50, 60, 62, 63, 70, 75, 80, 87, 88, 90})
    for (const char* preempt : {"finish", "drop"}) {
      CAPTURE(hundredths);
      CAPTURE(preempt);
      CHECK(gain("resnet50", 1, {hundredths, 100}, preempt, 100) ==
            doctest::Approx(derived_gain({hundredths, 100}, preempt == std::string("drop"))).epsilon(1e-9));
    }
}

}  // namespace simsgd::test::algorithms_nonblocking_ties
