// The measurements beside the project, every row of them; skipped, visibly, where they are not there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/traces/imports.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::test::traces_real_data {

using namespace traces;

namespace {

namespace fs = std::filesystem;

// "" where the data are absent, which is said.
std::string data(const std::string& path) {
  const fs::path root = fs::path(SIMSGD_SOURCE_DIR) / "../shared/data";
  if (fs::exists(root / path)) return (root / path).string();
  MESSAGE("SKIPPED: there is no ../shared/data/" << path);
  return "";
}

const Measurement& find(const Measurements& all, double bytes, const std::string& placement) {
  for (const Measurement& row : all.rows)
    if (row.bytes == bytes && row.labels.at("placement") == placement) return row;
  throw std::runtime_error("no such row");
}

}  // namespace

TEST_CASE("nccl_a100: 1,024 sizes, out of place and in place, in nanoseconds") {
  for (const int ranks : {2, 4, 8}) {
    const std::string file = data("nccl_a100/a100_AR_GPU" + std::to_string(ranks) + "_1M_1024M_LUT.csv");
    if (file.empty()) return;
    ImportOptions options = mapped(R"x({
      "bytes": {"from": "size(B)", "unit": "B"
  }
  ,
      "values": [
        {"from": 4, "unit": "ns", "quantity": "time_s", "labels": {"placement": "out_of_place"}},
        {"from": 6, "unit": "ns", "quantity": "time_s", "labels": {"placement": "in_place"}}],
      "constants": {
    "operation" : "all_reduce", "nodes" : 1
  }
})x");
    options.set["workers"] = std::to_string(ranks);
    const Measurements all = import_files({file}, options);
    CHECK(all.rows.size() == 2048);
    CHECK(ignored(all).empty());
    CHECK(all.rows[0].workers == ranks);
    if (ranks == 8) CHECK(find(all, 4194304, "in_place").value == 94030e-9);
  }
}

TEST_CASE("nccl_a100_nodes: raw logs as they are") {
  const std::string folder = data("nccl_a100_nodes");
  if (folder.empty()) return;
  const Measurements all =
      import_files({folder + "/nccl_8.log", folder + "/nccl_16.log", folder + "/nccl_32.log"}, {});
  CHECK(all.rows.size() == 2 * (28 + 25 + 23));
  const int workers[] = {8, 16, 32}, nodes[] = {1, 2, 4};
  std::size_t first = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(all.reports[i].ignored.empty());
    CHECK(all.rows[first].workers == workers[i]);
    CHECK(all.rows[first].nodes == nodes[i]);
    CHECK(all.rows[first].operation == "all_reduce");
    CHECK(all.rows[first].samples == (i == 0 ? 20 : 50));
    first += all.reports[i].rows;
  }
  CHECK(all.rows.back().value == 66669e-6);
}

TEST_CASE("ethernet_1g: collectives by a filter, and differences of instants") {
  const std::string folder = data("ethernet_1g");
  if (folder.empty()) return;
  const Measurements rings = import_files({folder + "/collectives.csv"}, mapped(R"x({
      "bytes": {"from": "bytes", "unit": "B"}, "workers": "P", "campaign": "label", "where": {"op": "ring"},
      "values": [{"from": "median_us", "unit": "us", "quantity": "time_s", "samples": "n"}],
      "constants": {"operation": "all_reduce"}})x"));
  CHECK(rings.rows.size() == 36);
  CHECK(understood(rings) == "132 rows that \"where\" excludes");
  const Measurements steps = import_files({folder + "/sgd_worker_steps.csv"}, mapped(R"x({
      "workers": "P", "campaign": "label", "labels": {"rank": "rank", "step": "step"},
      "values": [{"from": "t_compute_end_s", "minus": "t_start_s", "unit": "s", "quantity": "compute_s"},
                 {"from": "t_allreduce_end_s", "minus": "t_compute_end_s", "unit": "s", "quantity": "all_reduce_s"}]})x"));
  CHECK(steps.rows.size() == 1600);
  CHECK(ignored(steps).empty());
  CHECK(steps.rows[0].value == 0.018309);
}

