// What the kinds of cargo share, and those that pass tensors on whole (cargo_tensors.cpp); the others cut
// dense vectors into blocks (cargo.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "measure/cargo.hpp"

namespace simsgd {

inline std::size_t whole_bytes(double bytes) { return static_cast<std::size_t>(std::ceil(bytes)); }

/// The length of a message: at least what the schedule says, where messages are filled up.
inline std::size_t at_least(const CargoContext& context, std::size_t length, const Stage& stage) {
  const bool fills = context.sizes == PackedSizes::workload || !context.learns;
  return fills ? std::max(length, whole_bytes(stage.bytes)) : length;
}

/// A message of zeros, with room for what is said behind it: else that would copy it.
inline Bytes zero_message(std::size_t length) {
  Bytes message;
  message.reserve(length + kBehindMessage_bytes);
  message.resize(length);
  return message;
}

/// Calls `each` for the blocks of a message, in their order.
template <class Each>
void for_blocks(const BlockRange& range, int blocks, Each each) {
  for (std::int32_t i = 0; i < range.count; ++i) each(static_cast<std::size_t>((range.first + i) % blocks));
}

/// Tensors of any length that are passed on as they are.
std::unique_ptr<Cargo> tensors_cargo(const CargoContext& context, const AnyCollective& collective,
                                     const Schedule& schedule);
/// A vector that is merged with others on its way. The collective must outlive it.
std::unique_ptr<Cargo> merged_cargo(const CargoContext& context, const CustomCollective& collective);

}  // namespace simsgd
