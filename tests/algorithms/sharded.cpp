// FSDP: it learns what Allreduce-SGD learns, sends and holds what its formulas say, and gathers ahead.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>

#include "sim/learn/optimizers/registry.hpp"
#include "tests/algorithms/model_workers.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test::algorithms_sharded {

using doctest::Approx;

namespace {

/// Three layers, one without parameters, for `workers`.
Job layered_job(int workers, int micro_batches, const std::string& algorithm, const Json& parameters) {
  Job job = scripted_job(star(workers, 0, 1e9), nullptr);
  give_layers(job, 3, 0, 1e-3, 2e-3);
  job.workload.layers[0].tensors = {400, 100};
  job.workload.layers[2].tensors = {TensorShape(50, 10)};
  job.workload.micro_batches = micro_batches;
  use_algorithm(job, algorithm, parameters);
  return job;
}

std::shared_ptr<const UpdateRule> rule(const std::string& name) {
  if (name == "momentum") return sgd_rule(0.9);
  return find_plugin(optimizer_plugins(), name, "optimizer").make(Json::object());
}

/// Seven workers: shards of 36 parameters have 5 or 6.
Job job_of_micro_batches(const std::string& optimizer, int micro_batches, const std::string& algorithm,
                         const Json& parameters) {
  Job job = layered_job(7, micro_batches, algorithm, parameters);
  add_learner(job, 8);
  job.optimizer.rule = rule(optimizer);
  job.stop.steps = 25;
  use_algorithm(job, algorithm, parameters);
  return job;
}

/// {stage, reduce} in all combinations.
std::vector<Json> settings() {
  std::vector<Json> all;
  for (const int stage : {1, 2, 3})
    for (const char* reduce : {"once", "each"}) all.push_back({{"stage", stage}, {"reduce", reduce}});
  return all;
}

}  // namespace

TEST_CASE("FSDP's shards, one after another, are Allreduce-SGD's model") {
  for (const char* optimizer : {"sgd", "momentum", "adamw"}) {
    for (const int micro_batches : {1, 3}) {
      const FakeResult whole =
          run_fake(job_of_micro_batches(optimizer, micro_batches, "allreduce_sgd", Json::object()));
      for (const Json& parameters : settings()) {
        CAPTURE(optimizer);
        CAPTURE(micro_batches);
        CAPTURE(parameters);
        const FakeResult shards =
            run_fake(job_of_micro_batches(optimizer, micro_batches, "fsdp", parameters));
        CHECK(shards.losses == whole.losses);
        std::vector<float> model;
        for (const std::vector<float>& shard : shards.models) {
          CHECK((shard.size() == 5 || shard.size() == 6));
          model.insert(model.end(), shard.begin(), shard.end());
        }
        CHECK(worst_difference(model, whole.models[0]) < 1e-6);
      }
    }
  }
}

TEST_CASE("the curves of FSDP and HSDP in the simulation are Allreduce-SGD's: evaluations see one model") {
  const auto curve = [](const std::string& algorithm, const Json& parameters) {
    Job job = job_of_micro_batches("adamw", 2, algorithm, parameters);
    job.record.evaluate_every = 5;
    const RunRecord record = simulate_job(job);
    std::vector<double> numbers = losses_of(record);
    for (const EvaluationPoint& point : record.evaluations)
      numbers.insert(numbers.end(), {point.test_loss, point.test_accuracy, point.consensus_distance});
    return numbers;
  };
  const std::vector<double> whole = curve("allreduce_sgd", Json::object());
  REQUIRE(whole.size() == 25 + 5 * 3);
  for (const Json& parameters : settings()) {
    CAPTURE(parameters);
    CHECK(worst_difference(curve("fsdp", parameters), whole) < 1e-6);
  }
  CHECK(worst_difference(curve("hsdp", {{"shards", 7}}), whole) < 1e-6);
}

TEST_CASE("FSDP sends (R + 1) N (P-1)/P in stages 1 and 2, (2 M + R) N (P-1)/P in stage 3") {
  // N = 4 * 1000 bytes in layers of 500, 0 and 500 numbers, P = 5, rings. M micro-batches, R reductions of
  // the gradient. M = 1: 2 N (4/5) = 6,400 and 3 N (4/5) = 9,600 bytes.
  const double share = 4000 * 4.0 / 5;
  for (const int micro_batches : {1, 4}) {
    for (const Json& parameters : settings()) {
      CAPTURE(micro_batches);
      CAPTURE(parameters);
      Job job = layered_job(5, micro_batches, "fsdp", parameters);
      use_rings(job);
      job.stop.steps = 3;
      const WorkerRecord worker = simulate_job(job).workers[2];
      const int reductions = parameters["reduce"] == "each" ? micro_batches : 1;
      const int gathers = parameters["stage"] == 3 ? 2 * micro_batches : 1;
      CHECK((sent_bytes(worker, Traffic::model) / 3) == Approx(gathers * share).epsilon(1e-12));
      CHECK((sent_bytes(worker, Traffic::gradient) / 3) == Approx(reductions * share).epsilon(1e-12));
    }
  }
}

