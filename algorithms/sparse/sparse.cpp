#include "algorithms/sparse/sparse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

constexpr int kShift = 19;                              // the upper 12 of the 31 bits of a magnitude:
constexpr std::size_t kBuckets = std::size_t{1} << 12;  // 16 buckets for each power of two

std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

/// The k largest are those above `key`, and the first `ties` of those equal to it.
struct Cut {
  std::uint32_t key = 0;
  std::size_t ties = 0;
};

/// How many magnitudes lie in each bucket. Four tables, because equal neighbours would wait for each other.
std::vector<std::uint32_t> histogram(std::span<const float> dense) {
  std::vector<std::uint32_t> counts(4 * kBuckets, 0);
  std::size_t i = 0;
  for (; i + 4 <= dense.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane)
      ++counts[lane * kBuckets + (magnitude(dense[i + lane]) >> kShift)];
  for (; i < dense.size(); ++i) ++counts[magnitude(dense[i]) >> kShift];
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
    counts[bucket] +=
        counts[kBuckets + bucket] + counts[2 * kBuckets + bucket] + counts[3 * kBuckets + bucket];
  counts.resize(kBuckets);
  return counts;
}

/// 0 < k < dense.size().
Cut cut_of(std::span<const float> dense, std::size_t k) {
  const std::vector<std::uint32_t> counts = histogram(dense);
  std::size_t bucket = kBuckets - 1, above = 0;
  for (; above + counts[bucket] < k; --bucket) above += counts[bucket];
  std::vector<std::uint32_t> keys;
  keys.reserve(counts[bucket]);
  for (const float value : dense)
    if (magnitude(value) >> kShift == bucket) keys.push_back(magnitude(value));
  const auto place = static_cast<std::ptrdiff_t>(k - above - 1);
  std::nth_element(keys.begin(), keys.begin() + place, keys.end(), std::greater<>());
  Cut cut{keys[static_cast<std::size_t>(place)], 0};
  const auto larger = static_cast<std::size_t>(
      std::count_if(keys.begin(), keys.end(), [&cut](std::uint32_t key) { return key > cut.key; }));
  cut.ties = k - above - larger;
  return cut;
}

void take(std::span<const float> dense, Cut cut, std::size_t most, TensorData& out) {
  out.values.reserve(most);
  out.indices.reserve(most);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const std::uint32_t key = magnitude(dense[i]);
    if (key < cut.key) continue;
    if (key == cut.key && cut.ties-- == 0) {
      cut.ties = 0;
      continue;
    }
    out.values.push_back(dense[i]);
    out.indices.push_back(static_cast<std::int32_t>(i));
  }
}

void take_all(std::span<const float> dense, TensorData& out) {
  out.values.assign(dense.begin(), dense.end());
  out.indices.resize(dense.size());
  for (std::size_t i = 0; i < dense.size(); ++i) out.indices[i] = static_cast<std::int32_t>(i);
}

/// Cuts a sparse vector to its k largest entries; returns the indices that it loses.
std::vector<std::int32_t> cut_to(std::size_t k, TensorData& sparse) {
  std::vector<std::int32_t> dropped;
  if (sparse.values.size() <= k) return dropped;
  Cut cut = cut_of(sparse.values, k);
  dropped.reserve(sparse.values.size() - k);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sparse.values.size(); ++i) {
    const std::uint32_t key = magnitude(sparse.values[i]);
    const bool tie = key == cut.key && cut.ties > 0;
    if (tie) --cut.ties;
    if (key <= cut.key && !tie) {
      dropped.push_back(sparse.indices[i]);
      continue;
    }
    sparse.values[kept] = sparse.values[i];
    sparse.indices[kept++] = sparse.indices[i];
  }
  sparse.values.resize(kept);
  sparse.indices.resize(kept);
  return dropped;
}

}  // namespace

void select_top_k(std::span<const float> dense, std::size_t k, TensorData& out) {
  CHECK(k > 0, "a sparse vector needs an entry");
  out.values.clear();
  out.indices.clear();
  if (k >= dense.size())
    take_all(dense, out);
  else
    take(dense, cut_of(dense, k), k, out);
}

void select_by_sample(std::span<const float> dense, std::size_t k, std::size_t sample, Stream stream,
                      TensorData& out) {
  CHECK(k > 0 && sample > 0, "a sparse vector needs an entry, and a threshold a sample");
  if (k >= dense.size() || sample >= dense.size()) {
    select_top_k(dense, k, out);
    return;
  }
  std::vector<std::uint32_t> keys(sample);
  for (std::uint32_t& key : keys)
    key = magnitude(dense[stream.below(static_cast<std::uint32_t>(dense.size()))]);
  const double share = static_cast<double>(k) / static_cast<double>(dense.size());
  const auto rank = std::clamp<std::ptrdiff_t>(std::lround(share * static_cast<double>(sample)), 1,
                                               static_cast<std::ptrdiff_t>(sample));
  std::nth_element(keys.begin(), keys.begin() + rank - 1, keys.end(), std::greater<>());
  out.values.clear();
  out.indices.clear();
  take(dense, {keys[static_cast<std::size_t>(rank - 1)], dense.size()}, 2 * k, out);
  cut_to(k, out);
}

float top_k_threshold(std::span<const float> dense, std::size_t k) {
  CHECK(k > 0, "the largest entries are at least one");
  if (k > dense.size()) return 0;
  if (k < dense.size()) return std::bit_cast<float>(cut_of(dense, k).key);
  std::uint32_t least = UINT32_MAX;
  for (const float value : dense) least = std::min(least, magnitude(value));
  return std::bit_cast<float>(least);
}

void select_from(std::span<const float> dense, float threshold, TensorData& out) {
  out.values.clear();
  out.indices.clear();
  take(dense, {magnitude(threshold), dense.size()}, 0, out);
}

MergeOutcome merge_top_k(const TensorData& a, const TensorData& b, std::size_t k, TensorData& out) {
  CHECK(k > 0, "a sparse vector needs an entry");
  out.values.clear();
  out.indices.clear();
  out.values.reserve(a.values.size() + b.values.size());
  out.indices.reserve(a.values.size() + b.values.size());
  std::size_t i = 0, j = 0;
  while (i < a.indices.size() || j < b.indices.size()) {
    const bool from_a = j == b.indices.size() || (i < a.indices.size() && a.indices[i] <= b.indices[j]);
    const bool from_b = i == a.indices.size() || (j < b.indices.size() && b.indices[j] <= a.indices[i]);
    out.indices.push_back(from_a ? a.indices[i] : b.indices[j]);
    out.values.push_back((from_a ? a.values[i] : 0.0f) + (from_b ? b.values[j] : 0.0f));
    i += from_a ? 1 : 0;
    j += from_b ? 1 : 0;
  }
  MergeOutcome outcome;
  outcome.distinct = out.indices.size();
  outcome.dropped = cut_to(k, out);
  return outcome;
}

}  // namespace simsgd
