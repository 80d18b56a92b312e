// The measurements beside the project, every row of them; skipped, visibly, where they are not there.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/traces/imports.hpp"

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
  CHECK(understood(rings) == "132 rows that \"where\" leaves out");
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

}  // namespace simsgd::test::traces_real_data
