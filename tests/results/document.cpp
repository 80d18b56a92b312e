// The document of a run.
#include "results/document.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

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

TEST_CASE("a document survives being written and read, to the last bit") {
  RunRecord record = example_record();
  record.series[0].time_s = 0.1 + 0.2;
  record.workers[0].activity_s[0] = 1.0 / 3;
  const auto document = document_of(record);
  const auto again = nlohmann::ordered_json::parse(document.dump());
  CHECK(again == document);
  CHECK(again.dump() == document.dump());
  CHECK(again["series"]["train"][0]["time_s"].get<double>() == 0.1 + 0.2);
}

TEST_CASE("the scenario in a document is a scenario file") {
  const auto document = document_of(example_record());
  const Json scenario = Json::parse(document["scenario"].dump());
  CHECK(load(scenario).resolved == scenario);
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

}  // namespace simsgd::test::results_document
