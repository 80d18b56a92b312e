// The document of a run.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/document.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/record.hpp"
#include "sim/recording/ledger.hpp"
#include "sim/recording/metrics.hpp"
#include "tests/scenarios/record.hpp"

namespace simsgd::test::results_document {

namespace {

nlohmann::ordered_json document_of(const RunRecord& record, Json scenario = small_scenario()) {
  scenario["name"] = "example";
  const Scenario loaded = load(scenario);
  RunContext context;
  context.version = "1.2.3";
  return make_document(context, loaded, make_job(loaded), record);
}

}  // namespace

TEST_CASE("a document has these keys in this order") {
  const auto document = document_of(example_record());
  std::vector<std::string> keys;
  for (const auto& member : document.items()) keys.push_back(member.key());
  CHECK(keys == std::vector<std::string>{"schema_version", "context", "scenario", "clock", "one_device",
                                         "metrics", "memory", "workers", "links", "links_total", "fidelity",
                                         "tables", "series", "notes"});
  CHECK(document["schema_version"] == 1);
  CHECK(document["context"]["version"] == "1.2.3");
  CHECK(document["clock"] == "simulated");
}

TEST_CASE("the same run gives the same bytes but for the context") {
  auto a = document_of(example_record()), b = document_of(example_record());
  CHECK(a.dump() == b.dump());
  const RunContext machine = with_machine(RunContext{});
  CHECK(!machine.host.empty());
  CHECK(machine.date.size() == 20);
  CHECK(machine.peak_memory_bytes > 1e6);
}

TEST_CASE("of more than 10,000 workers there is no row each, but the spread of every number of a row") {
  RunRecord record = example_record();
  const auto listed = brief_document(document_of(record));
  const WorkerRecord first = record.workers[0];
  record.workers.clear();
  for (std::size_t i = 0; i < 10001; ++i) {
    WorkerRecord& worker = record.workers.emplace_back(first);
    worker.steps = 1 + (i * 7 + 3) % 10001;
    worker.bytes_sent[1] = 1e6 * static_cast<double>(i);
    worker.activity_s = {static_cast<double>(worker.steps * (i == 1234 ? 2 : 1))};
  }
  Json scenario = small_scenario();
  scenario["cluster"]["workers"] = 10001;
  const auto document = document_of(record, scenario);
  CHECK(!document.contains("workers"));
  const auto& spreads = document["worker_spreads"];
  for (const auto& [name, spread] : listed["worker_spreads"].items()) CHECK(spreads.contains(name));
  CHECK(spreads.size() == listed["worker_spreads"].size());
  CHECK(spreads["steps"] == nlohmann::ordered_json{1, 2501, 5001, 7501, 10001});
  CHECK(spreads["bytes_sent/model"] == nlohmann::ordered_json{0, 2.5e9, 5e9, 7.5e9, 1e10});
  CHECK(spreads["samples"] == nlohmann::ordered_json(std::vector<double>(5, first.samples)));
  CHECK(document["slowest_worker"] == "rank 1234, +100 %");
}

TEST_CASE("a worker's time is the exact sum of its activities") {
  const auto document = document_of(example_record());
  REQUIRE(document["workers"].size() == 2);
  for (const auto& worker : document["workers"]) {
    double sum = 0;
    for (const auto& part : worker["time_by_activity"]) sum += part.get<double>();
    CHECK(sum == worker["time_s"].get<double>());
  }
  CHECK(document["workers"][1]["rank"] == 1);
  CHECK(document["workers"][1]["node"] == 1);
  CHECK(document["workers"][0]["time_by_activity"]["communication_exposed_s"] == 0.4);
  CHECK(document["workers"][0]["bytes_sent"]["gradient"] == 900);
  CHECK(document["workers"][0]["staleness"]["mean"] == 1.5);
  CHECK(document["workers"][1]["staleness"]["count"] == 0);
}

TEST_CASE("the busiest links come first, equal ones by name, and no more than 64 of them") {
  auto document = document_of(example_record());
  CHECK(document["links"][0]["name"] == "nic1>");
  CHECK(document["links"][1]["name"] == "nic2>");
  CHECK(document["links"][0]["utilisation"].get<double>() ==
        doctest::Approx(0.3).epsilon(1e-12));  // 900 of 3 x 1000
  CHECK(document["links_total"] == 3);
  RunRecord record = example_record();
  for (int i = 0; i < 200; ++i) record.links.push_back({"x" + std::to_string(i), 1e9, 1});
  document = document_of(record);
  CHECK(document["links"].size() == 64);
  CHECK(document["links_total"] == 203);
}

TEST_CASE("what has no value is null in a series and absent from the metrics") {
  RunRecord record = example_record();
  record.series[0].train_loss = std::nan("");
  record.evaluations.back().test_accuracy = std::nan("");
  const auto document = document_of(record);
  CHECK(document["series"]["train"][0]["train_loss"].is_null());
  CHECK(document["series"]["test"][1]["test_accuracy"].is_null());
  CHECK(!document["metrics"].contains("test_accuracy_final"));
}

TEST_CASE("a document lists what lies in a GPU's memory, which sums to the metric") {
  const Scenario loaded = load(small_scenario());
  Job job = make_job(loaded);
  job.memory = {{"parameters", 400}, {"residual", 100}};
  const auto document = make_document(RunContext{}, loaded, job, example_record());
  CHECK(document["memory"] ==
        nlohmann::ordered_json::parse(
            R"([{"part": "parameters", "bytes": 400.0}, {"part": "residual", "bytes": 100.0}])"));
  CHECK(document["metrics"]["memory_bytes_per_gpu"] == 500);
}

TEST_CASE("fidelities say how and why") {
  const auto document = document_of(example_record());
  CHECK(document["fidelity"][0]["operation"] == "all_reduce by ring among 2");
  CHECK(document["fidelity"][0]["reason"] == "dedicated and homogeneous");
  CHECK(document["fidelity"][0]["exact"] == true);
}

TEST_CASE("a job's notes are in its document, in their order, each once") {
  const Scenario loaded = load(small_scenario());
  Job job = make_job(loaded);
  job.notes.clear();
  for (const char* text : {"the first", "another", "the first"}) add_note(job.notes, {"made-up", text});
  const auto document = make_document(RunContext{}, loaded, job, example_record());
  CHECK(document["notes"] == nlohmann::ordered_json{"the first", "another"});
}

TEST_CASE("every key of a document is documented") {
  for (const DocumentKey& key : document_keys()) {
    CAPTURE(key.pointer);
    CHECK(!key.definition.empty());
  }
}

// Metrics, against numbers worked out by hand.

using doctest::Approx;

namespace {

std::map<std::string, double> values_of(const RunRecord& record, const Job& job) {
  std::map<std::string, double> all;
  for (const MetricValue& each : metric_values(record, job)) all[each.name] = each.value;
  return all;
}

}  // namespace

TEST_CASE("every metric has one name, a unit and a definition") {
  std::set<std::string> names;
  for (const Metric& metric : metrics()) {
    CAPTURE(metric.name);
    CHECK(names.insert(metric.name).second);
    CHECK(!metric.unit.empty());
    CHECK(metric.definition.ends_with("."));
  }
}

TEST_CASE("times are means over workers, per step") {
  const auto values = values_of(example_record(), job_of(small_scenario()));
  // Worker 0: 4 steps, 2 s of computing; worker 1: 2 steps, 2 s.
  CHECK(values.at("compute_s") == Approx((2.0 / 4 + 2.0 / 2) / 2).epsilon(1e-12));
  CHECK(values.at("communication_exposed_s") == Approx((0.4 / 4 + 0.2 / 2) / 2).epsilon(1e-12));
  CHECK(values.at("gradient_communication_exposed_s") == Approx((0.3 / 4 + 0.2 / 2) / 2).epsilon(1e-12));
  CHECK(values.at("model_communication_exposed_s") == Approx(0.1 / 4 / 2).epsilon(1e-12));
  CHECK(values.at("gradient_communication_hidden_s") == Approx((0.5 / 4 + 0.0) / 2).epsilon(1e-12));
  CHECK(values.at("bytes_sent_per_worker_per_step") == Approx((1000.0 / 4 + 1000.0 / 2) / 2).epsilon(1e-12));
  CHECK(values.at("gradient_bytes_sent_per_worker_per_step") ==
        Approx((900.0 / 4 + 1000.0 / 2) / 2).epsilon(1e-12));
  CHECK(values.at("control_bytes_sent_per_worker_per_step") == Approx(100.0 / 4 / 2).epsilon(1e-12));
}

TEST_CASE("quantiles interpolate between steps") {
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({4, 1, 3, 2}, 0) == 1);
  CHECK(quantile({4, 1, 3, 2}, 1) == 4);
  CHECK(quantile({7}, 0.95) == 7);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({4, 1, 3}) == 3);
  // Of four draws the ends of half of them, at places 1/4 x 5 - 1 and 3/4 x 5 - 1, and never beyond them.
  CHECK(interval_end({4, 1, 3, 2}, 0.25) == 1.25);
  CHECK(interval_end({4, 1, 3, 2}, 0.75) == 3.75);
  CHECK(interval_end({4, 1, 3, 2}, 0.95) == 4);
  const auto values = values_of(example_record(), job_of(small_scenario()));
  CHECK(values.at("iteration_time_p50_s") == Approx(0.65).epsilon(1e-12));
  CHECK(values.at("iteration_time_max_s") == 0.8);
}

