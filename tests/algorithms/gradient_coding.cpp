// Gradient coding learns what synchronous SGD learns, and waits for one worker of each block; what it sends.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "tests/algorithms/model_workers.hpp"
#include "tests/algorithms/wait_avoiding_support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::algorithms_gradient_coding {

using doctest::Approx;

namespace {

/// Four workers of these speeds, 36 numbers, 1 s for a mini-batch.
Job job_at(const std::vector<double>& speeds, int stragglers, std::uint64_t steps) {
  Job job = learning_job(4, "gradient_coding", {{"stragglers", stragglers}}, steps, 0.9);
  job.workload.layers.front().forward_s = 0.25;
  job.workload.layers.front().backward_s = 0.75;
  job.cluster.node_speed = speeds;
  return job;
}

constexpr double kLatency_s = 1e-6, kNumbers_s = 144e-9;  // of a message: 144 bytes at 1e9 B/s

}  // namespace

TEST_CASE("gradient_coding applies the mean of all gradients, whatever the number of stragglers") {
  for (const int stragglers : {0, 1, 3}) {
    CAPTURE(stragglers);
    const Job job = learning_job(4, "gradient_coding", {{"stragglers", stragglers}});
    Workers workers(job);
    workers.step_by_means();
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[3]);
    workers.check_against(result);
  }
}

TEST_CASE("whoever is late, models are those of allreduce_sgd, momentum and all") {
  const auto expected = run_fake(learning_job(4, "allreduce_sgd", Json::object(), 20, 0.9)).models.front();
  for (const std::vector<double>& speeds :
       {std::vector<double>{1, 1, 1, 0.1}, {0.1, 1, 1, 0.7}, {0.3, 1, 1, 0.9}, {1, 0.2, 0.2, 1}}) {
    CAPTURE(speeds[0]);
    const std::vector<double> models = final_models([&] { return job_at(speeds, 1, 20); });
    for (std::size_t i = 0; i < models.size(); ++i)
      CHECK(std::abs(models[i] - static_cast<double>(expected[i % 36])) < 1e-6);
  }
}

TEST_CASE("a step takes s + 1 mini-batches of the faster worker of the slowest block, and two messages") {
  const auto step_s = [](const std::vector<double>& speeds, int stragglers) {
    const RunRecord record = simulate_job(job_at(speeds, stragglers, 5));
    for (const WorkerRecord& worker : record.workers) {
      CHECK(worker.steps == 5);
      CHECK(worker.samples == 5);  // the workload's batch is one
    }
    return record.end_s / 5;
  };
  // The model goes to three workers at once.
  const double back_s = kLatency_s + 3 * kNumbers_s;
  // Worker 3 is late: those of 1 and 2 come together.
  CHECK(step_s({1, 1, 1, 0.1}, 1) == Approx(2 + kLatency_s + 2 * kNumbers_s + back_s).epsilon(1e-9));
  // The whole second block is: its faster worker's comes alone.
  CHECK(step_s({1, 1, 0.5, 0.25}, 1) == Approx(4 + kLatency_s + kNumbers_s + back_s).epsilon(1e-9));
  // With s = 3 one worker is enough, here the master's, which goes on at once; with s = 0 all are needed.
  CHECK(step_s({1, 0.5, 0.5, 0.5}, 3) == Approx(4 + back_s / 5).epsilon(1e-9));
  CHECK(step_s({1, 1, 1, 0.1}, 0) == Approx(10 + kLatency_s + kNumbers_s + back_s).epsilon(1e-9));
}

TEST_CASE("gradient_coding sends the model to rank 0 and back, and nothing of who is late") {
  Job job = job_at({1, 1, 1, 0.1}, 1, 6);
  job.workload.layers.front().tensors = {1'000'000};
  const RunRecord record = simulate_job(job);
  const auto sent = [&record](std::size_t rank, Traffic traffic) {
    return sent_bytes(record.workers[rank], traffic) / 4e6;
  };
  CHECK(sent(0, Traffic::gradient) == 0);
  CHECK(sent(0, Traffic::model) == 6 * 3);
  CHECK(sent(1, Traffic::gradient) == 6);
  CHECK(sent(2, Traffic::gradient) == 6);
  CHECK(sent(2, Traffic::model) == 0);
  CHECK(sent(3, Traffic::gradient) == 0);
}

}  // namespace simsgd::test::algorithms_gradient_coding
