// FSDP: it learns what Allreduce-SGD learns, sends and holds what its formulas say, and gathers ahead.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sim/learn/optimizers/registry.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_sharded {

using doctest::Approx;

namespace {

/// Three layers, one without parameters, for `workers`.
Job layered_job(int workers, int micro_batches, const std::string& algorithm, const Json& parameters) {
  Job job = scripted_job(star(workers, 0, 1e9), nullptr);
  Layer layer;
  layer.forward_s = 1e-3;
  layer.backward_s = 2e-3;
  job.workload.layers.assign(3, layer);
  job.workload.layers[0].tensors = {400, 100};
  job.workload.layers[2].tensors = {TensorShape(50, 10)};
  job.workload.micro_batches = micro_batches;
  use_algorithm(job, algorithm, parameters);
  return job;
}

std::vector<double> flat(const std::vector<float>& model) { return {model.begin(), model.end()}; }

double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]));
  return worst;
}

std::shared_ptr<const UpdateRule> rule(const std::string& name) {
  if (name == "momentum") return sgd_rule(0.9);
  return find_plugin(optimizer_plugins(), name, "optimizer").make(Json::object());
}

/// Seven workers: shards of 36 parameters have 5 or 6.
Job learning_job(const std::string& optimizer, int micro_batches, const std::string& algorithm,
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

double memory_of(const std::vector<MemoryPart>& parts, const std::string& name) {
  for (const MemoryPart& part : parts)
    if (part.name == name) return part.bytes;
  return 0;
}

}  // namespace

TEST_CASE("FSDP's shards, one after another, are Allreduce-SGD's model") {
  for (const char* optimizer : {"sgd", "momentum", "adamw"}) {
    for (const int micro_batches : {1, 3}) {
      const FakeResult whole =
          run_fake(learning_job(optimizer, micro_batches, "allreduce_sgd", Json::object()));
      for (const Json& parameters : settings()) {
        CAPTURE(optimizer);
        CAPTURE(micro_batches);
        CAPTURE(parameters);
        const FakeResult shards = run_fake(learning_job(optimizer, micro_batches, "fsdp", parameters));
        CHECK(shards.losses == whole.losses);
        std::vector<float> model;
        for (const std::vector<float>& shard : shards.models) {
          CHECK((shard.size() == 5 || shard.size() == 6));
          model.insert(model.end(), shard.begin(), shard.end());
        }
        CHECK(worst_difference(flat(model), flat(whole.models[0])) < 1e-6);
      }
    }
  }
}

TEST_CASE("the curves of FSDP in the simulation are Allreduce-SGD's, and its shards agree") {
  const auto curve = [](const std::string& algorithm, const Json& parameters) {
    return in_child([&] {
      Job job = learning_job("adamw", 2, algorithm, parameters);
      job.record.evaluate_every = 5;
      const RunRecord record = simulate_job(job);
      std::vector<double> numbers;
      for (const SeriesPoint& point : record.series) numbers.push_back(point.train_loss);
      for (const EvaluationPoint& point : record.evaluations)
        numbers.insert(numbers.end(), {point.test_loss, point.test_accuracy, point.consensus_distance});
      return numbers;
    });
  };
  const std::vector<double> whole = curve("allreduce_sgd", Json::object());
  REQUIRE(whole.size() == 25 + 5 * 3);
  for (const Json& parameters : settings()) {
    CAPTURE(parameters);
    CHECK(worst_difference(curve("fsdp", parameters), whole) < 1e-6);
  }
}

TEST_CASE("FSDP sends (R + 1) N (P-1)/P in stages 1 and 2, (2 M + R) N (P-1)/P in stage 3") {
  // N = 4 * 1000 bytes in layers of 500, 0 and 500 numbers, P = 5, rings. M micro-batches, R reductions of
  // the gradient. M = 1: 2 N (4/5) = 6,400 and 3 N (4/5) = 9,600 bytes.
  const double share = 4000 * 4.0 / 5;
  for (const int micro_batches : {1, 4}) {
    for (const Json& parameters : settings()) {
      CAPTURE(micro_batches);
      CAPTURE(parameters);
      const auto bytes = in_child([&] {
        Job job = layered_job(5, micro_batches, "fsdp", parameters);
        job.network.collectives = {{CollectiveOp::all_gather, CollectivePolicy::of("ring")},
                                   {CollectiveOp::reduce_scatter, CollectivePolicy::of("ring")}};
        job.stop.steps = 3;
        const WorkerRecord worker = simulate_job(job).workers[2];
        return std::vector<double>{worker.bytes_sent[static_cast<std::size_t>(Traffic::model)] / 3,
                                   worker.bytes_sent[static_cast<std::size_t>(Traffic::gradient)] / 3};
      });
      const int reductions = parameters["reduce"] == "each" ? micro_batches : 1;
      const int gathers = parameters["stage"] == 3 ? 2 * micro_batches : 1;
      CHECK(bytes[0] == Approx(gathers * share).epsilon(1e-12));
      CHECK(bytes[1] == Approx(reductions * share).epsilon(1e-12));
    }
  }
}

TEST_CASE("gathers ahead hide behind the layers before") {
  // 6 layers of 250,000 numbers, 2 workers, 1 GB/s: gathering a layer takes (1/2) 1 MB / 1 GB/s = 0.5 ms, its
  // forward pass 1 ms, its backward pass 2 ms, reducing its gradient 0.5 ms. Without prefetching every layer
  // waits for its gather, twice: 6 (1 + 2) + 12 * 0.5 + 0.5 (the last reduction) = 24.5 ms. One ahead, only
  // the first of each direction waits: 18 + 2 * 0.5 + 0.5 = 19.5 ms. More ahead changes nothing.
  const auto step_s = [](int prefetch) {
    return in_child([&] {
      Job job = scripted_job(star(2, 0, 1e9), nullptr);
      Layer layer;
      layer.tensors = {250'000};
      layer.forward_s = 1e-3;
      layer.backward_s = 2e-3;
      job.workload.layers.assign(6, layer);
      job.network.fidelity = Fidelity::closed;
      use_algorithm(job, "fsdp", {{"prefetch", prefetch}});
      return std::vector<double>{simulate_job(job).end_s};
    })[0];
  };
  CHECK(step_s(0) == Approx(24.5e-3).epsilon(1e-9));
  CHECK(step_s(1) == Approx(19.5e-3).epsilon(1e-9));
  CHECK(step_s(5) == Approx(19.5e-3).epsilon(1e-9));
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

}  // namespace simsgd::test::algorithms_sharded
