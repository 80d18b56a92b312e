// Every file that we ship loads, and gives a job.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

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

/// All images are inflated in the runs of tests/results/whole_documents.cpp: for every point here that was
/// two thirds of what the test took.
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
        const std::size_t some = std::max<std::size_t>(1, study.points.size() / kSome);
        if (i % some == 0) CHECK(load(scenario.resolved).resolved.dump() == scenario.resolved.dump());
        with_fewer_images(scenario);
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

// `use`: files under objects, and what wins.

namespace {

/// A cluster file of four nodes of two GPUs, its device in a file of its own.
void write_cluster(const Folder& folder) {
  folder.write("scenarios/devices/slow.json",
               R"({"name": "slow", "peak_flops": 1e12, "efficiency": 0.4, "launch": 1})");
  folder.write("scenarios/devices/fast.json", R"({"name": "fast", "peak_flops": 9e12})");
  folder.write("scenarios/clusters/c.json",
               R"({"name": "c", "device": {"use": "devices/slow.json"}, "gpus_per_node": 2,
    "gpu_link": {"bandwidth": "12 GB/s"}, "nic": {"bandwidth": "1 GB/s", "latency": "5 us"},
    "topology": {"name": "switch_tree", "ports": 8, "oversubscription": 4}})");
}

Json with_cluster(const Json& cluster) {
  Json scenario = small_scenario();
  scenario["cluster"] = cluster;
  return scenario;
}

}  // namespace

TEST_CASE("a scenario may use a scenario; a null or another kind of value replaces an object") {
  const Folder folder;
  Json base = small_scenario();
  base["learner"] = small_learner();
  folder.write_json("base.json", base);
  const Json resolved =
      load_scenario(folder.write("s.json", R"({"use": "base.json", "learner": null, "seed": 7})")).resolved;
  CHECK(resolved["learner"].is_null());
  CHECK(resolved["seed"] == 7);
  CHECK(resolved["stop"]["steps"] == 10);
}

TEST_CASE("a setting of `use` keeps what is written beside it, in whichever file") {
  const Folder folder;
  write_cluster(folder);
  folder.write_json("scenarios/base.json",
                    with_cluster({{"workers", 4}, {"nodes", 7}, {"device", {{"launch", "3 us"}}}}));
  const std::string file = folder.write("scenarios/s.json", R"({"use": "base.json"})");
  const Json cluster = load_scenario(file, {{{"/cluster/use", "clusters/c.json"}}, {}}).resolved["cluster"];
  CHECK(cluster["nodes"] == 7);
  CHECK(cluster["device"]["name"] == "slow");
  CHECK(cluster["device"]["launch"] == "3 us");
}

TEST_CASE("where files are looked for") {
  const std::vector<std::string> paths = search_path("clusters/c.json", "a/scenarios/papers/p.json");
  REQUIRE(paths.size() >= 4);
  CHECK(paths[0] == "a/scenarios/papers/clusters/c.json");  // beside the file that names it
  CHECK(paths[1] == "a/scenarios/clusters/c.json");         // in the "scenarios" above it
  CHECK(paths[2] == "clusters/c.json");                     // in the current directory
  CHECK(paths[3] == "scenarios/clusters/c.json");
  CHECK(search_path("/x/c.json", "a.json") == std::vector<std::string>{"/x/c.json"});
}

// --set and --seed.

TEST_CASE("--seed sets the seed") {
  CHECK(load(small_scenario(), {{}, 42}).resolved["seed"] == 42);
  CHECK(job_of(small_scenario(), {{}, 42}).seed == 42);
}

TEST_CASE("--set takes a pointer and a value") {
  CHECK(parse_set("/cluster/workers=8") == std::pair<std::string, std::string>{"/cluster/workers", "8"});
  CHECK(parse_set("/name=a=b") == std::pair<std::string, std::string>{"/name", "a=b"});
  for (const char* wrong : {"cluster/workers=8", "/cluster/workers", ""}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(parse_set(wrong), ("--set: is not of the form /pointer=value. Found: \"" +
                                         std::string(wrong) + "\". Write for example /cluster/workers=8.")
                                            .c_str());
  }
}

}  // namespace simsgd::test::scenarios_scenario_files
