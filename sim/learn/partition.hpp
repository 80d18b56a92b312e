// Which training samples belong to which worker, and in which order they are drawn. Functions of their
// arguments and the seed alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/random.hpp"

namespace simsgd {

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
