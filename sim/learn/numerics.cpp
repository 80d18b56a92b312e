#include "sim/learn/numerics.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <Eigen/Core>
#include <cstdint>
#include <cstdlib>
#include <fstream>

namespace simsgd {

void fix_numerics() {
  constexpr std::ptrdiff_t kKiB = 1024;
  Eigen::setCpuCacheSizes(32 * kKiB, 512 * kKiB, 16 * kKiB * kKiB);
}

namespace {

/// Of huge pages, if it can be had. Where Linux promises no more memory than there is (overcommit_memory 2),
/// each child process counts all of it again: there it is little.
std::size_t wanted_heap_bytes() {
  int promises = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> promises;
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  return promises == 2 ? 256 * kMiB : 4096 * kMiB;
}

}  // namespace

void keep_freed_memory() {
  constexpr std::size_t kLeast_bytes = std::size_t{64} << 20;
  constexpr std::uintptr_t kHugePage_bytes = 2 << 20;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);  // never
  const void* end = sbrk(0);
  void* volatile grows_it = std::malloc(kHugePage_bytes);
  std::free(grows_it);
  if (sbrk(0) == end) return;  // a sanitizer's heap
  // Where Linux gives huge pages to those who ask for them ("madvise"), asks for them for the heap: for so
  // much of it, since nobody can ask for what it grows by later.
  for (std::size_t bytes = wanted_heap_bytes(); bytes >= kLeast_bytes; bytes /= 2) {
    void* heap = std::malloc(bytes);
    if (!heap) continue;  // address space is limited
    const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(heap) % kHugePage_bytes;
    madvise(static_cast<char*>(heap) + (kHugePage_bytes - before), bytes - kHugePage_bytes, MADV_HUGEPAGE);
    std::free(heap);
    return;
  }
}

}  // namespace simsgd
