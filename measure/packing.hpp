// Messages as bytes: a header with the lengths, then what the message holds. All ranks of a run are the same
// binary on machines of one kind, so numbers travel as they are.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
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

/// Brings plain data to rank 0. Collective, blocking. On rank 0 the entries of every rank, elsewhere nothing.
template <class T>
std::vector<std::vector<T>> gather_at_root(MPI_Comm world, const std::vector<T>& own) {
  static_assert(std::is_trivially_copyable_v<T>);
  int rank = 0, size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(size));
  const std::uint64_t count = own.size();
  MPI_Gather(&count, 1, MPI_UINT64_T, counts.data(), 1, MPI_UINT64_T, 0, world);
  constexpr int kTag = 1;
  if (rank != 0) {
    MPI_Send(own.data(), mpi_count(own.size() * sizeof(T)), MPI_BYTE, 0, kTag, world);
    return {};
  }
  std::vector<std::vector<T>> all = {own};
  for (int from = 1; from < size; ++from) {
    std::vector<T>& theirs = all.emplace_back(counts[static_cast<std::size_t>(from)]);
    MPI_Recv(theirs.data(), mpi_count(theirs.size() * sizeof(T)), MPI_BYTE, from, kTag, world,
             MPI_STATUS_IGNORE);
  }
  return all;
}

}  // namespace simsgd
