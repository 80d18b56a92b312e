#include "sim/learn/dataset.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

template <class T>
void read_inputs(const DataSet& data, std::size_t sample, T* to) {
  const auto features = static_cast<std::size_t>(data.features);
  if (data.is_text()) {
    const std::uint16_t* from = data.tokens.data() + sample * static_cast<std::size_t>(data.stride);
    for (std::size_t i = 0; i < features; ++i) to[i] = static_cast<T>(from[i]);
  } else if (data.bytes.empty()) {
    const float* from = data.floats.data() + sample * features;
    for (std::size_t i = 0; i < features; ++i) to[i] = static_cast<T>(from[i]);
  } else {
    const std::uint8_t* from = data.bytes.data() + sample * features;
    const auto scale = static_cast<T>(data.scale);
    const auto shift = static_cast<T>(data.shift);
    for (std::size_t i = 0; i < features; ++i) to[i] = static_cast<T>(from[i]) * scale + shift;
  }
}

// Asks for the samples' bytes all at once: samples lie anywhere, and one after another each would be waited
// for.
void fetch(const DataSet& data, std::span<const std::int32_t> samples) {
  constexpr std::int64_t kCacheLine_bytes = 64;
  if (data.bytes.empty()) return;
  for (const std::int32_t sample : samples)
    for (std::int64_t at = 0; at < data.features; at += kCacheLine_bytes)
      __builtin_prefetch(data.bytes.data() + sample * data.features + at);
}

}  // namespace

template <class T>
Batch<T> DataSet::batch(std::span<const std::int32_t> samples) const {
  constexpr std::size_t kFetched = 32;
  Batch<T> batch;
  batch.inputs.resize(features, static_cast<Eigen::Index>(samples.size()));
  if (classes > 0) batch.labels.reserve(samples.size() * static_cast<std::size_t>(labels_per_sample()));
  if (!targets.empty()) batch.targets.resize(target_size, static_cast<Eigen::Index>(samples.size()));
  for (const std::int32_t sample : samples)
    CHECK(sample >= 0 && sample < count, "a sample outside of its data set");
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (s % kFetched == 0) fetch(*this, samples.subspan(s, std::min(kFetched, samples.size() - s)));
    const auto sample = static_cast<std::size_t>(samples[s]);
    read_inputs(*this, sample, batch.inputs.data() + s * static_cast<std::size_t>(features));
    if (!labels.empty()) batch.labels.push_back(labels[sample]);
    if (is_text()) {
      const auto next = tokens.begin() + static_cast<std::ptrdiff_t>(samples[s] * stride + 1);
      batch.labels.insert(batch.labels.end(), next, next + static_cast<std::ptrdiff_t>(features));
    }
    const auto size = static_cast<std::size_t>(target_size);
    for (std::size_t i = 0; !targets.empty() && i < size; ++i)
      batch.targets.data()[s * size + i] = static_cast<T>(targets[sample * size + i]);
  }
  return batch;
}

namespace {

std::string problem_of_text(const DataSet& data) {
  if (!data.bytes.empty() || !data.floats.empty() || !data.labels.empty() || !data.targets.empty())
    return "a text has inputs, labels or targets beside its tokens";
  if (data.stride < 1 ||
      (data.count - 1) * data.stride + data.features >= static_cast<std::int64_t>(data.tokens.size()))
    return "its samples reach beyond its tokens";
  if (std::any_of(data.tokens.begin(), data.tokens.end(),
                  [&data](std::uint16_t token) { return token >= data.classes; }))
    return "a token is not a class";
  return "";
}

}  // namespace

std::string problem_of(const DataSet& data) {
  const auto count = static_cast<std::size_t>(data.count);
  const std::size_t numbers = count * static_cast<std::size_t>(data.features);
  if (data.count <= 0 || data.features <= 0) return "it has no samples or no features";
  if (data.count > std::numeric_limits<std::int32_t>::max()) return "it has more samples than fit 32 bits";
  if (data.is_text()) return problem_of_text(data);
  if (data.bytes.size() != (data.floats.empty() ? numbers : 0) ||
      data.floats.size() != (data.bytes.empty() ? numbers : 0))
    return "its inputs are not features x count bytes, or as many floats";
  if (data.classes > 0 ? data.labels.size() != count : !data.labels.empty())
    return "it has not one label for each sample";
  if (std::any_of(data.labels.begin(), data.labels.end(),
                  [&data](std::int32_t label) { return label < 0 || label >= data.classes; }))
    return "a label is not a class";
  if (data.targets.size() != count * static_cast<std::size_t>(data.target_size))
    return "it has not target_size targets for each sample";
  return "";
}

template Batch<float> DataSet::batch(std::span<const std::int32_t>) const;
template Batch<double> DataSet::batch(std::span<const std::int32_t>) const;

}  // namespace simsgd
