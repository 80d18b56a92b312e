// Data sets in memory: images as bytes where they came as bytes (a quarter of the memory), everything else as
// floats. Immutable once loaded. Loaders are under data/.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace simsgd {

template <class T>
struct Batch;  // model.hpp, which brings Eigen

/// `count` samples of `features` inputs. Exactly one of `bytes` (scaled as byte * scale + shift when read),
/// `floats` (both sample after sample) and `tokens` is filled. `labels` for a classification, `targets`
/// (sample after sample) for a regression, neither for the quadratic and for text.
struct DataSet {
  std::string name;
  std::int64_t count = 0;
  std::int64_t features = 0;
  int height = 0, width = 0, channels = 0;  ///< shape of an image sample, 0 where it is none; channel-major
  int classes = 0;                          ///< 0 for a regression
  std::int64_t target_size = 0;
  std::vector<std::uint8_t> bytes;
  float scale = 1, shift = 0;
  std::vector<float> floats;
  /// Text: sample s are the `features` tokens from s * `stride` on, each in [0, classes), and each has a
  /// label: the token after it.
  std::vector<std::uint16_t> tokens;
  std::int64_t stride = 1;
  double bytes_per_token = 0;        ///< text: mean over these tokens
  std::vector<std::int32_t> labels;  ///< in [0, classes)
  std::vector<float> targets;
  std::vector<double> curvature;  ///< quadratic: the diagonal of A, one entry per feature; else empty
  /// Least expected loss where it is known (quadratic, teacher-student), else NaN.
  double optimum = std::numeric_limits<double>::quiet_NaN();

  bool is_text() const { return !tokens.empty(); }
  std::int64_t labels_per_sample() const { return is_text() ? features : 1; }

  /// Copies the samples named by `samples` into a batch of either precision.
  template <class T>
  Batch<T> batch(std::span<const std::int32_t> samples) const;
};

/// What a data source gives. Shared by the learners that read them.
struct DataSets {
  std::shared_ptr<const DataSet> train;
  std::shared_ptr<const DataSet> test;  ///< may be null
};

/// Empty if the members of `data` agree with each other, else what is wrong with them, as a clause.
std::string problem_of(const DataSet& data);

}  // namespace simsgd
