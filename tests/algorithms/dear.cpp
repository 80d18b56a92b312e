// DeAR learns what Allreduce-SGD learns, one update later, and hides its gathers behind the forward pass.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/learn/optimizers/registry.hpp"
#include "tests/algorithms/model_workers.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test::algorithms_dear {

using doctest::Approx;

namespace {

/// Three layers, one without parameters; four workers.
Job layered_job(const std::string& method, const Json& parameters, std::uint64_t steps) {
  Job job = learning_job(4, method, parameters, steps, 0.9);
  give_three_layers(job, 1, 2);
  job.optimizer.learning_rate.warmup_steps = 10;  // which step's rate an update has is seen
  use_algorithm(job, method, parameters);
  return job;
}

}  // namespace

TEST_CASE("dear: gradients are those of allreduce_sgd, and its model is that after one step less") {
  for (const char* fusion : {"none", "threshold", "all"}) {
    CAPTURE(fusion);
    const FakeResult dear = run_fake(layered_job("dear", {{"fusion", fusion}}, kSteps));
    const FakeResult whole = run_fake(layered_job("allreduce_sgd", {{"fusion", fusion}}, kSteps));
    const FakeResult less = run_fake(layered_job("allreduce_sgd", {{"fusion", fusion}}, kSteps - 1));
    CHECK(dear.models[0] == dear.models[3]);
    CHECK(worst_difference(dear.models[0], less.models[0]) < 1e-6);
    CHECK(worst_difference(dear.losses, whole.losses) < 1e-6);
  }
}

TEST_CASE("dear: scatters follow the backward pass, gathers go ahead of the forward pass") {
  // Four equal layers of 1 MB and a ring of four at 1 GB/s: each half of an all-reduce takes h = 3 (a + 250
  // us).
  const auto run = [](const std::string& method, double forward_s, double backward_s) {
    Job job = scripted_job(star(4, 1e-5, 1e9), nullptr);
    give_layers(job, 4, 250e3, forward_s, backward_s);
    use_rings(job);
    use_algorithm(job, method, {{"fusion", "none"}});
    job.stop.steps = 6;
    const RunRecord record = simulate_job(job);
    return std::vector<double>{record.end_s, sent_bytes(record.workers[0], Traffic::gradient)};
  };
  const double h = 3 * (1e-5 + 250e-6);
  // Computing is short: the ring is busy but for the last layer's forward and first backward pass.
  const double f = 1e-4, b = 2e-4;
  CHECK(run("dear", f, b)[0] == Approx(4 * f + b + 4 * h + 5 * (4 * h + f + b + 4 * h)).epsilon(1e-9));
  // It is long: the first layer's halves are seen, whatever their order.
  CHECK(run("dear", 1e-2, 1e-2)[0] == Approx(6 * (8e-2 + h) + 5 * h).epsilon(1e-9));
  CHECK(run("allreduce_sgd", f, b)[0] == Approx(6 * (4 * f + b + 4 * 2 * h)).epsilon(1e-9));
  // Its last step's gathers are still on their way.
  CHECK(run("dear", f, b)[1] == Approx(6 * 2 * 0.75 * 4e6).epsilon(1e-12));
}

}  // namespace simsgd::test::algorithms_dear
