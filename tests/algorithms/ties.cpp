// Methods in which who is first decides what is learned: the same models in every unit of time, where very
// much happens at the same instants.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/algorithms/wait_avoiding_support.hpp"
#include "tests/support/graphs.hpp"

namespace simsgd::test::algorithms_ties {

namespace {

const std::vector<double> kSteps_s = {1, 2, 3, 1, 4, 1, 6, 2};  // of computing, in units

/// Eight workers whose steps coincide at every whole unit; a message has half a unit of latency and 144
/// bytes, another half of a unit.
Job coinciding_job(const std::string& name, const Json& parameters, double unit, Fidelity fidelity) {
  Job job = paced_job(kSteps_s, 40);
  job.cluster.network = star(8, 0.5 * unit, 288 / unit);
  job.workload.layers.front().forward_s *= unit;
  job.workload.layers.front().backward_s *= unit;
  job.workload.layers.front().tensors = {36};
  job.network.fidelity = fidelity;
  job.graph = graph_of("ring", 8);
  add_learner(job, 16);
  use_algorithm(job, name, parameters);
  return job;
}

}  // namespace

TEST_CASE("all times times c: every worker ends with the same model, bit by bit") {
  const std::vector<std::pair<std::string, Json>> methods = {
      {"ad_psgd", {{"averagings_per_step", 2}}},
      {"wagma", {{"group_size", 4}, {"period", 5}}},
      {"wagma", {{"activation", "majority"}}},
      {"eager_sgd", Json::object()},
      {"sgp", Json::object()},
      {"nonblocking", {{"preempt", "drop"}, {"micro_batches", 4}}},
      {"nonblocking", {{"trigger", "kth"}, {"k", 7}, {"preempt", "drop"}, {"micro_batches", 4}}},
      {"nonblocking", {{"over", "d_psgd"}, {"preempt", "drop"}, {"micro_batches", 4}}}};
  for (const auto& [name, parameters] : methods)
    for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::messages}) {
      CAPTURE(name);
      CAPTURE(parameters.dump());
      CAPTURE(fidelity_name(fidelity));
      const auto models = [&, &method = name, &options = parameters](double unit) {
        return final_models([&] { return coinciding_job(method, options, unit, fidelity); });
      };
      const std::vector<double> seconds = models(1);
      for (const double unit : {1e-6, 1e-3, 0.7, 1e3}) {
        CAPTURE(unit);
        CHECK(models(unit) == seconds);
      }
    }
}

TEST_CASE("WAGMA: a worker that reaches a step at the instant at which it hears of it is fresh") {
  // Worker 0 takes 1 unit and activates; its message takes 1 unit without bytes; worker 1 takes 2. Both are
  // fresh in every step, in every unit: nothing is stale.
  for (const double unit : {1e-3, 0.1, 0.7, 1.0, 1e3}) {
    CAPTURE(unit);
    Job job = paced_job({1, 2}, 100);
    job.cluster.network = star(2, unit, 1e30);
    job.workload.layers.front().forward_s *= unit;
    job.workload.layers.front().backward_s *= unit;
    use_algorithm(job, "wagma", {{"group_size", 2}, {"period", 1000}});
    std::vector<double> oldest;
    for (const WorkerRecord& worker : simulate_job(job).workers) oldest.push_back(worker.staleness_max);
    CHECK(oldest == std::vector<double>{0, 0});
  }
}

}  // namespace simsgd::test::algorithms_ties
