// Sampler: which samples each worker reads at each step. Drawn without replacement: the samples that workers
// share (all of them where the partition is IID, its own share for each worker otherwise) are put into a new
// random order every epoch, and read in that order without end. A block that reaches the end of an epoch goes
// on in the next epoch's order, so nothing is dropped or padded, and a step may read more samples than there
// are.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sim/base/random.hpp"

namespace simsgd {

struct SamplerSpec {
  std::size_t count = 0;  ///< samples of the data set
  std::vector<std::vector<std::int32_t>>
      shares;  ///< of each worker, none empty; empty: all read all samples (IID)
  int workers = 1;
  int batch = 1;  ///< samples per worker and step
  std::uint64_t seed = 1;
};

/// Safe to use from several threads; what it returns is a function of its spec and of the arguments alone.
class Sampler {
 public:
  explicit Sampler(SamplerSpec spec);

  /// The samples that worker `rank` reads at `step` (from 1). IID: the rank-th slice of the step's block of
  /// workers x batch, so that P workers of batch b together read what one worker of batch P b reads.
  std::vector<std::int32_t> samples(int rank, std::uint64_t step) const;

  /// Samples that worker `rank` draws from.
  std::size_t share(int rank) const;

 private:
  /// Shared by the cache and the calls that are reading it.
  using Order = std::shared_ptr<const std::vector<std::int32_t>>;
  struct Epoch {
    std::uint64_t number = 0;
    Order order;
  };

  Order order(std::size_t source, std::uint64_t epoch) const;

  SamplerSpec spec_;
  std::size_t kept_epochs_ = 2;  // per source; the epochs that one step reads, and the one before
  mutable std::mutex mutex_;
  mutable std::vector<std::deque<Epoch>> cache_;  // of each source (share, or the whole set), newest first
};

// Which training samples belong to which worker, and in which order they are drawn. Functions of their
// arguments and the seed alone.

/// The numbers 0 ... count - 1 in an order drawn from `stream`, all orders alike probable (Durstenfeld's
/// shuffle, CACM 7(7), 1964).
std::vector<std::int32_t> permutation(std::size_t count, Stream stream);

struct DirichletSpec {
  int workers = 1;
  int classes = 1;
  double alpha =
      1;  ///< > 0; as it grows, shares tend to the class mix of the whole set; near 0, to few classes
  std::uint64_t seed = 1;
};

/// Label skew: the samples of every class are divided among the workers in proportions drawn from a symmetric
/// Dirichlet(alpha), as in Yurochkin et al., ICML 2019, arXiv:1905.12022 (and Li et al., ICDE 2022,
/// arXiv:2102.02079), so that both the class mix and the size of the shares differ. Every sample belongs to
/// exactly one worker. A worker that would be left without any takes one sample from the largest share. Needs
/// at least as many samples as workers. Each share is in ascending order.
std::vector<std::vector<std::int32_t>> dirichlet_shares(std::span<const std::int32_t> labels,
                                                        const DirichletSpec& spec);

}  // namespace simsgd
