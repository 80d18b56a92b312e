// ByteScheduler learns what Allreduce-SGD learns, sends every part once, and in the order of a model of its
// queue.
#include <doctest/doctest.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test::algorithms_bytescheduler {

using doctest::Approx;

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
        for (std::size_t p = first[layer]; p < first[layer + 1]; ++p) {
          while (end_s_[p] == INFINITY) advance(under_way_.front().first);
          now_s_ = std::max(now_s_, end_s_[p]);
        }
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
    return now_s_;
  }

 private:
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
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      const Vector mean = workers.mean_gradient(step);
      for (std::size_t i = 0; i < 4; ++i) workers[i] -= job.optimizer.learning_rate.at(step) * mean;
    }
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[3]);
    workers.check_against(result);
  }
}

TEST_CASE("bytescheduler: stragglers and jitter change no value, whoever is late") {
  const auto losses = [](const std::string& method, const Json& parameters) {
    Job job = learning_job(4, method, parameters, 30);
    give_layers(job, 3, 12, 1e-3, 1e-3);
    job.workload.compute_factor = {Distribution::Kind::exponential, 0.5, 0.5, 1, {}, {}};
    use_algorithm(job, method, parameters);
    return losses_of(simulate_job(job));
  };
  const std::vector<double> expected = losses("allreduce_sgd", Json::object());
  REQUIRE(expected.size() == 30);
  for (const double credit : {1.0, 50.0}) {
    const std::vector<double> seen = losses("bytescheduler", {{"partition", 20}, {"credit", credit}});
    REQUIRE(seen.size() == 30);
    for (std::size_t i = 0; i < 30; ++i) CHECK(seen[i] == Approx(expected[i]).epsilon(1e-6));
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

}  // namespace simsgd::test::algorithms_bytescheduler
