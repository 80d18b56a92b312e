// gTopKAllReduce: log2 P rounds of the top operator, after which all workers have the same k entries.
//   tree                round j: of the ranks that are multiples of 2^j, each odd one sends its k entries to
//   the
//                       even one before it, which merges; then rank 0 broadcasts along a binomial tree
//                         2 log2 P (alpha + k b beta) + log2 P k mu
//   recursive_doubling  round j: rank r exchanges with r XOR 2^j, both merge; no broadcast
//                         log2 P (alpha + k b beta + k mu)
// b bytes per entry, mu merging a received entry. Other P: the ranks r >= p = 2^floor(log2 P) first send to
// r - p, which merges, and get the result from there at the end. Both variants merge the same vectors in the
// same order. Shi et al., ICDCS 2019, arXiv:1901.04359, algorithm 2. Tests: tests/algorithms/gtopk.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/schedule.hpp"
#include "sim/worker.hpp"

namespace simsgd {

enum class MergeVariant : std::uint8_t { tree, recursive_doubling };

/// Which of a worker's entries count as sent, the others going back to its residual.
enum class PutBack : std::uint8_t {
  /// As published. Tree: those whose index is in the result, although the worker's own value may have been
  /// dropped in a merge; that value is lost. Recursive doubling: those that survived all rounds at the
  /// worker.
  paper,
  /// Those whose value is in the result. In a tree the workers must be told which these are: a bit per entry
  /// more on the way down.
  exact,
};

/// The merges of P workers' vectors in order: `into` and `from` hold vectors, `into` the result.
struct MergeStep {
  std::int32_t into = 0, from = 0;
  std::int32_t round = 0;
};

struct MergeScheduleRequest {
  int workers = 1;
  MergeVariant variant = MergeVariant::tree;
  PutBack put_back = PutBack::paper;
  double entries = 1;
  double bytes_per_entry = 8;
  double merge_s = 0;  ///< per received entry
};
Schedule merge_schedule(const MergeScheduleRequest& request);

/// The merged vector of all contributions, k entries. Its scalars tell for each merge how many distinct
/// indices there were, how many the cut dropped, and which: for what follows.
Tensor merge_all(Executor& executor, const std::vector<Tensor>& contributions, std::size_t k);

/// The same on the way, message by message: each vector takes along what its merges have dropped where a
/// worker is to know it, and how many distinct indices they had (24 bytes a merge).
Merging merging_of(const MergeScheduleRequest& request, std::size_t k);

/// What worker `rank` keeps: `accumulated` without the entries of `selected` that count as sent.
Tensor residual_after_merge(Executor& executor, const Tensor& accumulated, const Tensor& selected,
                            const Tensor& merged, const MergeScheduleRequest& request, int rank);

/// Scalars: for each round, the mean over its merges of the distinct indices before the cut.
Tensor distinct_by_round(Executor& executor, const Tensor& merged, int workers);

}  // namespace simsgd
