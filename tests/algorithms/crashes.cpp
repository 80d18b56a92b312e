// Two workers crash and return, whatever the method: the run ends, what is counted is what was done, and
// nothing is lost or used twice. Where others wait, a crash costs time and changes no value.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "algorithms/plugin.hpp"
#include "tests/algorithms/recorded_scenarios.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_crashes {

namespace {

/// What each rank used: the steps whose gradients it took, in order.
class UsedGradients final : public Observer {
 public:
  explicit UsedGradients(int workers)
      : steps(static_cast<std::size_t>(workers)), samples(static_cast<std::size_t>(workers), 0.0) {}
  void gradient_used(int rank, std::uint64_t step, const Tensor&, double of_samples) override {
    steps[static_cast<std::size_t>(rank)].push_back(step);
    samples[static_cast<std::size_t>(rank)] += of_samples;
  }
  std::vector<std::vector<std::uint64_t>> steps;
  std::vector<double> samples;
};

struct Crashed {
  RunRecord record;
  std::vector<std::vector<std::uint64_t>> used;
  std::vector<double> samples;
  double crashes = 0;
  bool needs_others = true;
};

/// Methods whose values depend on who is late.
const std::set<std::string> kByTime = {"ad_psgd",     "async_local_sgd", "decoupled_diloco",
                                       "dropcompute", "eager_sgd",       "gradient_coding",
                                       "halos",       "nonblocking",     "wagma"};

/// Worker 2 crashes in its third step or so and the last one later; of one worker that one, once.
Crashed run(Json scenario, bool crash, int threads = 1) {
  const int workers = scenario["cluster"].value("workers", 8);
  Json crashes = {{{"worker", std::min(2, workers - 1)}, {"time", "0.1 s"}}};
  if (workers > 1) crashes.push_back({{"worker", workers - 1}, {"time", "0.22 s"}});
  if (crash) scenario["failures"] = {{"crashes", crashes}, {"restart", "0.2 s"}, {"checkpoint_every", 3}};
  const Job job = job_of(scenario);
  UsedGradients used(job.workers());
  Crashed result;
  result.needs_others = job.algorithm->needs_others();
  result.record = simulate_job(job, threads, {&used});
  result.used = used.steps;
  result.samples = used.samples;
  if (crash) result.crashes = result.record.extra.at("crashes");
  return result;
}

}  // namespace

TEST_CASE(
    "after two crashes every method has done all steps, each once, and a second run, on three threads, is the same") {
  for (const auto& [name, scenarios] : scenarios_by_algorithm())
    for (const Json& scenario : scenarios) {
      if (scenario.contains("target")) continue;  // which ends it
      CAPTURE(scenario["algorithm"].dump());
      const Crashed once = run(scenario, true), again = run(scenario, true, 3);
      CHECK(once.crashes == std::min<std::size_t>(2, once.record.workers.size()));
      const double workers = static_cast<double>(once.record.workers.size());
      double steps = 0;
      for (std::size_t rank = 0; rank < once.record.workers.size(); ++rank) {
        CAPTURE(rank);
        const WorkerRecord& worker = once.record.workers[rank];
        steps += static_cast<double>(worker.steps);
        const double booked_s = std::accumulate(worker.activity_s.begin(), worker.activity_s.end(), 0.0);
        CHECK(booked_s == doctest::Approx(worker.end_s).epsilon(1e-12));
        if (once.needs_others) CHECK(worker.steps == 8);
        CHECK(std::is_sorted(once.used[rank].begin(), once.used[rank].end()));
      }
      CHECK(steps == 8 * workers);
      const std::vector<double> losses = losses_of(once.record);
      CHECK(std::all_of(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); }));
      CHECK(losses == losses_of(again.record));
      CHECK(once.record.end_s == again.record.end_s);
      CHECK(once.used == again.used);
    }
}

TEST_CASE("where others wait, crashes cost their time and change no loss") {
  for (const auto& entry : scenarios_by_algorithm()) {
    const std::string& name = entry.first;
    const std::vector<Json>& scenarios = entry.second;
    if (kByTime.contains(name)) continue;
    CAPTURE(name);
    const Crashed with = run(scenarios.front(), true), without = run(scenarios.front(), false);
    CHECK(with.needs_others);
    CHECK(losses_of(with.record) == losses_of(without.record));
    CHECK(with.used == without.used);
    // One restart at least, where both are at once. ByteScheduler's next forward pass waits for messages for
    // longer than that.
    if (name == "bytescheduler")
      CHECK(with.record.end_s >= without.record.end_s);
    else
      CHECK(with.record.end_s > without.record.end_s + 0.2);
  }
}

TEST_CASE("where others wait, a cluster without time computes the same losses, as each fidelity does") {
  for (const auto& entry : scenarios_by_algorithm())
    for (const Json& scenario : entry.second) {
      // Servers with a mode take gradients as they come.
      if (kByTime.contains(entry.first) || scenario["algorithm"].contains("mode")) continue;
      if (scenario.contains("target")) continue;  // which ends it
      CAPTURE(scenario["algorithm"].dump());
      const FakeResult fake = run_fake(job_of(scenario));
      std::vector<double> mean(fake.losses.front().size(), 0.0);
      for (const std::vector<double>& losses : fake.losses)
        for (std::size_t i = 0; i < mean.size(); ++i)
          mean[i] += losses.at(i) / static_cast<double>(fake.losses.size());
      for (const Fidelity fidelity :
           {Fidelity::automatic, Fidelity::steps, Fidelity::flows, Fidelity::messages}) {
        CAPTURE(fidelity_name(fidelity));
        Job job = job_of(scenario);
        job.network.fidelity = fidelity;
        CHECK(worst_relative_difference(losses_of(simulate_job(job)), mean) < 1e-12);
      }
    }
}

TEST_CASE("where others do not wait, each gradient is used once all the same") {
  for (const char* name :
       {"ad_psgd", "async_local_sgd", "decoupled_diloco", "eager_sgd", "gradient_coding", "halos", "wagma"}) {
    CAPTURE(name);
    const Json scenario = scenarios_by_algorithm()[name].front();
    const Crashed with = run(scenario, true), without = run(scenario, false);
    for (std::size_t rank = 0; rank < with.used.size(); ++rank) {
      CAPTURE(rank);
      const std::vector<std::uint64_t>& steps = with.used[rank];
      // Steps 1, 2, ... without a gap or a repetition; one more may be on its way at the end.
      for (std::size_t i = 0; i < steps.size(); ++i) CHECK(steps[i] == i + 1);
      const auto done = static_cast<std::size_t>(with.record.workers[rank].steps);
      CHECK(steps.size() >= done);
      CHECK(steps.size() <= done + 1);
    }
    CHECK(with.record.end_s < without.record.end_s + 0.2 + 0.2);
  }
}

}  // namespace simsgd::test::algorithms_crashes
