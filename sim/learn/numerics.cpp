#include "sim/learn/numerics.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <Eigen/Core>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace simsgd {

void fix_numerics() {
  constexpr std::ptrdiff_t kKiB = 1024;
  Eigen::setCpuCacheSizes(32 * kKiB, 512 * kKiB, 16 * kKiB * kKiB);
}

namespace {

/// Where Linux gives huge pages to those who ask for them ("madvise"), asks for them for the heap: for so
/// much of it, since nobody can ask for what it grows by later.
void use_huge_pages() {
  constexpr int kHeap_bytes = 256 << 20, kUsualPad_bytes = 128 << 10;
  constexpr std::uintptr_t kHugePage_bytes = 2 << 20;
  const auto end = [] { return static_cast<char*>(sbrk(0)); };
  char* first = end();
  first += kHugePage_bytes - reinterpret_cast<std::uintptr_t>(first) % kHugePage_bytes;
  mallopt(M_TOP_PAD, kHeap_bytes);
  void* volatile grows_it = std::malloc(kHugePage_bytes);
  std::free(grows_it);
  mallopt(M_TOP_PAD, kUsualPad_bytes);
  if (first < end()) madvise(first, static_cast<std::size_t>(end() - first), MADV_HUGEPAGE);
}

}  // namespace

void keep_freed_memory() {
  constexpr int kLargestOnHeap_bytes = 32 << 20;  // the most that glibc lets one ask for
  mallopt(M_MMAP_THRESHOLD, kLargestOnHeap_bytes);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  use_huge_pages();
}

}  // namespace simsgd
