#include "algorithms/wait_avoiding/butterfly.hpp"

#include <numeric>

#include "sim/collectives/schedule.hpp"

namespace simsgd {

std::vector<int> butterfly_group(int rank, int workers, int size, std::uint64_t iteration) {
  const int bits = ceil_log2(workers), phases = ceil_log2(size);
  int mask = 0;
  for (int phase = 0; phase < phases; ++phase)
    mask |= 1 << (iteration * static_cast<std::uint64_t>(phases) + static_cast<std::uint64_t>(phase)) %
                     static_cast<std::uint64_t>(bits);
  std::vector<int> group;
  for (int other = 0; other < workers; ++other)
    if ((other & ~mask) == (rank & ~mask)) group.push_back(other);
  return group;
}

std::uint64_t butterfly_cycle(int workers, int size) {
  const int bits = ceil_log2(workers), phases = ceil_log2(size);
  return phases == 0 ? 1 : static_cast<std::uint64_t>(bits / std::gcd(bits, phases));
}

}  // namespace simsgd
