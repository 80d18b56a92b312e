// Allreduce-SGD and local SGD: what they compute, on a cluster without time and in the simulation.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "algorithms/merged_messages.hpp"
#include "sim/learn/optimizers/registry.hpp"
#include "tests/algorithms/model_workers.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test::algorithms_synchronous {

namespace {

Job job_of_batches(int workers, int batch, const std::string& algorithm, const Json& parameters,
                   std::uint64_t steps) {
  Job job = scripted_job(star(workers, 1e-6, 1e9), nullptr, 36);
  job.workload.layers.front().tensors = {20, 10, 6};  // three messages, with fusion off
  job.workload.layers.front().forward_s = 1e-3;
  job.workload.layers.front().backward_s = 2e-3;
  add_learner(job, batch);
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = steps;
  return job;
}

}  // namespace

TEST_CASE("Allreduce-SGD over P workers of batch b gives the loss curve of one worker of batch P b") {
  const auto one = losses_of(simulate_job(job_of_batches(1, 64, "allreduce_sgd", Json::object(), 100)));
  REQUIRE(one.size() == 100);
  CHECK(one.back() < 0.5 * one.front());  // it learns
  for (const int workers : {2, 8}) {
    for (const char* fusion : {"none", "threshold", "all"}) {
      CAPTURE(workers);
      CAPTURE(fusion);
      const auto many = losses_of(
          simulate_job(job_of_batches(workers, 64 / workers, "allreduce_sgd", {{"fusion", fusion}}, 100)));
      CHECK(worst_relative_difference(many, one) < 1e-5);
    }
  }
}

TEST_CASE("local SGD with period 1 gives the loss curve of Allreduce-SGD") {
  const auto synchronous =
      losses_of(simulate_job(job_of_batches(4, 16, "allreduce_sgd", Json::object(), 100)));
  const auto local = losses_of(simulate_job(job_of_batches(4, 16, "local_sgd", {{"period", 1}}, 100)));
  CHECK(worst_relative_difference(local, synchronous) < 1e-5);
}

TEST_CASE("local SGD with a longer period gives another curve, and its models agree after each averaging") {
  const auto synchronous =
      losses_of(simulate_job(job_of_batches(4, 16, "allreduce_sgd", Json::object(), 50)));
  const auto local = losses_of(simulate_job(job_of_batches(4, 16, "local_sgd", {{"period", 10}}, 50)));
  CHECK(worst_relative_difference(local, synchronous) > 1e-3);
  const FakeResult at_averaging = run_fake(job_of_batches(4, 16, "local_sgd", {{"period", 10}}, 50));
  CHECK(at_averaging.models[0] == at_averaging.models[3]);
  const FakeResult between = run_fake(job_of_batches(4, 16, "local_sgd", {{"period", 10}}, 55));
  CHECK(between.models[0] != between.models[3]);
}

// DeAR learns what Allreduce-SGD learns, one update later, and hides its gathers behind the forward pass.

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

