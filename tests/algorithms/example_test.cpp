// The example of docs/algorithms.md is tested as the page says: what it computes on a cluster without time,
// and what it takes in the simulation. And the page shows these two files, word for word.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "algorithms/plugin.hpp"
#include "sim/record.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::algorithms {
std::vector<AlgorithmPlugin> signum();
}

namespace simsgd::test::algorithms_example {

using doctest::Approx;

namespace {

void use_signum(Job& job, double momentum) {
  const AlgorithmPlugin plugin = algorithms::signum().front();
  job.algorithm = plugin.make({{"momentum", momentum}},
                              {.workers = job.workers(), .workload = &job.workload, .cluster = &job.cluster});
}

/// Three workers that learn 36 numbers, at a learning rate of 0.05.
Job learning_job(std::uint64_t steps) {
  Job job = scripted_job(star(3, 1e-6, 1e9), nullptr, 36);
  add_learner(job, 16);
  job.optimizer.rule = sgd_rule(0);
  job.stop.steps = steps;
  return job;
}

/// Each worker's gradient at the first parameters.
std::vector<std::vector<float>> first_gradients() {
  std::vector<std::vector<float>> all(3);
  Job job = learning_job(1);
  job.algorithm = std::make_unique<ScriptedAlgorithm>([&all](Worker& worker) {
    worker.next_step();
    const Tensor gradient = worker.compute().gradient();
    all[static_cast<std::size_t>(worker.rank())] = worker.executor().get(gradient).values;
    worker.next_step();
  });
  run_fake(job);
  return all;
}

}  // namespace

TEST_CASE("signum: every number moves by the learning rate, as two of three workers say") {
  Job job = learning_job(1);
  use_signum(job, 0.9);
  const std::vector<float> before = job.learner->initial_parameters();
  const FakeResult after = run_fake(job);
  const std::vector<std::vector<float>> gradients = first_gradients();
  REQUIRE(before.size() == 36);
  for (std::size_t k = 0; k < before.size(); ++k) {
    CAPTURE(k);
    const int against =
        std::signbit(gradients[0][k]) + std::signbit(gradients[1][k]) + std::signbit(gradients[2][k]);
    const float expected = before[k] - 0.05F * (against >= 2 ? -1.0F : 1.0F);
    CHECK(after.models[0][k] == Approx(expected).epsilon(1e-6));
    CHECK(after.models[1][k] == after.models[0][k]);
    CHECK(after.models[2][k] == after.models[0][k]);
  }
}

TEST_CASE("signum: it learns, and a worker mostly agrees with the majority") {
  Job job = learning_job(60);
  use_signum(job, 0.9);
  Notebook notebook;
  const FakeResult result = run_fake(job, {&notebook});
  CHECK(result.losses[0].back() < 0.7 * result.losses[0].front());
  RunRecord record;
  notebook.fill(record);
  CHECK(record.extra.at("agreement_with_majority") > 0.5);
  CHECK(record.extra.at("agreement_with_majority") <= 1);
}

TEST_CASE("signum: a step is its passes, its kernels and two exchanges of one bit per parameter") {
  Job job = scripted_job(star(4, 1e-5, 1e9), nullptr, 8e6);
  job.workload.layers.front().forward_s = 1e-3;
  job.workload.layers.front().backward_s = 2e-3;
  job.cluster.device.memory_Bps = 1e11;
  use_signum(job, 0.9);
  const RunRecord record = simulate_job(job);
  // N = 8e6 numbers. Kernels read and write 8 N + 4 N for the mean, 4 N + N/8 for the signs, N/8 + N/32 for
  // the votes, N/8 + 4 N to unpack them. Each exchange of N/8 = 1 MB is 3 x (10 us + 250 kB / 1 GB/s).
  const double kernels_s = 8e6 * (12 + 4.125 + 0.15625 + 4.125) / 1e11;
  CHECK(record.end_s == Approx(3e-3 + kernels_s + 2 * 3 * (1e-5 + 2.5e-4)).epsilon(1e-9));
  CHECK(sent_bytes(record.workers[0], Traffic::gradient) == Approx(2 * 0.75 * 1e6).epsilon(1e-12));
}

TEST_CASE("signum: a replica, the mean that it keeps, and three bits per parameter") {
  Job job = learning_job(1);
  use_signum(job, 0);
  const auto parts =
      job.algorithm->memory({.workload = job.workload, .optimizer = job.optimizer, .workers = 3});
  REQUIRE(parts.size() == 5);
  CHECK(parts[3].name == "running mean");
  CHECK(parts[3].bytes == 4 * 36);
  CHECK(parts[4].bytes == 3 * 36 / 8.0);
}

namespace {

/// The code blocks of a page in this language, in order.
std::vector<std::string> blocks_of(const std::string& page, const std::string& language) {
  std::vector<std::string> blocks;
  bool inside = false;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!inside && line == "```" + language) {
      inside = true;
      blocks.emplace_back();
    } else if (line.starts_with("```")) {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

std::string source(const std::string& name) { return contents(std::string(SIMSGD_SOURCE_DIR) + "/" + name); }

}  // namespace

TEST_CASE("docs/algorithms.md shows the example whole, and its tests as they are") {
  const std::string page = source("docs/algorithms.md");
  const std::string method = source("tests/algorithms/example_method.cpp");
  const std::string tests = source("tests/algorithms/example_test.cpp");
  const std::vector<std::string> blocks = blocks_of(page, "cpp");
  std::string whole;
  for (const std::string& block : blocks) {
    CAPTURE(block);
    const bool of_method = method.find(block) != std::string::npos;
    const bool of_tests = tests.find(block) != std::string::npos;
    CHECK((of_method || of_tests));
    if (of_method) whole += (whole.empty() ? "" : "\n") + block;
  }
  CHECK(whole == method);
}

TEST_CASE("docs/worker.md names every role, activity and kind of traffic") {
  const std::string page = source("docs/worker.md");
  for (const char* role : {"replica()", "compute()", "messages()", "collectives()", "background()",
                           "preemption()", "record()"}) {
    CAPTURE(role);
    CHECK(page.find(std::string("`") + role + "`") != std::string::npos);
  }
  for (const ActivityInfo& each : activities()) {
    CAPTURE(each.name);
    CHECK(page.find(each.name) != std::string::npos);
  }
  for (const TrafficInfo& each : traffics()) {
    CAPTURE(each.name);
    CHECK(page.find(each.name) != std::string::npos);
  }
}

}  // namespace simsgd::test::algorithms_example
