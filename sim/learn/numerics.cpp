#include "sim/learn/numerics.hpp"
#include "sim/learn/model.hpp"

#include <malloc.h>
#include <Eigen/Core>
#include <limits>

namespace simsgd {

void fix_numerics() {
  constexpr std::ptrdiff_t kKiB = 1024;
  Eigen::setCpuCacheSizes(32 * kKiB, 512 * kKiB, 16 * kKiB * kKiB);
}

void keep_freed_memory() {
  constexpr int kLargestOnHeap_bytes = 32 << 20;  // the most that glibc lets one ask for
  mallopt(M_MMAP_THRESHOLD, kLargestOnHeap_bytes);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace simsgd
