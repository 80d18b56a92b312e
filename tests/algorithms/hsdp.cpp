// HSDP: it learns what Allreduce-SGD learns, whatever its groups; what it sends inside and across them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test::algorithms_hsdp {

using doctest::Approx;

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

TEST_CASE("evaluations of hsdp see one model, the one of allreduce_sgd") {
  const auto curve = [](const std::string& method, const Json& parameters) {
    Job job = learning_job(4, method, parameters, 20);
    job.record.evaluate_every = 5;
    const RunRecord record = simulate_job(job);
    std::vector<double> numbers = losses_of(record);
    for (const EvaluationPoint& point : record.evaluations)
      numbers.insert(numbers.end(), {point.test_loss, point.test_accuracy, point.consensus_distance});
    return numbers;
  };
  const std::vector<double> whole = curve("allreduce_sgd", Json::object()),
                            parts = curve("hsdp", {{"shards", 2}});
  REQUIRE(whole.size() == 20 + 4 * 3);
  REQUIRE(parts.size() == whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(parts[i] == Approx(whole[i]).epsilon(1e-6).scale(1));
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

TEST_CASE("hsdp holds 1/S, and refuses groups that do not divide the workers") {
  Job job = scripted_job(star(8, 0, 1e9), nullptr, 1000);
  use_algorithm(job, "hsdp", {{"shards", 4}});
  const std::vector<MemoryPart> parts = job.algorithm->memory({job.workload, job.optimizer, 8});
  CHECK(memory_of(parts, "parameters") == 1000);
  CHECK(memory_of(parts, "gradients") == 1000);
  CHECK_THROWS_WITH_AS(
      use_algorithm(job, "hsdp", {{"shards", 3}}),
      "/shards: is 3, which does not divide the 8 workers. Use a divisor of the number of workers",
      ParameterError);
}

}  // namespace simsgd::test::algorithms_hsdp
