// Non-blocking SGD: when a round ends, for each trigger and preemption, and who is accounted for what.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/algorithms/nonblocking_support.hpp"

namespace simsgd::test::algorithms_nonblocking_rounds {

namespace {

// Time of a round, and the share of its batch that each worker finished.
std::vector<double> round_of(const std::function<Job()>& make) {
  const Job job = make();
  const RunRecord record = simulate_job(job);
  std::vector<double> numbers = {record.end_s / static_cast<double>(job.stop.steps)};
  for (const WorkerRecord& worker : record.workers)
    numbers.push_back(worker.samples / (64 * static_cast<double>(job.stop.steps)));
  return numbers;
}

std::vector<double> round_of(const std::vector<double>& speeds, const Json& parameters) {
  return round_of([&] { return round_job(speeds, parameters, 3); });
}

using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("at equal times a completion comes before SYNC, and the next micro-batch has then begun") {
  // Micro-batches of 0.25 s and 0.5 s; SYNC at 1 s, when the slow worker ends its second one.
  CHECK(round_of({1, 0.5}, {{"micro_batches", 4}, {"preempt", "drop"}}) == Numbers{1.0, 1.0, 0.5});
  CHECK(round_of({1, 0.5}, {{"micro_batches", 4}, {"preempt", "finish"}}) == Numbers{1.5, 1.0, 0.75});
}

TEST_CASE("without a trigger, or with one micro-batch that is finished, everybody finishes") {
  CHECK(round_of({1, 0.5}, {{"micro_batches", 4}, {"trigger", "none"}}) == Numbers{2.0, 1.0, 1.0});
  CHECK(round_of({1, 0.5}, {{"micro_batches", 1}}) == Numbers{2.0, 1.0, 1.0});
}

TEST_CASE("the k-th finisher ends the round") {
  // Whole batches take 1, 2 and 4 s; micro-batches a quarter of it.
  const Json parameters = {{"micro_batches", 4}, {"trigger", "kth"}, {"preempt", "drop"}};
  CHECK(round_of({1, 0.5, 0.25}, with(parameters, {{"k", 1}})) == Numbers{1.0, 1.0, 0.5, 0.25});
  CHECK(round_of({1, 0.5, 0.25}, with(parameters, {{"k", 2}})) == Numbers{2.0, 1.0, 1.0, 0.5});
  CHECK(round_of({1, 0.5, 0.25}, with(parameters, {{"k", 3}})) == Numbers{4.0, 1.0, 1.0, 1.0});
}

TEST_CASE("a deadline ends the round at that time of it, or when all are through") {
  const Json parameters = {{"micro_batches", 4}, {"trigger", "deadline"}};
  // Ends of the micro-batches: 0.25, 0.5, 0.75, 1 s and 0.5, 1, ... s.
  CHECK(round_of({1, 0.5}, with(parameters, {{"deadline", 0.625}, {"preempt", "drop"}})) ==
        Numbers{0.625, 0.5, 0.25});
  CHECK(round_of({1, 0.5}, with(parameters, {{"deadline", 0.625}, {"preempt", "finish"}})) ==
        Numbers{1.0, 0.75, 0.5});
  CHECK(round_of({1, 0.5}, with(parameters, {{"deadline", "3 s"}})) == Numbers{2.0, 1.0, 1.0});
}

TEST_CASE("a worker that is delayed before its micro-batch hears SYNC all the same") {
  // A delay of 10 s at the beginning of the step; the other worker is through after 1 s.
  const auto late = [](const std::string& preempt) {
    return round_of([&] {
      Job job = round_job({1, 1}, {{"micro_batches", 4}, {"preempt", preempt}}, 3);
      add_straggler(job, {{"name", "constant"}, {"delay", 10}, {"workers", {1}}});
      return job;
    });
  };
  CHECK(late("drop") == Numbers{1.0, 1.0, 0.0});
  CHECK(late("finish") == Numbers{10.25, 1.0, 0.25});  // its delay is part of its first micro-batch
}

TEST_CASE("SYNC takes the latency of a message, and the round ends with the all-reduce of model and count") {
  // SYNC leaves at 1 s and takes 1 ms. Two workers, 36 parameters and the count, 4 bytes each, on 1 kB/s: a
  // ring is 2 steps of 1 ms and half of 148 bytes.
  const Numbers round = round_of([] {
    return round_job({1, 0.5}, {{"micro_batches", 4}, {"preempt", "drop"}}, 3, star(2, 1e-3, 1e3));
  });
  CHECK(round[0] == doctest::Approx(1 + 1e-3 + 2 * (1e-3 + 0.074)).epsilon(1e-9));
  CHECK(round[2] == 0.5);
}

TEST_CASE("the activities of every worker sum to its time, and dropped work is computing") {
  Job job = round_job({1, 0.4, 1}, {{"micro_batches", 8}, {"preempt", "drop"}}, 50, star(3, 1e-3, 1e3));
  add_straggler(job, {{"name", "exponential"}, {"mean", 0.05}, {"per", "micro_batch"}});
  add_straggler(job, {{"name", "constant"}, {"factor", 1.25}});
  const RunRecord record = simulate_job(job);
  Numbers parts;
  for (const WorkerRecord& worker : record.workers) {
    double sum = 0;
    for (const double seconds : worker.activity_s) sum += seconds;
    parts.push_back(sum / worker.end_s);
  }
  for (const double part : parts) CHECK(part == doctest::Approx(1).epsilon(1e-12));
}

}  // namespace simsgd::test::algorithms_nonblocking_rounds