TEST_CASE("the longest step is known though only an even sample of the steps is kept") {
  // 2^21 + 5 steps of 1 to 2 s; the longest, 7 s, is one that the sample leaves out.
  StepTimes times;
  for (int i = 0; i < (1 << 21) + 5; ++i) times.add(i == 1'000'001 ? 7 : 1 + i % 1000 / 1000.0);
  RunRecord record = example_record();
  record.step_times_s = times.take_values();
  CHECK(record.step_times_s.size() <= 1 << 20);
  const auto values = values_of(record, job_of(small_scenario()));
  CHECK(values.at("iteration_time_max_s") == 7);
  CHECK(values.at("iteration_time_p50_s") == Approx(1.5).epsilon(1e-2));
  record.step_times_s.clear();
  CHECK(!values_of(record, job_of(small_scenario())).contains("iteration_time_max_s"));
}

TEST_CASE("throughput and efficiency") {
  Json scenario = small_scenario();
  scenario["workload"]["one_device"] = {
      {{"device", "D"}, {"batch", 8}, {"samples_per_s", 20}, {"source", "a test"}}};
  const auto values = values_of(example_record(), job_of(scenario));
  // 48 samples in 3 s by two workers: 8 per second and worker, of 20 alone.
  CHECK(values.at("throughput_samples_per_s") == Approx(16).epsilon(1e-12));
  CHECK(values.at("scaling_efficiency") == Approx(0.4).epsilon(1e-12));
}

