#include "sim/base/random.hpp"

#include <cmath>
#include <numbers>

#include "sim/base/check.hpp"

namespace simsgd {

Stream::Stream(const StreamKey& key) {
  CHECK(key.step < (std::uint64_t{1} << 40), "a random stream is keyed by a step below 2^40");
  key_ = {{static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)}};
  const auto high_step = static_cast<std::uint32_t>(key.step >> 32);
  counter_ = {{0, key.entity, static_cast<std::uint32_t>(key.step),
               (static_cast<std::uint32_t>(key.purpose) << 8) | high_step}};
}

void Stream::refill() {
  const r123::Philox4x32::ctr_type bits = r123::Philox4x32{}(counter_, key_);
  for (std::size_t i = 0; i < block_.size(); ++i) block_[i] = bits[i];
  ++counter_[0];
  used_ = 0;
}

double Stream::uniform() {
  const std::uint64_t high = (*this)();
  const std::uint64_t low = (*this)();
  const std::uint64_t bits = ((high << 32) | low) >> 12;  // 52 bits, so that adding one half stays exact
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

std::uint32_t Stream::below(std::uint32_t n) {
  CHECK(n > 0, "a draw below zero is impossible");
  // Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019.
  std::uint64_t product = std::uint64_t{(*this)()} * n;
  auto low = static_cast<std::uint32_t>(product);
  if (low < n) {
    const std::uint32_t threshold = (0u - n) % n;
    while (low < threshold) {
      product = std::uint64_t{(*this)()} * n;
      low = static_cast<std::uint32_t>(product);
    }
  }
  return static_cast<std::uint32_t>(product >> 32);
}

double Stream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace simsgd
