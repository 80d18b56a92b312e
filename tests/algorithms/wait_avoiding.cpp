// Which ranks average in which iteration.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "algorithms/wait_avoiding/wait_avoiding.hpp"
#include "sim/collectives/schedule.hpp"
#include "tests/algorithms/gossip_support.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test::algorithms_wait_avoiding {

namespace {

using Groups = std::set<std::vector<int>>;

Groups groups_of(int workers, int size, std::uint64_t iteration) {
  Groups groups;
  for (int rank = 0; rank < workers; ++rank) groups.insert(butterfly_group(rank, workers, size, iteration));
  return groups;
}

/// Iterations from `first` on until what one rank knows has reached all.
int iterations_to_reach_all(int workers, int size, std::uint64_t first) {
  std::set<int> reached = {workers / 3};
  for (int t = 0;; ++t) {
    if (static_cast<int>(reached.size()) == workers) return t;
    std::set<int> next;
    for (const int rank : reached)
      for (const int member : butterfly_group(rank, workers, size, first + static_cast<std::uint64_t>(t)))
        next.insert(member);
    reached = next;
  }
}

}  // namespace

TEST_CASE("the groups of 8 workers by four are those of the paper, and repeat after three iterations") {
  for (const std::uint64_t again : {0U, 3U, 6U}) {
    CHECK(groups_of(8, 4, again) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
    CHECK(groups_of(8, 4, again + 1) == Groups{{0, 1, 4, 5}, {2, 3, 6, 7}});
    CHECK(groups_of(8, 4, again + 2) == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});
  }
  CHECK(butterfly_cycle(8, 4) == 3);
}

TEST_CASE("the groups of 4 workers by two alternate between neighbours and the others") {
  CHECK(groups_of(4, 2, 0) == Groups{{0, 1}, {2, 3}});
  CHECK(groups_of(4, 2, 1) == Groups{{0, 2}, {1, 3}});
  CHECK(butterfly_cycle(4, 2) == 2);
}

TEST_CASE("a group of all is everybody in every iteration, a group of one nobody else") {
  for (const std::uint64_t t : {0U, 1U, 5U}) {
    CHECK(groups_of(4, 4, t) == Groups{{0, 1, 2, 3}});
    CHECK(butterfly_group(2, 4, 1, t) == std::vector<int>{2});
    CHECK(butterfly_group(0, 1, 1, t) == std::vector<int>{0});
  }
}

TEST_CASE("groups of one iteration are disjoint, have S members each, and repeat after their cycle") {
  for (int workers = 1; workers <= 256; workers *= 2) {
    for (int size = 1; size <= workers; size *= 2) {
      CAPTURE(workers);
      CAPTURE(size);
      const std::uint64_t cycle = butterfly_cycle(workers, size);
      for (std::uint64_t t = 0; t < cycle; ++t) {
        const Groups groups = groups_of(workers, size, t);
        CHECK(static_cast<int>(groups.size()) == workers / size);
        for (const std::vector<int>& group : groups) CHECK(static_cast<int>(group.size()) == size);
        CHECK(groups == groups_of(workers, size, t + cycle));
      }
    }
  }
}

TEST_CASE("an update reaches everybody in ceil(log_S P) iterations, whenever it starts") {
  // P = 64, S = 8: 2 iterations. P = 128, S = 8: 3. P = 1,024, S = 32: 2.
  CHECK(iterations_to_reach_all(64, 8, 0) == 2);
  CHECK(iterations_to_reach_all(128, 8, 0) == 3);
  CHECK(iterations_to_reach_all(1024, 32, 0) == 2);
  for (int workers = 2; workers <= 256; workers *= 2) {
    for (int size = 2; size <= workers; size *= 2) {
      CAPTURE(workers);
      CAPTURE(size);
      const int bits = ceil_log2(workers), phases = ceil_log2(size);
      for (std::uint64_t first = 0; first < butterfly_cycle(workers, size); ++first)
        CHECK(iterations_to_reach_all(workers, size, first) == (bits + phases - 1) / phases);
    }
  }
}

// WAGMA-SGD: its arithmetic by hand, its degenerate cases, what it keeps, and what it refuses.

namespace {

Job learning_job(int workers, const std::string& algorithm, const Json& parameters, std::uint64_t steps,
                 double momentum = 0.9) {
  Job job = gossip_job(workers, {algorithm, parameters}, steps);
  job.optimizer.rule = sgd_rule(momentum);
  return job;
}

}  // namespace

