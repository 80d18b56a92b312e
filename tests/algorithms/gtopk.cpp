// gTop-k and Top-k S-SGD: what they compute, on a cluster without time and in the simulation.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/sparse/sparse.hpp"
#include "algorithms/sparse/sparse_exchange.hpp"
#include "algorithms/sparse/sparsification.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_gtopk {

namespace {

// The learner has 36 parameters; the workload 36,000, of which the same share is sent.
Job learning_job(int workers, const std::string& algorithm, const Json& parameters, std::uint64_t steps) {
  Job job = scripted_job(star(workers, 1e-6, 1e9), nullptr, 36000);
  job.workload.layers.front().forward_s = 1e-3;
  add_learner(job, 64 / std::min(workers, 64));
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = steps;
  return job;
}

std::vector<float> normal_values(std::size_t n, std::uint64_t seed) {
  Stream stream({.seed = seed, .purpose = Purpose::algorithm, .entity = 0, .step = 1});
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

// Many exchanges of random gradients with error feedback; the sums of all gradients, of what was applied
// (times P), and of the residuals at the end, entry by entry.
struct Balance {
  std::vector<double> gradients, applied, residuals;
  double lost() const {  // the largest difference of an entry
    double worst = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      worst = std::max(worst, std::fabs(gradients[i] - applied[i] - residuals[i]));
    return worst;
  }
};

void add(std::vector<double>& sum, const std::vector<float>& values) {
  sum.resize(values.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

Balance exchange_often(int workers, MergeVariant variant, PutBack put_back) {
  constexpr std::size_t kSize = 200, kChosen = 10;
  const MergeScheduleRequest request{
      .workers = workers, .variant = variant, .put_back = put_back, .entries = kChosen, .merge_s = 0};
  Executor executor(1);
  Balance balance;
  std::vector<Tensor> residuals(static_cast<std::size_t>(workers));
  for (std::uint64_t step = 1; step <= 50; ++step) {
    std::vector<Tensor> accumulated, selected;
    for (std::size_t rank = 0; rank < residuals.size(); ++rank) {
      const std::vector<float> gradient = normal_values(kSize, 1000 * step + rank);
      add(balance.gradients, gradient);
      const Tensor fresh = executor.constant({gradient, {}, {}});
      accumulated.push_back(
          residuals[rank] ? linear_combination(executor, {1.0, 1.0}, {residuals[rank], fresh}) : fresh);
      selected.push_back(executor.submit(
          {accumulated.back()}, [](TensorData& out, auto in) { select_top_k(in[0]->values, kChosen, out); }));
    }
    const Tensor merged = merge_all(executor, selected, kChosen);
    add(balance.applied, executor.get(to_dense(executor, merged, kSize, 1.0)).values);
    for (std::size_t rank = 0; rank < residuals.size(); ++rank)
      residuals[rank] = residual_after_merge(executor, accumulated[rank], selected[rank], merged, request,
                                             static_cast<int>(rank));
  }
  for (const Tensor& residual : residuals) add(balance.residuals, executor.get(residual).values);
  return balance;
}

}  // namespace

TEST_CASE("at density 1 both give the loss curve of dense S-SGD, to rounding") {
  const auto dense = losses_of(simulate_job(learning_job(4, "allreduce_sgd", Json::object(), 100)));
  REQUIRE(dense.back() < 0.5 * dense.front());  // it learns
  for (const int workers : {4, 6}) {
    CAPTURE(workers);
    const auto reference =
        losses_of(simulate_job(learning_job(workers, "allreduce_sgd", Json::object(), 100)));
    for (const char* variant : {"tree", "recursive_doubling"}) {
      CAPTURE(variant);
      CHECK(worst_relative_difference(losses_of(simulate_job(learning_job(
                                          workers, "gtopk", {{"density", 1}, {"variant", variant}}, 100))),
                                      reference) < 1e-5);
    }
    CHECK(worst_relative_difference(
              losses_of(simulate_job(learning_job(workers, "topk_sgd", {{"density", 1}}, 100))), reference) <
          1e-5);
  }
}

TEST_CASE(
    "all workers have the same model, whatever their number and the variant; both variants learn the same") {
  for (const int workers : {1, 2, 3, 4, 6, 8, 12}) {
    CAPTURE(workers);
    const Json tree = {{"density", 0.1}, {"put_back", "exact"}};
    const Json doubling = {{"density", 0.1}, {"put_back", "exact"}, {"variant", "recursive_doubling"}};
    const FakeResult a = run_fake(learning_job(workers, "gtopk", tree, 30));
    const FakeResult b = run_fake(learning_job(workers, "gtopk", doubling, 30));
    for (const std::vector<float>& model : a.models) CHECK(model == a.models[0]);
    for (const std::vector<float>& model : b.models) CHECK(model == a.models[0]);
    const FakeResult c = run_fake(learning_job(workers, "topk_sgd", {{"density", 0.1}}, 30));
    for (const std::vector<float>& model : c.models) CHECK(model == c.models[0]);
  }
}

TEST_CASE("the merged vector is that of the rounds: pairs, then pairs of pairs; other P are folded first") {
  // k = 1, entry i = worker i's: 0: 5 at index 0, 1: 4 at 1, 2: 3 at 2, 3: 3 at 2; the pairs give {0: 5} and
  // {2: 6}, and these {2: 6}. A fifth worker's 9 at index 1 is folded into worker 0: {1: 9}; worker 1 adds 4.
  Executor executor(1);
  const auto one = [&](std::int32_t index, float value) { return executor.constant({{value}, {index}, {}}); };
  const std::vector<Tensor> four = {one(0, 5), one(1, 4), one(2, 3), one(2, 3)};
  const Tensor merged_four = merge_all(executor, four, 1);
  const TensorData& of_four = executor.get(merged_four);
  CHECK(of_four.indices == std::vector<std::int32_t>{2});
  CHECK(of_four.values == std::vector<float>{6});
  std::vector<Tensor> five = four;
  five.push_back(one(1, 9));
  const Tensor merged = merge_all(executor, five, 1);
  CHECK(executor.get(merged).indices == std::vector<std::int32_t>{1});
  CHECK(executor.get(merged).values == std::vector<float>{13});
  // Distinct indices before the cuts: {0, 1} in the fold; {1} and {2}, 1 each, so 1; {1, 2}.
  CHECK(executor.get(distinct_by_round(executor, merged, 5)).scalars == std::vector<double>{2, 1, 2});
}

TEST_CASE(
    "merged message by message every worker gets the result, and keeps what it keeps of a merge of all at once") {
  constexpr std::size_t kSize = 60, kChosen = 6;
  for (int workers = 1; workers <= 9; ++workers)
    for (const MergeVariant variant : {MergeVariant::tree, MergeVariant::recursive_doubling})
      for (const PutBack put_back : {PutBack::paper, PutBack::exact}) {
        CAPTURE(workers);
        CAPTURE(static_cast<int>(variant));
        CAPTURE(static_cast<int>(put_back));
        const MergeScheduleRequest request{
            .workers = workers, .variant = variant, .put_back = put_back, .entries = kChosen};
        Executor executor(1);
        std::vector<Tensor> accumulated, selected;
        for (int rank = 0; rank < workers; ++rank) {
          accumulated.push_back(
              executor.constant({normal_values(kSize, 77 + static_cast<std::uint64_t>(rank)), {}, {}}));
          selected.push_back(executor.submit({accumulated.back()}, [](TensorData& out, auto in) {
            select_top_k(in[0]->values, kChosen, out);
          }));
        }
        const Tensor at_once = merge_all(executor, selected, kChosen);
        const Merging merging = merging_of(request, kChosen);
        std::vector<Tensor> held = selected;
        for (const Stage& stage : merge_schedule(request).stages) {
          const std::vector<Tensor> before = held;
          for (std::size_t from = 0; from < held.size(); ++from) {
            if (stage.to[from] < 0) continue;
            const auto to = static_cast<std::size_t>(stage.to[from]);
            const Tensor sent = merging.sent ? merging.sent(executor, before[from]) : before[from];
            held[to] = stage.carries.adds ? merging.merge(executor, static_cast<std::int32_t>(to),
                                                          static_cast<std::int32_t>(from), before[to], sent)
                                          : sent;
          }
        }
        for (int rank = 0; rank < workers; ++rank) {
          const Tensor got = merging.finish(executor, rank, held[static_cast<std::size_t>(rank)]);
          const auto kept = [&](const Tensor& merged) {
            return executor
                .get(residual_after_merge(executor, accumulated[static_cast<std::size_t>(rank)],
                                          selected[static_cast<std::size_t>(rank)], merged, request, rank))
                .values;
          };
          CHECK(executor.get(got).values == executor.get(at_once).values);
          CHECK(executor.get(got).indices == executor.get(at_once).indices);
          CHECK(kept(got) == kept(at_once));
          CHECK(executor.get(distinct_by_round(executor, got, workers)).scalars ==
                executor.get(distinct_by_round(executor, at_once, workers)).scalars);
        }
      }
}

TEST_CASE("with exact put-back nothing is lost: residuals and applied updates sum to the gradients") {
  for (const int workers : {1, 2, 3, 4, 6, 8, 13}) {
    for (const MergeVariant variant : {MergeVariant::tree, MergeVariant::recursive_doubling}) {
      CAPTURE(workers);
      CAPTURE(static_cast<int>(variant));
      CHECK(exchange_often(workers, variant, PutBack::exact).lost() < 1e-3);  // sums of 650 floats
    }
  }
}

TEST_CASE(
    "as published, a tree loses values that were dropped on the way to an index that is in the result") {
  CHECK(exchange_often(2, MergeVariant::tree, PutBack::paper).lost() < 1e-3);  // one merge: nothing to lose
  CHECK(exchange_often(8, MergeVariant::tree, PutBack::paper).lost() > 1);
  // Recursive doubling sees all its merges; only workers that are folded in do not.
  CHECK(exchange_often(8, MergeVariant::recursive_doubling, PutBack::paper).lost() < 1e-3);
  CHECK(exchange_often(6, MergeVariant::recursive_doubling, PutBack::paper).lost() > 1);
}

TEST_CASE("a value that a merge dropped goes back to its worker's residual, by the rule asked for") {
  // k = 1, 4 workers, merges (0, 1), (2, 3), (0, 2). 0: {0: 5}, 1: {1: 4}, 2: {1: 6}, 3: {2: 1}.
  // (0, 1) drops index 1 of worker 1; the result is {1: 6} of worker 2 alone.
  Executor executor(1);
  const std::vector<std::pair<std::int32_t, float>> entries = {{0, 5}, {1, 4}, {1, 6}, {2, 1}};
  std::vector<Tensor> selected, accumulated;
  for (const auto& [index, value] : entries) {
    std::vector<float> dense(3, 0.0f);
    dense[static_cast<std::size_t>(index)] = value;
    selected.push_back(executor.constant({{value}, {index}, {}}));
    accumulated.push_back(executor.constant({dense, {}, {}}));
  }
  const Tensor merged = merge_all(executor, selected, 1);
  REQUIRE(executor.get(merged).indices == std::vector<std::int32_t>{1});
  const auto kept_by_worker_1 = [&](MergeVariant variant, PutBack put_back) {
    const MergeScheduleRequest request{.workers = 4, .variant = variant, .put_back = put_back};
    return executor.get(residual_after_merge(executor, accumulated[1], selected[1], merged, request, 1))
        .values;
  };
  const std::vector<float> lost(3, 0.0f), kept = {0, 4, 0};
  CHECK(kept_by_worker_1(MergeVariant::tree, PutBack::paper) == lost);
  CHECK(kept_by_worker_1(MergeVariant::tree, PutBack::exact) == kept);
  CHECK(kept_by_worker_1(MergeVariant::recursive_doubling, PutBack::paper) == kept);
}

TEST_CASE("a sparse step learns, and the number of distinct indices after each merge is reported") {
  const RunRecord record = simulate_job(learning_job(6, "gtopk", {{"density", 0.1}}, 200));
  std::vector<double> numbers = {record.series.front().train_loss, record.series.back().train_loss};
  const RecordTable& merges = record.tables.at(0);
  for (const auto& row : merges.rows) numbers.push_back(std::get<double>(row[1]));
  REQUIRE(numbers.size() == 5);  // two losses, a fold and two rounds
  CHECK(numbers[1] < 0.5 * numbers[0]);
  for (std::size_t round = 2; round < 5; ++round) {
    CHECK(numbers[round] >= 3);  // k = 3: between the same three and six different ones
    CHECK(numbers[round] <= 6);
  }
}

}  // namespace simsgd::test::algorithms_gtopk
