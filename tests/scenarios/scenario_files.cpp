// Every file that we ship loads, and gives a job.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/json_source.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_scenario_files {

namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kScenarios + folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string device_named(const std::string& name) {
  JsonFiles files;
  for (const std::string& file : files_in("devices"))
    if (files.read(file)["name"] == name) return file;
  return "";
}

/// All images are inflated for one job of each file: for every point that was two thirds of what the test
/// took.
void with_fewer_images(Scenario& scenario) {
  Json& learner = scenario.resolved["learner"];
  if (!learner.is_object() || learner["data"]["name"] != "fashion_mnist") return;
  for (const auto& [key, images] : {std::pair("train_samples", 10000), std::pair("test_samples", 1000)})
    if (!learner["data"].contains(key)) learner["data"][key] = images;
}

}  // namespace

TEST_CASE("every study and scenario loads, and points all over it with their first seed give a job") {
  constexpr std::size_t kWhole = 64, kSome = 4;  // points of a study that are all looked at; of larger ones
  for (const char* folder : {"", "papers", "studies", "claims"}) {
    for (const std::string& file : files_in(folder)) {
      CAPTURE(file);
      const Study study = expand_study(file);
      CHECK(!study.points.empty());
      const std::size_t step = study.points.size() <= kWhole ? 1 : study.points.size() / kSome;
      const bool seeds = !study.axes.empty() && study.axes.back() == "/seed";
      for (std::size_t i = 0; i < study.points.size(); i += step) {
        const StudyPoint& point = study.points[i];
        CAPTURE(point.label);
        if (step == 1 && seeds && point.coordinates.back().value != study.points[0].coordinates.back().value)
          continue;
        Scenario scenario = load_point(study, point);
        CHECK(load(scenario.resolved).resolved.dump() == scenario.resolved.dump());
        if (i > 0) with_fewer_images(scenario);
        CHECK_NOTHROW(make_job(scenario));
      }
    }
  }
}

TEST_CASE("every cluster can be costed for 32 workers") {
  for (const std::string& file : files_in("clusters")) {
    CAPTURE(file);
    const Cluster cluster = load_cluster(file, 32).cluster;
    CHECK(cluster.workers() == 32);
    CHECK(
        cluster.network.path_cost(cluster.endpoint_of_rank[0], cluster.endpoint_of_rank[31]).beta_s_per_byte >
        0);
  }
}

TEST_CASE(
    "every device and every workload gives a job; on the devices where it was measured it takes that long") {
  JsonFiles files;
  for (const std::string& file : files_in("workloads")) {
    CAPTURE(file);
    const Json workload = files.read(file);
    for (const Json& entry : workload["one_device"]) {
      const auto device = entry["device"].get<std::string>();
      CAPTURE(device);
      Json scenario = small_scenario();
      scenario["workload"] = {{"use", file}, {"batch", entry["batch"]}};
      // Times of large models were measured on devices that share the states.
      scenario["cluster"]["device"] = {{"use", device_named(device)}, {"memory", "1 TB"}};
      const Job job = job_of(scenario);
      const double batch = entry["batch"].get<double>();
      if (entry.contains("samples_per_s"))
        CHECK(job.workload.one_device_step_s ==
              doctest::Approx(batch / entry["samples_per_s"].get<double>()).epsilon(1e-12));
      CHECK(job.workload.step_compute_s() == doctest::Approx(job.workload.one_device_step_s).epsilon(1e-12));
      CHECK(job.workload.compute_factor.mean() == doctest::Approx(1).epsilon(1e-12));
    }
  }
  for (const std::string& file : files_in("devices")) {
    CAPTURE(file);
    Json scenario = small_scenario();
    scenario["cluster"]["device"] = {{"use", file}};
    CHECK(job_of(scenario).workload.step_compute_s() > 0);
  }
}

TEST_CASE("the quick-start compares two networks, everything else being equal") {
  const Study study = load_study(kScenarios + "quickstart.json");
  REQUIRE(study.points.size() == 2);
  CHECK(study.points[0].label == "cluster=ethernet-1g");
  CHECK(study.points[1].label == "cluster=infiniband-100g");
  for (const StudyPoint& point : study.points) {
    const Job job = make_job(load_point(study, point));
    CHECK(job.workers() == 8);
    CHECK(job.cluster.nodes == 8);
    CHECK(job.cluster.device.name == "V100");
    CHECK(job.workload.batch == 64);
    CHECK(job.workload.one_device_step_s == doctest::Approx(64 / 253.1).epsilon(1e-12));
    CHECK(job.learner->parameters() == 784 * 64 + 64 + 64 * 10 + 10);
    CHECK(job.stop.steps == 2000);
    CHECK(job.record.evaluate_every == 100);
    CHECK(job.record.timeline_events > 0);
  }
}

}  // namespace simsgd::test::scenarios_scenario_files
