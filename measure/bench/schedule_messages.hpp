// A schedule of the simulation, sent for real: the same messages, in the same stages, with the additions.
#pragma once

#include <mpi.h>

#include <vector>

#include "measure/waiting.hpp"
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

}  // namespace simsgd
