// What codecs share that treat a message block by block: the last block may be shorter.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace simsgd::codecs {

/// Calls `each` with every block of both.
template <class Each>
void for_each_block(std::size_t size, std::span<const float> from, std::span<float> to, Each each) {
  for (std::size_t at = 0; at < from.size(); at += size) {
    const std::size_t length = std::min(size, from.size() - at);
    each(from.subspan(at, length), to.subspan(at, length));
  }
}

inline double blocks_of(double numbers, std::int64_t size) {
  return std::ceil(numbers / static_cast<double>(size));
}

inline float largest_magnitude(std::span<const float> block) {
  float largest = 0;
  for (const float x : block) largest = std::max(largest, std::fabs(x));
  return largest;
}

/// Places of the k entries of largest magnitude, ascending; of equal ones the first. A NaN is largest.
inline std::vector<std::uint32_t> largest_places(std::span<const float> block, std::size_t k) {
  const auto key = [&block](std::uint32_t place) {
    return std::bit_cast<std::uint32_t>(block[place]) & 0x7fffffffu;
  };
  std::vector<std::uint32_t> places(block.size());
  std::iota(places.begin(), places.end(), 0u);
  if (k >= places.size()) return places;
  std::nth_element(
      places.begin(), places.begin() + static_cast<std::ptrdiff_t>(k), places.end(),
      [&key](std::uint32_t a, std::uint32_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  places.resize(k);
  std::sort(places.begin(), places.end());
  return places;
}

/// Entries that a message of `numbers` keeps, k of each chunk.
inline double chosen_of(double numbers, std::int64_t chunk, std::int64_t k) {
  const double whole = std::floor(numbers / static_cast<double>(chunk));
  const double rest = numbers - whole * static_cast<double>(chunk);
  return whole * static_cast<double>(k) + std::min(rest, static_cast<double>(k));
}

/// Bits that tell which of `chunk` entries one is.
inline double index_bits(std::int64_t chunk) {
  return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(chunk - 1)));
}

}  // namespace simsgd::codecs
