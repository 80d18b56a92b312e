// Choosing the largest entries of a vector, and the top operator on what was chosen.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "algorithms/sparse/sparse.hpp"
#include "algorithms/sparse/sparsification.hpp"
#include "sim/observer.hpp"
#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test::algorithms_sparse {

namespace {

TensorData sparse(std::vector<std::int32_t> indices, std::vector<float> values) {
  return {std::move(values), std::move(indices), {}};
}

bool same(const TensorData& a, const TensorData& b) { return a.values == b.values && a.indices == b.indices; }

TensorData chosen(const std::vector<float>& dense, std::size_t k) {
  TensorData out;
  select_top_k(dense, k, out);
  return out;
}

TensorData merged(const TensorData& a, const TensorData& b, std::size_t k) {
  TensorData out;
  merge_top_k(a, b, k, out);
  return out;
}

std::vector<float> normal_values(std::size_t n, std::uint64_t seed, float step = 0) {
  Stream stream({.seed = seed, .purpose = Purpose::algorithm, .entity = 0, .step = 1});
  std::vector<float> values(n);
  for (float& value : values) {
    value = static_cast<float>(stream.normal());
    if (step > 0) value = std::round(value / step) * step;
  }
  return values;
}

// By sorting everything: larger magnitude first, then lower index.
TensorData by_sorting(const std::vector<float>& dense, std::size_t k) {
  std::vector<std::int32_t> order(dense.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&dense](std::int32_t i) { return std::fabs(dense[static_cast<std::size_t>(i)]); };
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return at(a) > at(b); });
  order.resize(std::min(k, order.size()));
  std::sort(order.begin(), order.end());
  TensorData out;
  for (const std::int32_t i : order) out.values.push_back(dense[static_cast<std::size_t>(i)]);
  out.indices = order;
  return out;
}

}  // namespace

TEST_CASE("the entries of largest magnitude are chosen, with their signs, in the order of their indices") {
  CHECK(same(chosen({3, -5, 1, 0, 4, -2}, 2), sparse({1, 4}, {-5, 4})));
  CHECK(same(chosen({3, -5, 1, 0, 4, -2}, 3), sparse({0, 1, 4}, {3, -5, 4})));
}

TEST_CASE("of equal magnitudes the lower index is chosen; with k entries or fewer, all are") {
  CHECK(same(chosen({1, -1, 2, 1}, 2), sparse({0, 2}, {1, 2})));
  CHECK(same(chosen({0, 0, 0}, 2), sparse({0, 1}, {0, 0})));
  CHECK(same(chosen({1, -1}, 2), sparse({0, 1}, {1, -1})));
  CHECK(same(chosen({1, -1}, 9), sparse({0, 1}, {1, -1})));
}

TEST_CASE("the choice is that of a full sort, with and without equal magnitudes") {
  for (const std::size_t n : {1u, 2u, 7u, 1000u, 30011u}) {
    for (const float step : {0.0f, 0.25f}) {  // 0.25: about 30 different magnitudes
      const std::vector<float> dense = normal_values(n, 1 + n, step);
      for (const std::size_t k : {std::size_t{1}, n / 1000, n / 10, n / 2, n - 1}) {
        if (k == 0) continue;
        CAPTURE(n);
        CAPTURE(step);
        CAPTURE(k);
        CHECK(same(chosen(dense, k), by_sorting(dense, k)));
      }
    }
  }
}

TEST_CASE("a NaN counts as the largest: it is sent, and found") {
  const TensorData out = chosen({1, std::nanf(""), 1e30f}, 1);
  CHECK(out.indices == std::vector<std::int32_t>{1});
}

