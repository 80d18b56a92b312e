#include "measure/bench/mpi_own.hpp"

#include <cmath>

#include "measure/packing.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

MpiOwn::MpiOwn(CollectiveOp op, double bytes, MPI_Comm comm) : op_(op), comm_(comm) {
  int members = 1;
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &members);
  const auto numbers = static_cast<std::int64_t>(std::ceil(bytes / kBytesPerNumber));
  numbers_ = mpi_count(static_cast<std::size_t>(numbers));
  for (std::int64_t i = 0; i < members; ++i) {
    from_.push_back(static_cast<int>(numbers * i / members));
    parts_.push_back(static_cast<int>(numbers * (i + 1) / members) - from_.back());
  }
  in_.assign(static_cast<std::size_t>(numbers), 1.0F);
  // In an all-to-all everybody may get the larger part of everybody.
  out_.assign(static_cast<std::size_t>(numbers + members), 0.0F);
}

void MpiOwn::run() {
  const auto me = static_cast<std::size_t>(rank_);
  switch (op_) {
    case CollectiveOp::all_reduce:
      MPI_Allreduce(in_.data(), out_.data(), numbers_, MPI_FLOAT, MPI_SUM, comm_);
      break;
    case CollectiveOp::reduce_scatter:
      MPI_Reduce_scatter(in_.data(), out_.data(), parts_.data(), MPI_FLOAT, MPI_SUM, comm_);
      break;
    case CollectiveOp::all_gather:
      MPI_Allgatherv(in_.data(), parts_[me], MPI_FLOAT, out_.data(), parts_.data(), from_.data(), MPI_FLOAT,
                     comm_);
      break;
    case CollectiveOp::all_to_all: {
      std::vector<int> received(parts_.size(), parts_[me]), places(parts_.size());
      for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i) * parts_[me];
      MPI_Alltoallv(in_.data(), parts_.data(), from_.data(), MPI_FLOAT, out_.data(), received.data(),
                    places.data(), MPI_FLOAT, comm_);
      break;
    }
    case CollectiveOp::broadcast:
      MPI_Bcast(in_.data(), numbers_, MPI_FLOAT, 0, comm_);
      break;
    case CollectiveOp::reduce:
      MPI_Reduce(in_.data(), out_.data(), numbers_, MPI_FLOAT, MPI_SUM, 0, comm_);
      break;
    case CollectiveOp::barrier:
    case CollectiveOp::custom:
      MPI_Barrier(comm_);
      break;
  }
}

}  // namespace simsgd