TEST_CASE("fresh sums are divided by S, stale ones by S + 1, by hand") {
  // Gradient x - 1, learning rate 1/2: W' = (W + 1) / 2. Rank 0 needs 1 s a step, rank 1 3.5 s; both start at
  // 0 and rank 1 gives 0 until it comes.
  //   rank 0, 1 s: W' = 0.5,       sum 0.5 + 0,       W = 0.25
  //           2 s: W' = 0.625,     sum 0.625 + 0,     W = 0.3125
  //           3 s: W' = 0.65625,   sum 0.65625 + 0,   W = 0.328125
  //   rank 1, 3.5 s: W' = 0.5, stale: (0.65625 + 0.5) / 3 = 0.3854166...
  //   rank 0, 4 s: W' = 0.6640625, sum 0.6640625 + 0.5 = 1.1640625, W = 0.58203125
  //   rank 1, 7 s: W' = 0.6927..., stale: (1.1640625 + W') / 3, and so at 10.5 s and 14 s
  const std::vector<double> models = final_models([] {
    Job job = paced_job({1.0, 3.5}, 4);
    add_parabola(job, 0.5);
    use_algorithm(job, "wagma", {{"group_size", 2}, {"period", 100}});
    return job;
  });
  double late = (0.65625 + 0.5) / 3;
  for (int step = 2; step <= 4; ++step) late = (1.1640625 + (late + 1) / 2) / 3;
  CHECK(models[0] == doctest::Approx(0.58203125).epsilon(1e-6));
  CHECK(models[1] == doctest::Approx(late).epsilon(1e-6));
}

TEST_CASE("the global synchronisation waits for all, and leaves all models equal") {
  // As above with period 2: at 7 s rank 1 is through its second step and both average W'.
  //   rank 0, 1 s: W = 0.25; 2 s: W' = 0.625.   rank 1, 3.5 s: W' = 0.5, stale: (0.5 + 0.5) / 3; 7 s: W' =
  //   2/3.
  const std::vector<double> models = final_models([] {
    Job job = paced_job({1.0, 3.5}, 2);
    add_parabola(job, 0.5);
    use_algorithm(job, "wagma", {{"group_size", 2}, {"period", 2}});
    return job;
  });
  CHECK(models[0] == doctest::Approx((0.625 + 2.0 / 3) / 2).epsilon(1e-6));
  CHECK(models[0] == models[1]);
}

TEST_CASE("after a synchronisation a late worker gives the model it brought there") {
  // Period 2, 3 steps, plain pace 1 s and 3.5 s. After the synchronisation both have 0.6458333... At 8 s rank
  // 0 has W' = 0.8229166...; rank 1 gives its W' of the synchronisation, 2/3.
  const std::vector<double> models = final_models([] {
    Job job = paced_job({1.0, 3.5}, 3);
    add_parabola(job, 0.5);
    use_algorithm(job, "wagma", {{"group_size", 2}, {"period", 2}});
    return job;
  });
  const double both = (0.625 + 2.0 / 3) / 2, own = (both + 1) / 2, sum = own + 2.0 / 3;
  CHECK(models[0] == doctest::Approx(sum / 2).epsilon(1e-6));
  CHECK(models[1] == doctest::Approx((sum + own) / 3).epsilon(1e-6));
}

TEST_CASE("without group operations it is local SGD, whoever is late") {
  for (const bool late : {false, true}) {
    CAPTURE(late);
    const auto make = [late](const std::string& name, const Json& parameters) {
      return [=] {
        Job job = learning_job(4, name, parameters, 23, 0.9);
        if (late) be_late(job);
        return job;
      };
    };
    CHECK(worst_difference(final_models(make("wagma", {{"group_size", 1}, {"period", 5}})),
                           final_models(make("local_sgd", {{"period", 5}}))) < 1e-6);
  }
}

TEST_CASE("with one group of all and nobody late, plain SGD gives the models of Allreduce-SGD") {
  const auto wagma = final_models([] {
    return learning_job(8, "wagma", {{"group_size", 8}, {"period", 10}}, 60, 0.0);
  });
  const auto synchronous =
      final_models([] { return learning_job(8, "allreduce_sgd", Json::object(), 60, 0.0); });
  CHECK(worst_difference(wagma, synchronous) < 1e-5);
}

TEST_CASE("fresh groups preserve the mean of the models to rounding") {
  // From step 2 on there is averaging alone: the mean stays that of the models after one local step.
  for (const char* groups : {"dynamic", "fixed"}) {
    const auto mean_after = [&](std::uint64_t steps) {
      const std::vector<double> models = final_models([&] {
        Job job =
            learning_job(8, "wagma", {{"group_size", 2}, {"period", 100}, {"groups", groups}}, steps, 0);
        stop_learning(job);
        return job;
      });
      return mean_of(models, 8);
    };
    const std::vector<double> one = mean_after(1), ten = mean_after(10);
    CHECK(worst_difference(one, ten) < 1e-6);
    CHECK(*std::max_element(one.begin(), one.end()) > 1e-3);  // the models have moved
  }
}

