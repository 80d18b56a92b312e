// Sparse vectors: which entries of a dense vector are sent, and how two such choices are merged. A sparse
// tensor pairs `values` with ascending `indices`. Plain functions of tensors; sparsification.hpp makes them a
// part of training.
//
// Magnitudes are compared by their bits without the sign, so that the order is total: of equal magnitudes the
// lower index counts as larger, and a NaN is larger than everything (it reaches the model, where a run ends
// with a sentence).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/learn/tensor.hpp"

namespace simsgd {

/// The k entries of largest magnitude (all, if there are no more than k), signed, in linear time: a histogram
/// of magnitudes finds the bucket of the k-th largest, the entries of that bucket are divided by nth_element.
/// `out`'s values and indices are replaced.
void select_top_k(std::span<const float> dense, std::size_t k, TensorData& out);

/// The same with a threshold estimated from `sample` entries drawn with replacement: at most k entries, and
/// about k. Where more reach the threshold, the k largest of these are taken; where fewer do, these alone.
/// Lin, Han, Mao, Wang, Dally, "Deep Gradient Compression", ICLR 2018, arXiv:1712.01887, section 3.
void select_by_sample(std::span<const float> dense, std::size_t k, std::size_t sample, Stream stream,
                      TensorData& out);

/// The magnitude of the k-th largest entry; 0 where there are fewer.
float top_k_threshold(std::span<const float> dense, std::size_t k);
/// All entries of at least that magnitude.
void select_from(std::span<const float> dense, float threshold, TensorData& out);

/// What happened in a merge.
struct MergeOutcome {
  std::size_t distinct = 0;           ///< indices of the sum, before the cut
  std::vector<std::int32_t> dropped;  ///< indices that the cut has removed, ascending
};

/// The top operator of gTop-k: the sum of two sparse vectors (values of common indices are added), cut to its
/// k entries of largest magnitude. Commutative, not associative. Shi et al., ICDCS 2019, arXiv:1901.04359,
/// definition 1.
MergeOutcome merge_top_k(const TensorData& a, const TensorData& b, std::size_t k, TensorData& out);

}  // namespace simsgd
