// How much memory a worker takes where all do the same: 2^20 of them fit 8 GB.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <string>

#include "analysis/runs/child_pool.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/scenarios/support.hpp"

// Sanitizers take memory of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace simsgd::test::engine_many_workers {

namespace {

Json scenario_of(int workers) {
  Json scenario = small_scenario();
  scenario["cluster"]["workers"] = workers;
  scenario["stragglers"] = {{{"name", "lognormal"}, {"mean", "1 ms"}, {"sigma", 0.7}}};
  scenario["stop"] = {{"steps", 3}};
  return scenario;
}

/// Most bytes that a process takes which loads and runs the scenario.
double peak_bytes(int workers) {
  const Folder folder;
  const std::string path = folder.write_json("s.json", scenario_of(workers));
  double bytes = 0;
  run_in_children(
      1, {.jobs = 1, .timeout_s = std::nullopt, .interrupted = {}, .tick = {}},
      [&](std::size_t) {
        const Job job = make_job(load_scenario(path));
        const SimulationResult result = simulate(job, {});
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return std::to_string(
            result.record.workers.size() == static_cast<std::size_t>(workers) ? usage.ru_maxrss : 0);
      },
      [&](std::size_t, const ChildEnd& end) {
        REQUIRE(end.kind == ChildEnd::Kind::answered);
        bytes = 1024 * std::stod(end.text);
      });
  return bytes;
}

}  // namespace

TEST_CASE("2^20 workers that do the same take less than 8 GB: counted from 30,000 to 90,000 of them") {
  const double few = peak_bytes(30000), many = peak_bytes(90000);
  REQUIRE(few > 0);
  const double each_bytes = (many - few) / 60000;
  MESSAGE(each_bytes);
  CHECK(each_bytes > 500);
  CHECK(each_bytes * kMostWorkers < 8e9);
}

}  // namespace simsgd::test::engine_many_workers

#endif