TEST_CASE(
    "dynamic groups make all models equal in ceil(log_S P) steps of averaging alone, fixed ones never") {
  // P = 8, S = 2: after step 1 the models differ; steps 1 to 3 average. Fixed pairs stay apart.
  const auto spread_after = [](const char* groups, std::uint64_t steps) {
    const std::vector<double> models = final_models([&] {
      Job job = learning_job(8, "wagma", {{"group_size", 2}, {"period", 100}, {"groups", groups}}, steps, 0);
      stop_learning(job);
      return job;
    });
    return spread_of(models, 8);
  };
  CHECK(spread_after("dynamic", 1) > 1e-3);
  CHECK(spread_after("dynamic", 2) > 1e-3);
  CHECK(spread_after("dynamic", 3) < 1e-6);
  CHECK(spread_after("fixed", 3) > 1e-3);
  CHECK(spread_after("fixed", 9) > 1e-3);
}

TEST_CASE("staleness comes from simulated time: none without delays, some with them") {
  const auto staleness = [](bool late) {
    Job job = learning_job(8, "wagma", Json::object(), 50, 0.9);
    if (late) be_late(job);
    double sum = 0, most = 0, count = 0;
    for (const WorkerRecord& worker : simulate_job(job).workers) {
      sum += worker.staleness_sum;
      most = std::max(most, worker.staleness_max);
      count += static_cast<double>(worker.staleness_count);
    }
    return std::vector<double>{sum, most, count};
  };
  CHECK(staleness(false) == std::vector<double>{0, 0, 8 * 45});  // 45 of 50 steps have groups
  const std::vector<double> late = staleness(true);
  CHECK(late[0] > 0);
  CHECK(late[1] <= 9);  // period 10: at most 9 iterations apart
}

// Eager-SGD: its arithmetic by hand, every gradient used once, replicas that agree.

TEST_CASE("a late worker gives null, and its gradient goes into the next operation that it is in time for") {
  // Gradient x - 1, learning rate 1/2; rank 0 needs 1 s a step, rank 1 3.5 s.
  //   1 s: (-1 + null) / 2,           x = 0.25
  //   2 s: (-0.75 + null) / 2,        x = 0.4375
  //   3 s: (-0.5625 + null) / 2,      x = 0.578125
  //   4 s: (-0.421875 - 1) / 2,       x = 0.93359375: rank 1 came at 3.5 s with -1
  // Rank 1 applies the same results later.
  const std::vector<double> models = final_models([] {
    Job job = paced_job({1.0, 3.5}, 4);
    add_parabola(job, 0.5);
    use_algorithm(job, "eager_sgd");
    return job;
  });
  CHECK(models[0] == doctest::Approx(0.93359375).epsilon(1e-6));
  CHECK(models[1] == models[0]);
}

TEST_CASE("staleness counts the steps between a gradient and the operation that takes it") {
  // Until 4.5 s rank 0 gives 4 gradients at once; rank 1's first goes into version 4, 3 steps late.
  Job job = paced_job({1.0, 3.5}, 1000);
  job.stop.time_s = 4.5;
  use_algorithm(job, "eager_sgd");
  std::vector<double> staleness;
  for (const WorkerRecord& worker : simulate_job(job).workers)
    staleness.insert(staleness.end(), {worker.staleness_sum, static_cast<double>(worker.staleness_count)});
  CHECK(staleness == std::vector<double>{0, 4, 3, 1});
}

TEST_CASE("without delays it gives the models of Allreduce-SGD, solo and majority") {
  const auto synchronous = final_models([] { return learning_job(4, "allreduce_sgd", Json::object(), 40); });
  for (const char* activation : {"solo", "majority"}) {
    CAPTURE(activation);
    const auto eager = final_models([=] {
      return learning_job(4, "eager_sgd", {{"activation", activation}}, 40);
    });
    CHECK(worst_difference(eager, synchronous) < 1e-5);
  }
}

TEST_CASE("with delays all replicas are equal at the end, on any number of workers, and have learned") {
  for (const int workers : {1, 2, 3, 5, 8}) {
    for (const char* activation : {"solo", "majority"}) {
      CAPTURE(workers);
      CAPTURE(activation);
      const auto models = final_models([=] {
        Job job = learning_job(workers, "eager_sgd", {{"activation", activation}}, 40);
        be_late(job);
        return job;
      });
      const std::size_t size = models.size() / static_cast<std::size_t>(workers);
      double moved = 0;
      for (std::size_t i = 0; i < models.size(); ++i) {
        CHECK(models[i] == models[i % size]);
        moved = std::max(moved, std::fabs(models[i]));
      }
      CHECK(moved > 1e-2);
    }
  }
}

}  // namespace simsgd::test::algorithms_wait_avoiding