TEST_CASE("dear: gradients and the model after the last of them are those of allreduce_sgd") {
  for (const char* fusion : {"none", "threshold", "all"}) {
    CAPTURE(fusion);
    const FakeResult dear = run_fake(layered_job("dear", {{"fusion", fusion}}, kSteps));
    const FakeResult whole = run_fake(layered_job("allreduce_sgd", {{"fusion", fusion}}, kSteps));
    CHECK(dear.models[0] == dear.models[3]);
    CHECK(worst_difference(dear.models[0], whole.models[0]) < 1e-6);
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
  CHECK(run("dear", f, b)[0] == Approx(6 * (4 * h + f + b + 4 * h) + 3 * f).epsilon(1e-9));
  // It is long: the first layer's halves are seen, whatever their order, and all gathers of the last step.
  CHECK(run("dear", 1e-2, 1e-2)[0] == Approx(6 * (8e-2 + h) + (5 + 4) * h).epsilon(1e-9));
  CHECK(run("allreduce_sgd", f, b)[0] == Approx(6 * (4 * f + b + 4 * 2 * h)).epsilon(1e-9));
  CHECK(run("dear", f, b)[1] == Approx(6 * 2 * 0.75 * 4e6).epsilon(1e-12));
}

// MG-WFBP learns what Allreduce-SGD learns, merges as its rule says, and sends each gradient once.

namespace {

/// When the last message has ended: each leaves when its last part is ready and the one before is through.
double end_of(const std::vector<ReadyPart>& parts, const GroupSizes& groups, const FusionCost& cost) {
  double free_s = 0;
  std::size_t next = 0;
  for (const std::size_t size : groups) {
    double elements = 0;
    for (std::size_t i = 0; i < size; ++i) elements += parts[next++].elements;
    free_s = std::max(free_s, parts[next - 1].ready_s) + cost.latency_s + elements * cost.per_element_s;
  }
  return free_s;
}

/// Bit i of `cuts`: a message ends behind part i.
GroupSizes cut(std::size_t parts, unsigned cuts) {
  GroupSizes groups = {1};
  for (std::size_t i = 0; i + 1 < parts; ++i)
    if (cuts >> i & 1U)
      groups.push_back(1);
    else
      ++groups.back();
  return groups;
}

/// Three layers, one without parameters.
Job layered_job(const Json& parameters) {
  Job job = learning_job(4, "mg_wfbp", parameters);
  give_three_layers(job, 1, 2);
  use_algorithm(job, "mg_wfbp", parameters);
  return job;
}

}  // namespace

TEST_CASE("mg_wfbp is SGD with the mean gradient, however it merges") {
  for (const Json& parameters :
       {Json::object(), Json{{"merging", "best"}}, Json{{"latency", 0}, {"per_byte", 1}},
        Json{{"latency", 1}, {"per_byte", 0}}}) {
    CAPTURE(parameters.dump());
    const Job job = layered_job(parameters);
    Workers workers(job);
    workers.step_by_means();
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[3]);
    workers.check_against(result);
  }
}

TEST_CASE(
    "the best merging is the best of all; the published one is that in half of the cases, and never later than none") {
  Stream stream({9, Purpose::algorithm, 0, 1});
  int found = 0;
  for (int example = 0; example < 400; ++example) {
    CAPTURE(example);
    const FusionCost cost{.latency_s = stream.uniform(), .per_element_s = stream.uniform()};
    std::vector<ReadyPart> parts;
    double now_s = 0;
    for (int i = 0; i < 8; ++i) {
      now_s += stream.uniform() * (example % 3 == 0 ? 3 : 0.5);
      parts.push_back({now_s, stream.uniform()});
    }
    double best_s = INFINITY;
    for (unsigned cuts = 0; cuts < 128; ++cuts) best_s = std::min(best_s, end_of(parts, cut(8, cuts), cost));
    const double published_s = end_of(parts, merged_groups(parts, cost), cost);
    CHECK(end_of(parts, best_groups(parts, cost), cost) == Approx(best_s).epsilon(1e-12));
    CHECK(published_s <= end_of(parts, separate_groups(8), cost) + 1e-12);
    CHECK(published_s <= end_of(parts, {8}, cost) + 1e-12);
    found += published_s <= best_s + 1e-12 ? 1 : 0;
  }
  CHECK(found == Approx(200).epsilon(0.2));
  CHECK(best_groups({}, {}).empty());
}

