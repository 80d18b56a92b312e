// Plain data of all ranks, brought to rank 0.
#pragma once

#include <mpi.h>

#include <type_traits>
#include <vector>

#include "measure/packing.hpp"

namespace simsgd {

/// Collective, blocking. On rank 0 the entries of every rank, elsewhere nothing.
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