TEST_CASE("selection by a sample gives at most k entries, near k, none smaller than one left out") {
  constexpr std::size_t kEntries = 100000, kMost = 1000, kSample = 10000;
  double count = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const std::vector<float> dense = normal_values(kEntries, seed);
    TensorData out;
    select_by_sample(dense, kMost, kSample, Stream({.seed = seed}), out);
    CHECK(out.values.size() <= kMost);
    CHECK(std::is_sorted(out.indices.begin(), out.indices.end()));
    CHECK(same(out, by_sorting(dense, out.values.size())));  // the largest of all, however many
    count += static_cast<double>(out.values.size()) / 20;
  }
  // 100 +- 10 of the sample lie above the threshold, so about 1000 +- 100 of all do, cut at 1000.
  CHECK(count > 900);
  TensorData all, exact;
  const std::vector<float> few = normal_values(50, 1);
  select_by_sample(few, 5, 50, Stream({.seed = 1}), all);
  select_top_k(few, 5, exact);
  CHECK(same(all, exact));  // a sample of everything is exact
}

TEST_CASE("the top operator adds two sparse vectors and keeps the k largest of the sum") {
  // {1: 2, 4: -3} + {1: 2.5, 7: 1} = {1: 4.5, 4: -3, 7: 1}; the two largest are 1 and 4.
  TensorData out;
  const MergeOutcome outcome = merge_top_k(sparse({1, 4}, {2, -3}), sparse({1, 7}, {2.5, 1}), 2, out);
  CHECK(same(out, sparse({1, 4}, {4.5, -3})));
  CHECK(outcome.distinct == 3);
  CHECK(outcome.dropped == std::vector<std::int32_t>{7});
  // What cancels is small, but stays an index.
  CHECK(same(merged(sparse({1, 4}, {2, -3}), sparse({1, 4}, {-2, 1}), 2), sparse({1, 4}, {0, -2})));
}

TEST_CASE("the top operator is commutative, and agrees with a dense sum") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const std::vector<float> x = normal_values(500, seed), y = normal_values(500, seed + 100);
    const TensorData a = chosen(x, 40), b = chosen(y, 40);
    std::vector<float> sum(500, 0.0f);
    for (const TensorData* each : {&a, &b})
      for (std::size_t i = 0; i < each->values.size(); ++i)
        sum[static_cast<std::size_t>(each->indices[i])] += each->values[i];
    CHECK(same(merged(a, b, 40), merged(b, a, 40)));
    CHECK(same(merged(a, b, 40), chosen(sum, 40)));
  }
}

TEST_CASE("the top operator is not associative") {
  // k = 1. ({0: 3} T {1: 2}) T {1: 2} = {0: 3} T {1: 2} = {0: 3};  {0: 3} T ({1: 2} T {1: 2}) = {1: 4}.
  const TensorData a = sparse({0}, {3}), b = sparse({1}, {2}), c = sparse({1}, {2});
  CHECK(same(merged(merged(a, b, 1), c, 1), sparse({0}, {3})));
  CHECK(same(merged(a, merged(b, c, 1), 1), sparse({1}, {4})));
}

TEST_CASE("k truncates, is at least 1 and at most d; k given as k / d comes out as k") {
  CHECK(entries_of(0.001, 14728266) == 14728);
  CHECK(entries_of(0.001, 25557032) == 25557);
  CHECK(entries_of(0.001, 999) == 1);
  CHECK(entries_of(1, 36) == 36);
  for (std::size_t k = 1; k <= 1000; ++k) CHECK(entries_of(static_cast<double>(k) / 25557032, 25557032) == k);
}

// Ok-Topk against a model of its own; what it sends; that nothing is lost.

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

// SIDCo against a model of its own; how near its thresholds come to k entries.

