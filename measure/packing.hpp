// Messages as bytes: a header with the lengths, then what the message holds. All ranks of a run are the same
// binary on machines of one kind, so numbers travel as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/learn/tensor.hpp"
#include "sim/roles/messages.hpp"

namespace simsgd {

using Bytes = std::vector<std::byte>;

/// How long messages are.
enum class PackedSizes : std::uint8_t {
  values,   ///< what they hold
  workload  ///< at least as long as in the workload: filled up with zeros
};

/// A message without values is filled up with zeros to its size in the workload, so that it takes its
/// time.
Bytes pack(Executor& executor, const Message& message, PackedSizes sizes = PackedSizes::values);
/// `from` stays unknown.
Message unpack(Executor& executor, std::span<const std::byte> bytes);

/// 64-bit FNV-1a: the same on all ranks.
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return hash;
}

/// MPI counts in int. Throws RunError beyond that.
int mpi_count(std::size_t count);

}  // namespace simsgd
