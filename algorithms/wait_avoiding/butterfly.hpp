// Dynamic groups: which ranks average in which iteration, so that an update reaches everybody in
// ceil(log_S P) iterations.
//   L = log2 P, g = log2 S; in iteration t, phase r = 0 ... g-1 pairs ranks that differ in bit (t g + r) mod
//   L: a group are the ranks that agree in all other bits. P = 8, S = 4: {0,1,2,3} {4,5,6,7}, then {0,1,4,5}
//   {2,3,6,7}, then {0,2,4,6} {1,3,5,7}, and again.
// Li et al., WAGMA-SGD, IEEE TPDS 32(7), 2021, Algorithm 1, arXiv:2005.00124 (whose listing forgets to reset
// its mask).
#pragma once

#include <cstdint>
#include <vector>

namespace simsgd {

/// `workers` and `size` are powers of two, size <= workers. Ascending.
std::vector<int> butterfly_group(int rank, int workers, int size, std::uint64_t iteration);

/// Iterations after which the groups repeat.
std::uint64_t butterfly_cycle(int workers, int size);

}  // namespace simsgd
