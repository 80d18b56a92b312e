// Ok-Topk against a model of its own; what it sends; that nothing is lost.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test::algorithms_ok_topk {

using doctest::Approx;

namespace {

double kth_largest(const Vector& v, std::size_t k) {
  std::vector<double> sorted;
  for (const double x : v) sorted.push_back(std::abs(x));
  std::sort(sorted.rbegin(), sorted.rend());
  return sorted.at(k - 1);
}

}  // namespace

TEST_CASE("ok_topk is its paper's algorithm, and applies or keeps every gradient once") {
  for (const std::uint64_t interval : {1U, 7U}) {
    CAPTURE(interval);
    const Job job = learning_job(4, "ok_topk", {{"k", 6}, {"threshold_interval", interval}});
    Workers workers(job);
    const Vector begin = workers[0];
    const Vector zero = Vector::Zero(36);
    std::vector<Vector> residual(4, zero);
    std::vector<double> own(4);
    double global = 0;
    Vector all = zero;
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      const bool fresh = (step - 1) % interval == 0;
      Vector sum = zero;
      std::vector<std::set<Eigen::Index>> chosen(4);
      for (std::size_t i = 0; i < 4; ++i) {
        const Vector g = workers.gradient(i, step);
        all += g;
        residual[i] += g;
        if (fresh) own[i] = kth_largest(residual[i], 6);
        for (Eigen::Index e = 0; e < 36; ++e)
          if (std::abs(residual[i][e]) >= own[i]) {
            chosen[i].insert(e);
            sum[e] += residual[i][e];
          }
      }
      if (fresh) global = kth_largest(sum, 6);
      Vector applied = zero;
      for (Eigen::Index e = 0; e < 36; ++e)
        if (std::abs(sum[e]) >= global) applied[e] = sum[e];
      for (std::size_t i = 0; i < 4; ++i) {
        for (const Eigen::Index e : chosen[i])
          if (applied[e] != 0) residual[i][e] = 0;
        workers[i] -= kRate * applied / 4;
      }
    }
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[3]);
    workers.check_against(result);
    // What the model has moved by, and what is kept back, is the sum of all gradients.
    Vector kept = zero;
    for (const Vector& each : residual) kept += each;
    for (Eigen::Index e = 0; e < 36; ++e)
      CHECK((begin[e] - workers[0][e]) * 4 / kRate + kept[e] == Approx(all[e]).epsilon(1e-9).scale(1));
  }
}

TEST_CASE("ok_topk with all entries is allreduce_sgd") {
  const Job all = learning_job(4, "ok_topk", {{"k", 36}, {"threshold_interval", 1}});
  const FakeResult dense = run_fake(learning_job(4, "allreduce_sgd", Json::object())), sparse = run_fake(all);
  for (std::size_t e = 0; e < 36; ++e) CHECK(sparse.models[0][e] == Approx(dense.models[0][e]).epsilon(1e-5));
}

TEST_CASE("ok_topk: 2 (P-1)/P k entries a step, whatever P; more where thresholds are new") {
  // 1e6 numbers, k = 1,000: 8,000 bytes. Messages of 1,000 bytes among 8: 7 of them, then 1, 2 and 4.
  const auto run = [](int workers, std::uint64_t interval, double add_s) {
    Job job = scripted_job(star(workers, 1e-5, 1e9), nullptr, 1e6);
    if (add_s > 0) job.cluster.host.scatter_add_s = add_s;
    use_algorithm(job, "ok_topk", {{"k", 1000}, {"threshold_interval", interval}, {"region_interval", 1000}});
    job.stop.steps = 4;
    const RunRecord record = simulate_job(job);
    return std::vector<double>{sent_bytes(record.workers[1], Traffic::gradient), record.end_s};
  };
  for (const int workers : {2, 8, 64}) {
    CAPTURE(workers);
    const double share = 1 - 1.0 / workers;
    // All 8,000 bytes of each worker are gathered in the first step, or in each.
    const double cuts = 2 * share * 4 * (workers - 1);
    CHECK(run(workers, 1000, 0)[0] == Approx(share * 8000 * (4 + 3 + workers) + cuts).epsilon(1e-9));
    CHECK(run(workers, 1, 0)[0] == Approx(share * 8000 * 4 * (1 + workers) + cuts).epsilon(1e-9));
  }
  // Three steps more: 7 messages of 1,000 bytes and an all-gather of 7,000 in 3; then 125 entries are added
  // up for each of 7, and 1,000 put into a vector.
  const auto three = [&](double add_s) { return run(8, 1000, add_s)[1] - 0.0; };
  const double region_s = 0;  // host of the first step's cuts: none
  CHECK(three(1e-8) - three(0) == Approx(4 * (7 * 125 + 1000) * 1e-8 + region_s).epsilon(1e-6));
  const double gather_s = 3 * 1e-5 + 7e-6, exchange_s = 7 * (1e-5 + 1e-6);
  const auto steps = [&](std::uint64_t count) {
    Job job = scripted_job(star(8, 1e-5, 1e9), nullptr, 1e6);
    use_algorithm(job, "ok_topk", {{"k", 1000}});
    job.stop.steps = count;
    return simulate_job(job).end_s;
  };
  CHECK(steps(20) - steps(10) == Approx(10 * (gather_s + exchange_s)).epsilon(1e-9));
}

}  // namespace simsgd::test::algorithms_ok_topk
