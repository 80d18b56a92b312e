// Collectives, sent for real: by a schedule of the simulation, with the same messages in the same stages and
// the additions, and by MPI, which chooses its algorithm itself.
#pragma once

#include <mpi.h>

#include <vector>

#include "measure/waiting.hpp"
#include "sim/collectives/operation.hpp"
#include "sim/collectives/schedule.hpp"

namespace simsgd {

class ScheduleMessages {
 public:
  /// As member `rank` of `comm` sends and receives.
  ScheduleMessages(const Schedule& schedule, MPI_Comm comm, Waiting& waiting);

  void run();

 private:
  struct Step {
    int to = MPI_PROC_NULL, from = MPI_PROC_NULL;
    int bytes = 0;
    std::size_t added = 0;  ///< numbers, of each received message
    int repeat = 1;
    double after_s = 0;  ///< further work of each received message
  };

  void run_in_order();
  void run_at_once();
  void work(const Step& step);
  std::byte* place(std::vector<float>& buffer, int bytes);

  std::vector<Step> steps_;
  bool concurrent_, together_;
  MPI_Comm comm_;
  Waiting& waiting_;
  std::vector<float> out_, in_, sum_;
  std::size_t next_ = 0;
};

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