TEST_CASE("stragglers: times without a unit, and a compressed CSV") {
  const std::string job = data("stragglers/job_1_norm.csv"), operations = data("stragglers/ops-ST.csv.gz");
  if (job.empty() || operations.empty()) return;
  const Measurements all = import_files({job}, mapped(R"x({"labels": {"rank": "worker", "step": "time"},
      "values": [{"from": "batch_time_norm", "unit": "1", "quantity": "batch_time"}]})x"));
  CHECK(all.rows.size() == 3000);
  CHECK(all.rows.back().value == 433);
  const Measurements each =
      import_files({operations}, mapped(R"x({"labels": {"thread": "thread", "operator": "op"},
      "values": [{"from": "dur_us", "unit": "us", "quantity": "time_s"}]})x"));
  CHECK(each.rows.size() == 2816);
  CHECK(each.rows[0].labels.at("thread") == "PP0, TP0, compute");
}

TEST_CASE("throughput: with deviations where there are any") {
  const std::string file = data("throughput/v100_10gbe_ib100.csv");
  if (file.empty()) return;
  const Measurements all = import_files({file}, mapped(R"x({
      "workers": "gpus", "labels": {"workload": "dnn", "batch": "batch_per_gpu", "connection": "connection",
      "method": "method"}, "values": [{"from": "throughput_samples_per_s", "unit": "samples/s",
      "quantity": "throughput_samples_per_s", "deviation": "pm"}]})x"));
  CHECK(all.rows.size() == 72);
  CHECK(all.rows[1].value == 925.02);
  CHECK(all.rows[1].deviation == 4.42);
  CHECK(ignored(all).empty());
}

TEST_CASE("low_communication: steps of all runs, and the network's curve") {
  const std::string folder = data("low_communication");
  if (folder.empty()) return;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json" && entry.path().filename() != "network.json")
      files.push_back(entry.path().string());
  const Measurements all = import_files(files, mapped(R"x({
      "records": "/step_records", "document": {"workers": "/world_size", "H": "/H", "campaign": "/run_id"},
      "labels": {"step": "/step", "outer": "/did_outer_step"},
      "values": [{"from": "/wall_time_ms", "unit": "ms", "quantity": "step_s"},
                 {"from": "/sync_blocked_ms", "unit": "ms", "quantity": "blocked_s"}]})x"));
  CHECK(files.size() == 13);
  CHECK(all.rows.size() == 2 * (9 * 150 + 3 * 80 + 100));
  const Measurements curve = import_files({folder + "/network.json"}, mapped(R"x({
      "records": "/nccl_curve", "bytes": {"from": "/msg_bytes", "unit": "B"},
      "values": [{"from": "/achieved_bps", "unit": "bps", "quantity": "bandwidth_Bps"}]})x"));
  CHECK(curve.rows.size() == 6);
  CHECK(curve.rows[0].value == doctest::Approx(8509005895.14442 / 8).epsilon(1e-12));
}

namespace {

// Of a Kineto file: all that is counted as an event, and all that there are, by another reader of JSON.
void check_every_event(const Imported& all, std::size_t events) {
  std::size_t counted = 0;
  for (const auto* reasons : {&all.reports.at(0).understood, &all.reports.at(0).ignored})
    for (const auto& [reason, count] : *reasons)
      if (reason.starts_with("events ")) counted += count;
  CHECK(counted == events);
}

double microseconds(const nlohmann::json& event, const char* key) { return event.at(key).get<double>(); }

}  // namespace

