// Choosing the largest entries of a vector, and the top operator on what was chosen.
#include "algorithms/sparse/sparse.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/sparse/sparsification.hpp"

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

}  // namespace simsgd::test::algorithms_sparse
