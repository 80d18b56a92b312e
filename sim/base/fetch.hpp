// Of many objects few are in the caches: what one of them holds comes while others are worked on, where it is
// known that it is needed next.
#pragma once

#include <cstddef>

namespace simsgd {

inline constexpr std::size_t kLineBytes = 64;

inline void fetch(const void* first, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes)
    __builtin_prefetch(static_cast<const char*>(first) + at);
}

}  // namespace simsgd
