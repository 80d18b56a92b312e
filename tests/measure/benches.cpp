// Micro-benchmarks: what their tables hold, and that they are read as measurements.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/collectives/schedules.hpp"
#include "tests/measure/run_command.hpp"
#include "traces/import.hpp"

namespace simsgd::test::measure_benches {

namespace {

Measurements measured(int ranks, const std::string& arguments) {
  const Ran ran = run_ranks(ranks, SIMSGD_MEASURE_PROGRAM " " + arguments);
  INFO(ran.errors);
  REQUIRE(ran.code == 0);
  return import_text("samples.csv", ran.output, {});
}

}  // namespace

TEST_CASE("network: both directions, 2^k and 1.5 x 2^k, a row for each sample of each campaign") {
  const Ran ran = run_ranks(
      2, SIMSGD_MEASURE_PROGRAM " network --max-bytes 64 --samples 5 --campaigns 2 --apart 0 --seed 3");
  INFO(ran.errors);
  REQUIRE(ran.code == 0);
  const Measurements all = import_text("samples.csv", ran.output, {});
  // 1 2 3 4 6 8 12 16 24 32 48 64, there and back or both ways, twice.
  CHECK(all.rows.size() == 12 * 2 * 2);
  std::set<double> sizes;
  for (const Measurement& row : all.rows) {
    CHECK(row.samples == 5);
    CHECK(row.workers == 2);
    CHECK(row.nodes == 1);
    CHECK(row.value > 1e-8);
    if (row.operation == "ping_pong") sizes.insert(row.bytes);
  }
  CHECK(sizes == std::set<double>{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64});
  // Sizes do not come in order, nor in one order twice.
  std::vector<double> first, second;
  for (const Measurement& row : all.rows) (row.campaign == "1" ? first : second).push_back(row.bytes);
  CHECK(!std::is_sorted(first.begin(), first.end()));
  CHECK(first != second);
}

TEST_CASE("collectives: every schedule that the simulation has, and MPI's own, for 2 and for 3 ranks") {
  const Measurements all = measured(3, "collectives --min-bytes 1KiB --max-bytes 1KiB --samples 2");
  std::set<std::string> seen;
  for (const Measurement& row : all.rows)
    seen.insert(row.operation + " " + row.labels.at("schedule") + " " + std::to_string(row.workers));
  for (const SchedulePlugin& plugin : schedule_plugins())
    for (const char* workers : {" 2", " 3"}) {
      CAPTURE(plugin.info.name);
      const bool halves = plugin.info.name == "recursive_halving";  // of powers of two alone
      CHECK(seen.contains(op_name(plugin.op) + " " + plugin.info.name + workers) ==
            !(halves && std::string(workers) == " 3"));
      CHECK(seen.contains(op_name(plugin.op) + " mpi" + workers));
    }
}

TEST_CASE("compute: kernels of all kinds at every rank, and the layers of a scenario's learner") {
  const Ran ran = run_command(
      SIMSGD_MEASURE_PROGRAM " compute - --samples 1",
      R"({"name": "x", "cluster": {"use": "clusters/infiniband-100g.json", "workers": 1}, "workload": "self",
          "learner": {"model": {"name": "mlp", "hidden": [5]}, "batch": 8,
                      "data": {"name": "gaussian_mixture", "features": 8, "classes": 4, "samples": 64}},
          "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 1}})");
  INFO(ran.errors);
  REQUIRE(ran.code == 0);
  std::map<std::string, int> kernels;
  std::set<std::string> products;
  for (const Measurement& row : import_text("samples.csv", ran.output, {}).rows) {
    const auto label = [&](const char* name) {
      const auto found = row.labels.find(name);
      return found == row.labels.end() ? std::string() : found->second;
    };
    ++kernels[label("kernel")];
    CHECK(row.operation.empty());
    if (!label("layer").empty() && label("kernel") == "layer_forward")
      products.insert(label("rows") + "x" + label("inner") + "x" + label("columns"));
  }
  for (const char* kernel :
       {"gemm", "select", "add", "fp16", "bf16", "bits_8", "inverse", "qr", "gradient", "factors"})
    CHECK(kernels[kernel] > 0);
  CHECK(products == std::set<std::string>{"5x8x8", "4x5x8"});
}

TEST_CASE("what cannot be measured is said before anything is, all of it") {
  const Ran one = run_command(SIMSGD_MEASURE_PROGRAM " network");
  CHECK(one.code == 2);
  CHECK(one.errors ==
        "mpirun: starts a single rank, and messages need two. Found: 1. Use mpirun -n 2 or more.\n");
  CHECK(run_command(SIMSGD_MEASURE_PROGRAM " network --min-bytes 8 --max-bytes 4").errors ==
        "--min-bytes: is more than --max-bytes. Found: 8. Use a smaller size.\n");
  CHECK(run_command(SIMSGD_MEASURE_PROGRAM " network --max-bytes 4furlongs").code == 2);
  const Ran names = run_ranks(2, SIMSGD_MEASURE_PROGRAM " collectives --op all_reduce,sum --schedule rings");
  CHECK(names.code == 2);
  CHECK(names.output.empty());
  CHECK(names.errors.find("--op: is not an operation. Found: sum.") != std::string::npos);
  CHECK(names.errors.find("--schedule: is not a schedule. Found: rings.") != std::string::npos);
}

}  // namespace simsgd::test::measure_benches
