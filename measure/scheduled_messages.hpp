// The messages of a schedule, one by one, as the simulation has them: what a real run sends where it is asked
// for the scenario's schedules instead of MPI's own (--schedules scenario). They carry zeros of the
// schedule's sizes, and what they reduce is added up; values travel beside them (exchanges.hpp).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "measure/exchanges.hpp"
#include "sim/collectives/schedule.hpp"

namespace simsgd {

/// Does not move: MPI knows the addresses of its buffers.
class ScheduledMessages {
 public:
  ScheduledMessages(ExchangeContext& context, Schedule schedule);
  ScheduledMessages(const ScheduledMessages&) = delete;
  ScheduledMessages& operator=(const ScheduledMessages&) = delete;

  /// True once this rank is through.
  bool advance(ExchangeContext& context, Ongoing& ongoing);
  double bytes_sent() const { return sent_; }
  MPI_Request left_behind() const { return arrivals_; }

 private:
  void post(ExchangeContext& context, const Stage& stage, int tag);
  void post_all(ExchangeContext& context);
  void add_up(const Stage& stage);
  bool all_through();
  const Stage& stage() const { return schedule_.stages[stage_]; }

  Schedule schedule_;
  std::size_t rank_;
  std::size_t stage_ = 0;
  int time_ = 0;  // of the stage's repetitions
  int tag_ = 0;
  bool posted_ = false;
  double sent_ = 0;
  std::vector<float> out_, sum_;
  std::vector<std::vector<float>> in_;  // one for each message that is awaited at a time
  std::vector<MPI_Request> requests_;
  MPI_Request arrivals_ = MPI_REQUEST_NULL;
};

}  // namespace simsgd