TEST_CASE(
    "mg_wfbp: a step ends when its rule says, between a tensor at a time and all at once, and sends the model once") {
  // Eight layers of one tensor; a ring of four at 1 GB/s with 50 us for each of its six steps: t = 0.3 ms
  // + 1.5 ns a byte.
  const std::vector<double> numbers = {1e4, 2e4, 1e6, 5e3, 4e5, 1e4, 1e4, 3.1e5};
  const auto run = [&](const std::string& method, const Json& parameters) {
    Job job = scripted_job(star(4, 50e-6, 1e9), nullptr);
    job.workload.layers.clear();
    for (const double each : numbers) {
      Layer& layer = job.workload.layers.emplace_back();
      layer.tensors = {each};
      layer.forward_s = 0.2e-3;
      layer.backward_s = 0.4e-3;
    }
    use_rings(job);
    use_algorithm(job, method, parameters);
    job.stop.steps = 3;
    const RunRecord record = simulate_job(job);
    return std::vector<double>{record.end_s, sent_bytes(record.workers[0], Traffic::gradient)};
  };
  const FusionCost cost{.latency_s = 6 * 50e-6, .per_element_s = 6.0 / 4 * 4 / 1e9};
  std::vector<ReadyPart> parts;
  for (std::size_t i = 0; i < 8; ++i) parts.push_back({0.4e-3 * static_cast<double>(i + 1), numbers[7 - i]});
  double sum = 0;
  for (const double each : numbers) sum += each;
  for (const char* merging : {"published", "best"}) {
    CAPTURE(merging);
    const GroupSizes groups =
        std::string(merging) == "best" ? best_groups(parts, cost) : merged_groups(parts, cost);
    CHECK(groups.size() > 1);
    CHECK(groups.size() < 8);
    const std::vector<double> seen = run("mg_wfbp", {{"merging", merging}});
    CHECK(seen[0] == Approx(3 * (8 * 0.2e-3 + end_of(parts, groups, cost))).epsilon(1e-9));
    CHECK(seen[1] == Approx(3 * 1.5 * 4 * sum).epsilon(1e-12));
    CHECK(seen[0] < run("allreduce_sgd", {{"fusion", "none"}})[0]);
    CHECK(seen[0] < run("allreduce_sgd", {{"fusion", "all"}})[0]);
    // With its own numbers the rule is free to merge otherwise.
    CHECK(run("mg_wfbp", {{"merging", merging}, {"latency", 1}})[0] ==
          Approx(run("allreduce_sgd", {{"fusion", "all"}})[0]).epsilon(1e-12));
  }
}

// ByteScheduler learns what Allreduce-SGD learns, sends every part once, and in the order of a model of its
// queue.

namespace {

/// The queue of rank 0 and one channel, all ranks alike. A layer has one tensor.
class Model {
 public:
  /// An all-reduce takes latency_s + bytes s_per_byte; everybody has heard of a call after hear_s.
  Model(double partition, double credit, double hear_s, double latency_s, double s_per_byte)
      : partition_(partition),
        credit_(credit),
        hear_s_(hear_s),
        latency_s_(latency_s),
        s_per_byte_(s_per_byte) {}

  double steps_s(const std::vector<double>& layer_bytes, double forward_s, double backward_s, int steps) {
    std::vector<std::size_t> first = {0};
    for (const double bytes : layer_bytes) {
      for (double cut = 0; cut < bytes; cut += partition_) size_.push_back(std::min(partition_, bytes - cut));
      first.push_back(size_.size());
    }
    end_s_.assign(size_.size(), 0);  // of the step before; infinite: not started
    for (int step = 0; step < steps; ++step) {
      for (std::size_t layer = 0; layer < layer_bytes.size(); ++layer) {
        wait(first[layer], first[layer + 1]);
        advance(now_s_ += forward_s);
      }
      for (std::size_t layer = layer_bytes.size(); layer-- > 0;) {
        advance(now_s_ += backward_s);
        for (std::size_t p = first[layer]; p < first[layer + 1]; ++p) {
          queue_.insert(p);
          end_s_[p] = INFINITY;
        }
        call(now_s_);
      }
    }
    wait(0, size_.size());
    return now_s_;
  }

