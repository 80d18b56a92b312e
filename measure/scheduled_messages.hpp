// The messages of a schedule, one by one, as the simulation has them: what a real run sends where it is asked
// for the scenario's schedules instead of MPI's own (--schedules scenario). They carry zeros of the
// schedule's sizes, and what they reduce is added up; values travel beside them (exchanges.hpp). Behind its
// bytes each message says when the last of those came that its sender has heard of: so a rank knows at its
// end since when it has waited for bytes alone.
// A schedule says that a message begins when both sides are ready, and is over for both at once. Where some
// leave early (exchanges between neighbours, broadcasts) that decides who waits for whom: there receivers ask
// for each message, and senders are told that it has come. Where everybody waits for everybody it is sent
// when its sender is ready, which costs no answer.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
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
  /// What is still open when the rank is through, because it may leave before the others come.
  MPI_Request left_behind() const { return arrivals_; }

 private:
  void post(ExchangeContext& context, const Stage& stage, int tag);
  void post_all(ExchangeContext& context);
  void add_up(const Stage& stage);
  void hear_of_arrivals();
  void answer(ExchangeContext& context, Ongoing& ongoing);
  bool all_through();
  int next_tag() { return 2 * tag_++; }  // the one after it is the question's
  const Stage& stage() const { return schedule_.stages[stage_]; }

  Schedule schedule_;
  std::size_t rank_;
  std::size_t stage_ = 0;
  int time_ = 0;  // of the stage's repetitions
  int tag_ = 0;
  bool posted_ = false;
  double sent_ = 0;
  double last_came_s_;  // of those that this rank has heard of
  double told_s_;       // of those, when the messages under way were posted
  std::vector<float> out_, sum_;
  std::vector<std::vector<float>> in_;  // one for each message that is awaited at a time
  std::vector<MPI_Request> requests_;
  struct Asked {
    int to = 0, tag = 0, count = 0;
    double by_s = 0;  // the last arrival that the receiver has heard of
    MPI_Request question = MPI_REQUEST_NULL;
  };
  std::list<Asked> asked_;    // messages to be sent when their receivers ask; a list: MPI knows where by_s is
  std::vector<double> came_;  // everybody, of a schedule that begins together
  MPI_Request arrivals_ = MPI_REQUEST_NULL;
};

}  // namespace simsgd