TEST_CASE("cost and energy, where the device has a price and a power") {
  Json scenario = small_scenario();
  auto values = values_of(example_record(), job_of(scenario));
  CHECK(!values.contains("cost_usd"));
  CHECK(!values.contains("energy_J"));
  scenario["cluster"]["device"]["price_usd_per_h"] = 3.6;
  scenario["cluster"]["device"]["busy_power"] = 100;
  scenario["cluster"]["device"]["idle_power"] = 10;
  values = values_of(example_record(), job_of(scenario));
  CHECK(values.at("cost_usd") == Approx(2 * 3 * 3.6 / 3600).epsilon(1e-12));
  RunRecord between_sites = example_record();
  between_sites.links[1].price_usd_per_byte = 1e-6;  // of 900 bytes
  CHECK(values_of(between_sites, job_of(scenario)).at("cost_usd") ==
        Approx(2 * 3 * 3.6 / 3600 + 900e-6).epsilon(1e-12));
  // Busy: computing 2 s and straggling 0.1 s each, the first one also selection, factors and inverses; idle
  // the rest of 3 s.
  CHECK(values.at("energy_J") == Approx((2.16 + 2.1) * 100 + (0.84 + 0.9) * 10).epsilon(1e-12));
}

TEST_CASE("learning: final losses, and the first time at the target") {
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  auto values = values_of(example_record(), job_of(scenario));
  CHECK(values.at("train_loss_final") == Approx((2.0 + 1.0 + 0.5) / 3).epsilon(1e-12));
  CHECK(values.at("test_loss_final") == 0.6);
  CHECK(values.at("test_accuracy_final") == 0.8);
  CHECK(values.at("consensus_distance") == 0.01);
  CHECK(!values.contains("time_to_target_s"));
  const auto time_to = [&scenario](const std::string& metric, double value, int window = 1) {
    scenario["target"] = {{"metric", metric}, {"value", value}, {"window", window}};
    const auto all = values_of(example_record(), job_of(scenario));
    return all.contains("time_to_target_s") ? all.at("time_to_target_s") : -1;
  };
  CHECK(time_to("train_loss", 1.0) == 2.0);
  CHECK(time_to("train_loss", 1.0, 2) == 3.0);  // (2 + 1) / 2 after two steps, (1 + 0.5) / 2 after three
  CHECK(time_to("train_loss", 2.0, 4) == -1);
  CHECK(time_to("test_accuracy", 0.7) == 1.0);
  CHECK(time_to("test_loss", 0.6) == 3.0);
  CHECK(time_to("test_accuracy", 0.9) == -1);
}

TEST_CASE("without a learner there are no metrics of learning, and without ages no staleness") {
  RunRecord record = example_record();
  record.evaluations.clear();
  for (SeriesPoint& point : record.series) point.train_loss = std::nan("");
  for (WorkerRecord& worker : record.workers) worker.staleness_count = 0;
  const auto values = values_of(record, job_of(small_scenario()));
  for (const char* name : {"train_loss_final", "test_loss_final", "test_accuracy_final", "consensus_distance",
                           "staleness_mean", "staleness_max"}) {
    CAPTURE(name);
    CHECK(!values.contains(name));
  }
  CHECK(values.at("memory_bytes_per_gpu") == 8080);
}

TEST_CASE("the last 50 steps count as the end") {
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  RunRecord record = example_record();
  record.series.clear();
  for (std::uint64_t step = 1; step <= 60; ++step)
    record.series.push_back({step, 1.0, step <= 10 ? 100.0 : 2.0});
  CHECK(values_of(record, job_of(scenario)).at("train_loss_final") == 2.0);
}

TEST_CASE("staleness, events and metrics of plug-ins") {
  const auto values = values_of(example_record(), job_of(small_scenario()));
  CHECK(values.at("staleness_mean") == Approx(6.0 / 4).epsilon(1e-12));
  CHECK(values.at("staleness_max") == 3);
  CHECK(values.at("events") == 1234);
  CHECK(values.at("simulated_time_s") == 3);
  CHECK(values.at("groups_formed") == 5);
}

}  // namespace simsgd::test::results_document