 private:
  void wait(std::size_t from, std::size_t to) {
    for (std::size_t p = from; p < to; ++p) {
      while (end_s_[p] == INFINITY) advance(under_way_.front().first);
      now_s_ = std::max(now_s_, end_s_[p]);
    }
  }
  void advance(double until_s) {
    while (!under_way_.empty() && under_way_.front().first <= until_s) {
      const auto [end_s, bytes] = under_way_.front();
      under_way_.pop_front();
      credit_ += bytes;
      call(end_s);
    }
  }
  void call(double at_s) {
    while (!queue_.empty() && credit_ > 0) {
      const std::size_t p = *queue_.begin();
      queue_.erase(queue_.begin());
      credit_ -= size_[p];
      free_s_ = end_s_[p] = std::max(at_s + hear_s_, free_s_) + latency_s_ + size_[p] * s_per_byte_;
      under_way_.emplace_back(end_s_[p], size_[p]);
    }
  }

  double partition_, credit_, hear_s_, latency_s_, s_per_byte_;
  std::vector<double> size_, end_s_;
  std::set<std::size_t> queue_;
  std::deque<std::pair<double, double>> under_way_;  // until when, bytes
  double now_s_ = 0, free_s_ = 0;
};

}  // namespace

TEST_CASE("bytescheduler is SGD with the mean gradient") {
  for (const Json& parameters :
       {Json::object(), Json{{"partition", 16}, {"credit", 1}}, Json{{"partition", 12}, {"credit", 40}}}) {
    CAPTURE(parameters.dump());
    Job job = learning_job(4, "bytescheduler", parameters);
    give_layers(job, 3, 0, 0, 0);
    job.workload.layers[0].tensors = {10, 6};
    job.workload.layers[2].tensors = {TensorShape(5, 4)};
    job.workload.micro_batches = 2;
    job.optimizer.learning_rate.warmup_steps = 10;  // which step's rate an update has is seen
    use_algorithm(job, "bytescheduler", parameters);
    Workers workers(job);
    workers.step_by_means();
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[3]);
    workers.check_against(result);
  }
}

TEST_CASE("bytescheduler: steps end when a model of its queue says, and every part is sent once") {
  // A ring of four at 1 GB/s: 6 (a + m/4 / 1 GB/s). Everybody has heard of a call after two messages of a.
  const std::vector<double> layer_bytes = {4e5, 1e5, 3e6, 2e5, 2e6};
  double sum = 0;
  for (const double each : layer_bytes) sum += each;
  std::vector<double> seen;
  for (const double latency_s : {1e-5, 2e-4})
    for (const double partition : {4e5, 1e7})
      for (const double credit : {1.0, 1e6, 1e9})
        for (const double compute_s : {1e-4, 4e-3}) {
          CAPTURE(latency_s);
          CAPTURE(partition);
          CAPTURE(credit);
          CAPTURE(compute_s);
          Job job = scripted_job(star(4, latency_s, 1e9), nullptr);
          job.workload.layers.clear();
          for (const double bytes : layer_bytes) {
            Layer& layer = job.workload.layers.emplace_back();
            layer.tensors = {bytes / 4};
            layer.forward_s = compute_s / 2;
            layer.backward_s = compute_s;
          }
          use_rings(job);
          use_algorithm(job, "bytescheduler", {{"partition", partition}, {"credit", credit}});
          job.stop.steps = 4;
          const RunRecord record = simulate_job(job);
          Model model{partition, credit, 2 * latency_s, 6 * latency_s, 1.5e-9};
          CHECK(record.workers[0].end_s ==
                Approx(model.steps_s(layer_bytes, compute_s / 2, compute_s, 4)).epsilon(1e-9));
          CHECK(sent_bytes(record.workers[1], Traffic::gradient) == Approx(4 * 1.5 * sum).epsilon(1e-12));
          seen.push_back(record.workers[0].end_s);
        }
  // Where the ring is the bottleneck, credit hides the calls: 8 us of 2.
  CHECK(seen[2] < seen[0]);
}

}  // namespace simsgd::test::algorithms_synchronous
