// The same operations by MPI's own collectives, which choose their algorithm themselves.
#pragma once

#include <mpi.h>

#include <vector>

#include "sim/collectives/operation.hpp"

namespace simsgd {

class MpiOwn {
 public:
  /// `bytes` as CollectiveOptions::bytes.
  MpiOwn(CollectiveOp op, double bytes, MPI_Comm comm);
  void run();

 private:
  CollectiveOp op_;
  MPI_Comm comm_;
  int rank_ = 0;
  int numbers_ = 0;                ///< float32 of the whole vector
  std::vector<int> parts_, from_;  ///< of each member: how many numbers, and the first
  std::vector<float> in_, out_;
};

}  // namespace simsgd