TEST_CASE(
    "kineto, new schema: 3 steps, each 5 all-reduces of 25,557,032 elements and 2 broadcasts of 53,173") {
  const std::string file = data("kineto/hta_nccl_data.json.gz");
  if (file.empty()) return;
  const Imported all = import_files({file}, with("batch", "32"));
  std::map<std::string, std::map<std::string, std::pair<int, double>>> sums;  // by step and operation
  for (const Measurement& row : all.rows) {
    if (row.quantity != "time_s") continue;
    auto& [count, elements] = sums[row.labels.at("step")][row.operation];
    ++count;
    elements += row.bytes / (row.labels.at("type") == "long" ? 8 : 4);
    CHECK(row.labels.at("algorithm") == "RING");
    CHECK(row.labels.at("protocol") == "LL");
    CHECK(row.workers == 2);
  }
  CHECK(sums.size() == 3);
  for (const auto& [step, operations] : sums) {
    CHECK(operations.at("all_reduce") == std::pair{5, 25557032.0});
    CHECK(operations.at("broadcast") == std::pair{2, 53173.0});
  }
  REQUIRE(all.workloads.size() == 1);
  CHECK(all.workloads[0].layers.size() == 1 + 5);
  CHECK(all.workloads[0].parameters() == 25557032);
  CHECK(all.workloads[0].layers[5].name == "bucket1");
  CHECK(all.workloads[0].layers[5].tensors[0][0] == 2049000);
  CHECK(counts(all.reports[0].ignored) == "1 ranks of the job whose files are missing");

  // Steps of 222.503, 219.786 and 224.936 ms less 10.2, 10.5 and 18.9 ms of exposed communication.
  const RecordedWorkload& network = all.workloads[0];
  std::vector<double> alone_s;
  for (std::size_t i = 0; i < 3; ++i)
    alone_s.push_back(rows_of(all, "step_s")[i].value - rows_of(all, "communication_exposed_s")[i].value);
  std::sort(alone_s.begin(), alone_s.end());
  CHECK(network.forward_s() + network.backward_s() + network.forward_gap_s + network.backward_gap_s ==
        doctest::Approx(alone_s[1]).epsilon(1e-9));
  CHECK(network.backward_gap_s == doctest::Approx(49e-3).epsilon(0.05));
  CHECK(network.source.find("kernels cover 17 % of it, exposed communication 5 %") != std::string::npos);

  // Computing once more, from the whole document: kernels launched in a step, painted over one another.
  const nlohmann::json trace = nlohmann::json::parse(Input(file).rest());
  const nlohmann::json& events = trace.at("traceEvents");
  check_every_event(all, events.size());
  std::map<double, double> launched;
  std::vector<std::pair<double, double>> steps;
  for (const nlohmann::json& event : events) {
    const std::string cat = event.value("cat", ""), name = event.value("name", "");
    if (cat == "cuda_runtime")
      launched[event["args"]["correlation"].get<double>()] = microseconds(event, "ts");
    if (cat == "user_annotation" && name.starts_with("ProfilerStep"))
      steps.emplace_back(microseconds(event, "ts"), microseconds(event, "dur"));
  }
  REQUIRE(all.steps.size() == steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<std::pair<double, int>> edges;  // +1 where a kernel begins, -1 where one ends
    for (const nlohmann::json& event : events) {
      if (event.value("cat", "") != "kernel" || event["name"].get<std::string>().starts_with("nccl"))
        continue;
      const double host = launched.at(event["args"]["correlation"].get<double>());
      if (host < steps[i].first || host > steps[i].first + steps[i].second) continue;
      edges.emplace_back(microseconds(event, "ts"), 1);
      edges.emplace_back(microseconds(event, "ts") + microseconds(event, "dur"), -1);
    }
    std::sort(edges.begin(), edges.end());
    double busy = 0;
    for (std::size_t e = 0, running = 0; e + 1 < edges.size(); ++e) {
      running += static_cast<std::size_t>(edges[e].second);
      if (running > 0) busy += edges[e + 1].first - edges[e].first;
    }
    CHECK(all.steps[i].compute_s * 1e6 == doctest::Approx(busy).epsilon(1e-9));
  }
}

TEST_CASE("kineto, old schema: ResNet-50's layers, its 25,557,032 parameters, and six steps of computing") {
  const std::string file = data("kineto/kineto_resnet50_v100_nw4_worker0.json.gz");
  if (file.empty()) return;
  const Imported all = import_files({file}, {});
  check_every_event(all, 71424);
  CHECK(all.reports[0].ignored.empty());
  REQUIRE(all.workloads.size() == 1);
  const RecordedWorkload& network = all.workloads[0];
  CHECK(network.parameters() == 25557032);
  CHECK(network.batch == 32);
  CHECK(network.device == "Tesla V100-DGXS-32GB");
  CHECK(network.layers.size() == 1 + 53 + 53 + 1);
  CHECK(network.layers.back().tensors == std::vector<std::vector<double>>{{1000, 2048}, {1000}});
  REQUIRE(all.steps.size() == 6);
  for (const RecordedStep& step : all.steps) {
    // With the optimizer's all of a step's kernels.
    CHECK(network.forward_s() + network.backward_s() == doctest::Approx(step.compute_s).epsilon(0.01));
  }
  double flop = 0;
  for (const RecordedLayer& layer : network.layers)
    flop += std::isnan(layer.forward_flop) ? 0 : layer.forward_flop;
  CHECK(flop == doctest::Approx(2 * 4.089e9).epsilon(0.001));  // multiply-adds of ResNet-50
  // Layers, optimizer and gaps are the trace's own step: the median of 181630, 123954, 126893, 126336,
  // 163531, 116146 us.
  CHECK(network.forward_s() + network.backward_s() + network.forward_gap_s + network.backward_gap_s ==
        doctest::Approx((126.893e-3 + 126.336e-3) / 2).epsilon(1e-9));
}

}  // namespace simsgd::test::traces_real_data