namespace {

Vector over(const Vector& v, double threshold) {
  std::vector<double> kept;
  for (const double x : v)
    if (x > threshold) kept.push_back(x);
  return Eigen::Map<const Vector>(kept.data(), static_cast<Eigen::Index>(kept.size()));
}

/// The formulas of the method's header, on vectors.
double exponential(const Vector& x, double d) { return -x.mean() * std::log(d); }
double pareto(const Vector& x, double d) {
  const double mean = x.mean();
  const double var = (x.array() - mean).square().sum() / static_cast<double>(x.size() - 1);
  const double c = (mean * mean / var - 1) / 2, b = mean * (mean * mean / var + 1) / 2;
  return b * (1 - std::pow(d, c)) / c;
}
double gamma(const Vector& x, double d) {
  const double s = std::log(x.mean()) - (x.array() + 2.220446049250313e-16).log().mean();
  const double alpha = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  return -x.mean() / alpha * (std::log(d) + std::lgamma(alpha));
}

double threshold(const std::string& law, const Vector& a, double d, int stages) {
  const auto first = law == "exponential" ? exponential : law == "gamma" ? gamma : pareto;
  const auto later = law == "exponential" ? exponential : pareto;
  Vector x = a.cwiseAbs();
  if (stages == 1 || d >= 0.25) return first(x, d);
  double eta = first(x, 0.25);
  for (int stage = 2; stage <= stages; ++stage) {
    x = over(x, eta);
    if (x.size() < 2 || x.maxCoeff() == x.minCoeff()) break;
    eta = x.minCoeff() + later((x.array() - x.minCoeff()).matrix(), std::pow(d / 0.25, 1.0 / (stages - 1)));
  }
  return eta;
}

}  // namespace

TEST_CASE("sidco is its paper's algorithm: thresholds from fitted laws, stages that adapt, error feedback") {
  for (const std::string law : {"exponential", "gamma", "generalized_pareto"})
    for (const int stages : {1, 2}) {
      CAPTURE(law);
      CAPTURE(stages);
      const Job job = learning_job(4, "sidco", {{"k", 4}, {"distribution", law}, {"stages", stages}});
      Workers workers(job);
      std::vector<Vector> residual(4, Vector::Zero(36));
      std::vector<int> now(4, stages);
      std::vector<double> sum(4, 0.0);
      for (std::uint64_t step = 1; step <= kSteps; ++step) {
        Vector mean = Vector::Zero(36);
        for (std::size_t i = 0; i < 4; ++i) {
          residual[i] += workers.gradient(i, step);
          const double eta = std::max(0.0, threshold(law, residual[i], 4.0 / 36, now[i]));
          for (Eigen::Index e = 0; e < 36; ++e) {
            if (std::abs(residual[i][e]) < eta) continue;
            mean[e] += residual[i][e] / 4;
            residual[i][e] = 0;
            sum[i] += 0.25;
          }
          if (step % 5 != 0) continue;
          if (sum[i] / 5 > 1.2) --now[i];
          if (sum[i] / 5 < 0.8) ++now[i];
          now[i] = std::clamp(now[i], 1, 4);  // log2 9 is 3.2
          sum[i] = 0;
        }
        for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * mean;
      }
      const FakeResult result = run_fake(job);
      CHECK(result.models[0] == result.models[3]);
      workers.check_against(result);
    }
}

TEST_CASE(
    "sidco: a pass for the fit and one for the choice, and one more for each further stage; sends what topk_sgd sends") {
  const auto run = [](const std::string& method, Json parameters) {
    Job job = scripted_job(star(4, 1e-5, 1e9), nullptr, 1e6);
    job.cluster.device.memory_Bps = 1e11;
    parameters["k"] = 1000;
    use_algorithm(job, method, parameters);
    job.stop.steps = 2;
    const RunRecord record = simulate_job(job);
    return std::vector<double>{sent_bytes(record.workers[1], Traffic::gradient),
                               spent_s(record.workers[1], Activity::selection)};
  };
  const std::vector<double> one = run("sidco", Json::object());
  CHECK(one[0] == run("topk_sgd", Json::object())[0]);
  CHECK(one[0] == Approx(2 * 3 * 8000).epsilon(1e-12));
  CHECK(one[1] == Approx(2 * (4e6 + 4e6 + 8000) / 1e11).epsilon(1e-12));
  // Of 4 MB a quarter is left after the first stage, and sqrt(0.001 / 0.25) = 0.0632 of that after the
  // second.
  const double second = 1e6, third = 1e6 * std::sqrt(0.001 / 0.25);
  CHECK(run("sidco", {{"stages", 3}})[1] ==
        Approx(one[1] + 2 * (4e6 + 2 * second + second + 2 * third) / 1e11).epsilon(1e-12));
}

}  // namespace simsgd::test::algorithms_sparse