namespace {

/// A step of FSDP as a recurrence over what its workers start and wait for, all in the same order. Operations
/// of a channel run one after another on each worker, and one is through so long after the last has come to
/// it. Two workers, so that each of them needs the other's whole contribution.
class Recurrence {
 public:
  explicit Recurrence(int channels) : free_s_(static_cast<std::size_t>(channels)) {}

  struct LayerTimes {
    double forward_s, backward_s, gather_s, reduce_s;  // without parameters: < 0
  };
  /// `slower`: of the second worker, against the first.
  double steps_s(const std::vector<LayerTimes>& layers, int prefetch, int micro_batches, bool reduce_each,
                 double slower, int steps) {
    const int count = static_cast<int>(layers.size());
    for (int batch = 0; batch < steps * micro_batches; ++batch) {
      const bool last = batch % micro_batches == micro_batches - 1;
      for (const int direction : {1, -1}) {
        std::vector<double> ready_s(layers.size());
        const int first = direction == 1 ? 0 : count - 1;
        int next = first;  // to be gathered
        for (int i = first; i >= 0 && i < count; i += direction) {
          for (; next >= 0 && next < count && direction * (next - i) <= prefetch; next += direction)
            ready_s[at(next)] = run(0, layers[at(next)].gather_s);
          const LayerTimes& layer = layers[at(i)];
          const double pass_s = direction == 1 ? layer.forward_s : layer.backward_s;
          for (double& now : now_s_) now = std::max(now, ready_s[at(i)]);
          now_s_[0] += pass_s;
          now_s_[1] += slower * pass_s;
          if (direction == -1 && (last || reduce_each))
            reduced_s_ = std::max(reduced_s_, run(free_s_.size() - 1, layer.reduce_s));
        }
      }
      if (last)
        for (double& now : now_s_) now = std::max(now, reduced_s_);
    }
    return std::max(now_s_[0], now_s_[1]);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  double run(std::size_t channel, double seconds) {
    if (seconds < 0) return 0;
    double& free = free_s_[channel];  // for both: they end together
    return free = std::max({now_s_[0], now_s_[1], free}) + seconds;
  }

  std::vector<double> now_s_ = {0, 0}, free_s_;
  double reduced_s_ = 0;
};

}  // namespace

TEST_CASE("a step of FSDP is the recurrence of its gathers and reductions, on one channel and on two") {
  // 1 GB/s, two workers: gathering or reducing n numbers takes (1/2) 4 n / 1 GB/s, and 10 us of latency.
  const std::vector<double> numbers = {250'000, 0, 1'000'000, 500'000, 125'000};
  const std::vector<double> forward_s = {1e-3, 0.2e-3, 0.5e-3, 1e-3, 0.3e-3};
  struct Case {
    int prefetch, micro_batches;
    const char* reduce;
    double slower;
  };
  double gained_s = 0;
  for (const Case& each : {Case{0, 1, "once", 1}, Case{1, 1, "once", 1}, Case{2, 1, "once", 1},
                           Case{9, 1, "once", 1}, Case{1, 3, "once", 1}, Case{0, 2, "each", 1},
                           Case{1, 2, "each", 1}, Case{1, 1, "once", 4}, Case{2, 2, "each", 4}}) {
    std::vector<double> both;
    for (const int channels : {1, 2}) {
      CAPTURE(each.prefetch);
      CAPTURE(each.micro_batches);
      CAPTURE(each.reduce);
      CAPTURE(each.slower);
      CAPTURE(channels);
      Job job = scripted_job(star(2, 10e-6, 1e9), nullptr);
      job.cluster.node_speed = {1, 1 / each.slower};
      job.workload.layers.clear();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        Layer& layer = job.workload.layers.emplace_back();
        if (numbers[i] > 0) layer.tensors = {numbers[i]};
        layer.forward_s = forward_s[i];
        layer.backward_s = 2 * forward_s[i];
      }
      job.workload.micro_batches = each.micro_batches;
      job.stop.steps = 3;
      job.network.fidelity = Fidelity::closed;
      Json options = {{"prefetch", each.prefetch}, {"reduce", each.reduce}};
      if (channels == 2) options["channels"] = 2;  // one is the default
      use_algorithm(job, "fsdp", options);
      const double end_s = simulate_job(job).end_s;
      std::vector<Recurrence::LayerTimes> layers;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double travel_s = numbers[i] > 0 ? 10e-6 + 2 * numbers[i] / 1e9 : -1;
        layers.push_back({forward_s[i], 2 * forward_s[i], travel_s, travel_s});
      }
      const double expected_s = Recurrence(channels).steps_s(
          layers, each.prefetch, each.micro_batches, std::string(each.reduce) == "each", each.slower, 3);
      CHECK(end_s == Approx(expected_s).epsilon(1e-9));
      both.push_back(expected_s);
    }
    CHECK(both[1] <= both[0] + 1e-12);
    gained_s += both[0] - both[1];
  }
  CHECK(gained_s > 1e-3);  // the cases tell one channel from two
}

