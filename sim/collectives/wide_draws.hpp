// 64 jitter draws at once: sixteen blocks of Philox4x32-10 side by side in vector registers, and the linear
// interpolation in a table of quantiles. Both give bit by bit what Random123 and std::fma give one by one;
// test: tests/collectives/jitter.cpp. Only recurrence.cpp includes this.
//   words of the interpolation: interval = upper 12 bits, fraction = (lower 20 bits + 1/2) / 2^20
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace simsgd {

inline constexpr std::size_t kWideBlocks = 16;
inline constexpr std::size_t kWideDraws = 4 * kWideBlocks;
using WideBits = std::array<std::uint32_t, kWideDraws>;

/// The table has 2^12 intervals.
inline constexpr std::uint32_t kIntervals = 4096;
inline std::uint32_t interval_of(std::uint32_t bits) { return bits >> 20; }
inline double fraction_of(std::uint32_t bits) {
  return (static_cast<double>(bits & 0xfffffu) + 0.5) * 0x1p-20;
}
inline bool is_outermost(std::uint32_t bits) {
  return interval_of(bits) == 0 || interval_of(bits) == kIntervals - 1;
}
inline double interpolate(const double* table, std::uint32_t bits) {
  const double* entry = table + interval_of(bits);
  return std::fma(fraction_of(bits), entry[1] - entry[0], entry[0]);
}

#ifdef __AVX2__

/// Block b of the sixteen is Philox of `counter` with its first word XOR (first_block + b): 4 words, in
/// order.
inline void wide_philox(const r123::Philox4x32::ctr_type& counter, const r123::Philox4x32::key_type& key,
                        std::uint32_t first_block, WideBits& bits) {
  constexpr int kVectors = kWideBlocks / 4;  // a vector holds one word of four blocks, in 64 bits each
  __m256i word[4][kVectors];
  const auto all = [](std::uint32_t value) { return _mm256_set1_epi64x(static_cast<long long>(value)); };
  for (int v = 0; v < kVectors; ++v) {
    const __m256i block =
        _mm256_add_epi64(all(first_block + 4 * static_cast<std::uint32_t>(v)), _mm256_set_epi64x(3, 2, 1, 0));
    word[0][v] = _mm256_xor_si256(all(counter[0]), block);
    for (std::size_t i = 1; i < 4; ++i) word[i][v] = all(counter[i]);
  }
  std::uint32_t key0 = key[0], key1 = key[1];
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round, key0 += PHILOX_W32_0, key1 += PHILOX_W32_1) {
    for (int v = 0; v < kVectors; ++v) {
      // The upper halves of words 1 and 3 keep what is left of products; multiplication ignores them.
      const __m256i product0 = _mm256_mul_epu32(word[0][v], all(PHILOX_M4x32_0));
      const __m256i product1 = _mm256_mul_epu32(word[2][v], all(PHILOX_M4x32_1));
      word[0][v] = _mm256_xor_si256(_mm256_srli_epi64(product1, 32), _mm256_xor_si256(word[1][v], all(key0)));
      word[2][v] = _mm256_xor_si256(_mm256_srli_epi64(product0, 32), _mm256_xor_si256(word[3][v], all(key1)));
      word[1][v] = product1;
      word[3][v] = product0;
    }
  }
  for (int v = 0; v < kVectors; ++v) {  // from one word of four blocks to four words of one block
    const __m256i words01 = _mm256_blend_epi32(word[0][v], _mm256_slli_epi64(word[1][v], 32), 0xAA);
    const __m256i words23 = _mm256_blend_epi32(word[2][v], _mm256_slli_epi64(word[3][v], 32), 0xAA);
    const __m256i blocks02 = _mm256_unpacklo_epi64(words01, words23);
    const __m256i blocks13 = _mm256_unpackhi_epi64(words01, words23);
    auto* out = reinterpret_cast<__m256i*>(bits.data() + std::ptrdiff_t{16} * v);
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(blocks02, blocks13, 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(blocks02, blocks13, 0x31));
  }
}

/// interpolate() of each; true if any draw is in an outermost interval.
inline bool wide_interpolate(const double* table, const WideBits& bits, double* values) {
  __m128i outermost = _mm_setzero_si128();
  for (std::size_t k = 0; k < kWideDraws; k += 4) {
    const __m128i draws = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bits.data() + k));
    const __m128i interval = _mm_srli_epi32(draws, 20);
    outermost = _mm_or_si128(outermost, _mm_cmpeq_epi32(interval, _mm_setzero_si128()));
    outermost = _mm_or_si128(outermost, _mm_cmpeq_epi32(interval, _mm_set1_epi32(kIntervals - 1)));
    const __m256d low_bits = _mm256_cvtepi32_pd(_mm_and_si128(draws, _mm_set1_epi32(0xfffff)));
    const __m256d fraction =
        _mm256_mul_pd(_mm256_add_pd(low_bits, _mm256_set1_pd(0.5)), _mm256_set1_pd(0x1p-20));
    // Two neighbouring entries with one load; faster than a gather.
    const auto pair = [table, interval](auto lane) {
      return _mm_loadu_pd(table + _mm_extract_epi32(interval, decltype(lane)::value));
    };
    const __m256d entries02 =
        _mm256_set_m128d(pair(std::integral_constant<int, 2>{}), pair(std::integral_constant<int, 0>{}));
    const __m256d entries13 =
        _mm256_set_m128d(pair(std::integral_constant<int, 3>{}), pair(std::integral_constant<int, 1>{}));
    const __m256d low = _mm256_unpacklo_pd(entries02, entries13);
    const __m256d high = _mm256_unpackhi_pd(entries02, entries13);
    _mm256_storeu_pd(values + k, _mm256_fmadd_pd(fraction, _mm256_sub_pd(high, low), low));
  }
  return _mm_testz_si128(outermost, outermost) == 0;
}

#else

inline void wide_philox(const r123::Philox4x32::ctr_type& counter, const r123::Philox4x32::key_type& key,
                        std::uint32_t first_block, WideBits& bits) {
  for (std::uint32_t b = 0; b < kWideBlocks; ++b) {
    r123::Philox4x32::ctr_type at = counter;
    at[0] ^= first_block + b;
    const r123::Philox4x32::ctr_type block = r123::Philox4x32{}(at, key);
    for (std::size_t i = 0; i < 4; ++i) bits[4 * b + i] = block[i];
  }
}

inline bool wide_interpolate(const double* table, const WideBits& bits, double* values) {
  bool outermost = false;
  for (std::size_t k = 0; k < kWideDraws; ++k) {
    values[k] = interpolate(table, bits[k]);
    outermost = outermost || is_outermost(bits[k]);
  }
  return outermost;
}

#endif

}  // namespace simsgd