TEST_CASE("on one channel a gather that is not asked for ahead waits for the reduction before it") {
  // 6 layers of 250,000 numbers, 2 workers, 1 GB/s: gathering a layer takes (1/2) 1 MB / 1 GB/s = 0.5 ms, its
  // forward pass 1 ms, its backward pass 2 ms, reducing its gradient 0.5 ms. Without prefetching every layer
  // waits for its gather, twice, and on the way back for the reduction of the layer before: 6 (1 + 2) + 12 *
  // 0.5 + 5 * 0.5 + 0.5 (the last reduction) = 27 ms; on two channels reductions hide: 24.5 ms. One ahead,
  // only the first of each direction waits, on one channel and on two: 18 + 2 * 0.5 + 0.5 = 19.5 ms.
  const auto step_s = [](int prefetch, int channels) {
    Job job = scripted_job(star(2, 0, 1e9), nullptr);
    give_layers(job, 6, 250'000, 1e-3, 2e-3);
    job.network.fidelity = Fidelity::closed;
    use_algorithm(job, "fsdp", {{"prefetch", prefetch}, {"channels", channels}});
    return simulate_job(job).end_s;
  };
  CHECK(step_s(0, 1) == Approx(27e-3).epsilon(1e-9));
  CHECK(step_s(0, 2) == Approx(24.5e-3).epsilon(1e-9));
  for (const int channels : {1, 2})
    for (const int prefetch : {1, 5}) CHECK(step_s(prefetch, channels) == Approx(19.5e-3).epsilon(1e-9));
}

TEST_CASE("FSDP holds 1/P of what its stage shards, and what it needs of the rest") {
  // 1000 numbers, 4,000 bytes, P = 8, adamw keeps 8,000 bytes. Layers of 500, 0 and 500 numbers: a layer's
  // gradients are 2,000 bytes; one ahead, two neighbours' parameters 2,000, two ahead all 4,000.
  const auto parts = [](const Json& parameters, int micro_batches) {
    Job job = layered_job(8, micro_batches, "fsdp", parameters);
    job.optimizer.rule = rule("adamw");
    return job.algorithm->memory({job.workload, job.optimizer, 8});
  };
  struct Expected {
    Json parameters;
    int micro_batches;
    double model, gradients, state, layer, gathered;
  };
  const Expected all[] = {{{{"stage", 1}}, 1, 4000, 4000, 1000, 0, 0},
                          {{{"stage", 2}}, 1, 4000, 500, 1000, 2000, 0},
                          {{{"stage", 3}}, 1, 500, 500, 1000, 2000, 2000},
                          {{{"stage", 3}, {"prefetch", 2}}, 1, 500, 500, 1000, 2000, 4000},
                          // Gradients of several micro-batches that are reduced once are added up whole.
                          {{{"stage", 3}, {"reduce", "once"}}, 4, 500, 4000, 1000, 0, 2000},
                          {{{"stage", 3}, {"reduce", "each"}}, 4, 500, 500, 1000, 2000, 2000}};
  for (const Expected& each : all) {
    CAPTURE(each.parameters);
    CAPTURE(each.micro_batches);
    const std::vector<MemoryPart> held = parts(each.parameters, each.micro_batches);
    CHECK(memory_of(held, "parameters") == each.model);
    CHECK(memory_of(held, "gradients") == each.gradients);
    CHECK(memory_of(held, "optimizer state") == each.state);
    CHECK(memory_of(held, "a layer's gradients") == each.layer);
    CHECK(memory_of(held, "gathered layers") == each.gathered);
  }
}

// HSDP: it learns what Allreduce-SGD learns, whatever its groups; what it sends inside and across them.

TEST_CASE("hsdp is SGD with the mean gradient; each group holds the model in parts") {
  for (const int shards : {1, 2, 4})
    for (const int stage : {1, 2, 3})
      for (const char* reduce : {"once", "each"}) {
        CAPTURE(shards);
        CAPTURE(stage);
        CAPTURE(reduce);
        const Json parameters = {{"shards", shards}, {"stage", stage}, {"reduce", reduce}};
        Job job = learning_job(4, "hsdp", parameters, kSteps, 0.9);
        give_three_layers(job, 1, 2);
        use_algorithm(job, "hsdp", parameters);
        Workers workers(job);
        Vector u = Vector::Zero(36);
        for (std::uint64_t step = 1; step <= kSteps; ++step) {
          const Vector mean = workers.mean_gradient(step);
          u = 0.9 * u + mean;
          for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * u;
        }
        FakeResult result = run_fake(job);
        const auto count = static_cast<std::size_t>(shards);
        for (std::size_t i = 0; i < 4; ++i)
          CHECK(result.models[i].size() == (i % count + 1) * 36 / count - i % count * 36 / count);
        std::vector<std::vector<float>> whole(4);
        for (std::size_t i = 0; i < 4; ++i)
          for (std::size_t k = i / count * count; k < (i / count + 1) * count; ++k)
            whole[i].insert(whole[i].end(), result.models[k].begin(), result.models[k].end());
        result.models = whole;
        workers.check_against(result);
      }
}

TEST_CASE("hsdp sends what fsdp sends inside a group, and 2 R (G-1)/G of a shard across G groups") {
  // 36,000 numbers, 144,000 bytes. Eight workers.
  for (const int shards : {2, 4, 8})
    for (const int micro_batches : {1, 3})
      for (const char* reduce : {"once", "each"})
        for (const int stage : {2, 3}) {
          CAPTURE(shards);
          CAPTURE(micro_batches);
          CAPTURE(reduce);
          CAPTURE(stage);
          Job job = scripted_job(star(8, 0, 1e9), nullptr);
          give_three_layers(job, 1000, micro_batches);
          use_rings(job);
          use_algorithm(job, "hsdp", {{"shards", shards}, {"reduce", reduce}, {"stage", stage}});
          job.stop.steps = 3;
          const WorkerRecord worker = simulate_job(job).workers[5];
          const double inside = 144e3 * (1 - 1.0 / shards), groups = 8.0 / shards;
          const int reductions = std::string(reduce) == "each" ? micro_batches : 1;
          CHECK((sent_bytes(worker, Traffic::model) / 3) ==
                Approx((stage == 3 ? 2 * micro_batches : 1) * inside).epsilon(1e-12));
          CHECK((sent_bytes(worker, Traffic::gradient) / 3) ==
                Approx(reductions * (inside + 2 * (1 - 1 / groups) * 144e3 / shards)).epsilon(1e-12));
        }
}

TEST_CASE("hsdp: all-reduces across groups go on beside the backward pass, each behind its reduce-scatter") {
  // Four layers of 1 MB, two groups of two: inside, gathering or reducing a layer takes (1/2) 1 MB / 1 GB/s =
  // 0.5 ms; across, a shard of 0.5 MB 2 (1/2) 0.5 ms. Stage 2: gathered once, all ahead. Backward passes of 2
  // ms hide all but the last layer's 1 ms; the first gather of 0.5 ms is seen.
  const auto step_s = [](int shards) {
    Job job = scripted_job(star(4, 0, 1e9), nullptr);
    give_layers(job, 4, 250'000, 1e-3, 2e-3);
    use_rings(job);
    use_algorithm(job, "hsdp", {{"shards", shards}, {"stage", 2}});
    return simulate_job(job).end_s;
  };
  CHECK(step_s(2) == Approx(12e-3 + 0.5e-3 + 0.5e-3 + 0.5e-3).epsilon(1e-9));
  CHECK(step_s(4) == Approx(12e-3 + 0.75e-3 + 0.75e-3).epsilon(1e-9));
}

TEST_CASE("hsdp holds 1/S") {
  Job job = scripted_job(star(8, 0, 1e9), nullptr, 1000);
  use_algorithm(job, "hsdp", {{"shards", 4}});
  const std::vector<MemoryPart> parts = job.algorithm->memory({job.workload, job.optimizer, 8});
  CHECK(memory_of(parts, "parameters") == 1000);
  CHECK(memory_of(parts, "gradients") == 1000);
}

}  // namespace simsgd::test::algorithms_sharded
