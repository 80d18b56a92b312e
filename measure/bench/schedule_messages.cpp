#include "measure/bench/schedule_messages.hpp"

#include <algorithm>
#include <cmath>

#include "measure/packing.hpp"
#include "measure/run_clock.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

constexpr int kScheduleTag = 3;

std::size_t numbers_of(double bytes) { return static_cast<std::size_t>(std::ceil(bytes / kBytesPerNumber)); }

}  // namespace

ScheduleMessages::ScheduleMessages(const Schedule& schedule, MPI_Comm comm, Waiting& waiting)
    : concurrent_(schedule.concurrent), together_(schedule.together), comm_(comm), waiting_(waiting) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const auto me = static_cast<std::size_t>(rank);
  double largest = 0, received = 0;
  for (const Stage& stage : schedule.stages) {
    Step step;
    if (stage.to[me] >= 0) step.to = stage.to[me];
    if (stage.from[me] >= 0) step.from = stage.from[me];
    step.bytes = mpi_count(static_cast<std::size_t>(std::llround(stage.bytes)));
    step.added = numbers_of(stage.reduce_bytes);
    step.repeat = stage.repeat;
    step.after_s = stage.receive_s;
    largest = std::max({largest, stage.bytes, stage.reduce_bytes});
    received += stage.bytes * stage.repeat;
    if (step.to != MPI_PROC_NULL || step.from != MPI_PROC_NULL) steps_.push_back(step);
  }
  // All that comes in has a place of its own, as parts of a vector have: caches hold no more than there.
  constexpr double kMost_bytes = 64e6;
  const std::size_t room = numbers_of(std::max(largest, std::min(received, kMost_bytes))) + 1;
  out_.assign(room, 1.0F);
  in_.assign(room, 0.0F);
  sum_.assign(numbers_of(largest) + 1, 0.0F);
}

std::byte* ScheduleMessages::place(std::vector<float>& buffer, int bytes) {
  const std::size_t numbers = numbers_of(bytes);
  if (next_ + numbers > buffer.size()) next_ = 0;
  return reinterpret_cast<std::byte*>(buffer.data() + next_);
}

void ScheduleMessages::work(const Step& step) {
  if (step.from == MPI_PROC_NULL) return;
  const std::size_t numbers = std::min(step.added, in_.size() - next_);
  for (std::size_t i = 0; i < numbers; ++i) sum_[i] += in_[next_ + i];
  nap(step.after_s);
}

void ScheduleMessages::run_in_order() {
  for (const Step& step : steps_)
    for (int time = 0; time < step.repeat; ++time) {
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      if (step.from != MPI_PROC_NULL)
        MPI_Irecv(place(in_, step.bytes), step.bytes, MPI_BYTE, step.from, kScheduleTag, comm_, &requests[0]);
      if (step.to != MPI_PROC_NULL)
        MPI_Isend(place(out_, step.bytes), step.bytes, MPI_BYTE, step.to, kScheduleTag, comm_, &requests[1]);
      waiting_.all(requests);
      work(step);
      next_ += numbers_of(step.bytes);
    }
}

// The messages of all stages are posted first, as neighbours exchange.
void ScheduleMessages::run_at_once() {
  std::vector<MPI_Request> requests;
  for (const Step& step : steps_)
    for (int time = 0; time < step.repeat; ++time) {
      MPI_Request& receiving = requests.emplace_back(MPI_REQUEST_NULL);
      if (step.from != MPI_PROC_NULL)
        MPI_Irecv(place(in_, step.bytes), step.bytes, MPI_BYTE, step.from, kScheduleTag, comm_, &receiving);
      MPI_Request& sending = requests.emplace_back(MPI_REQUEST_NULL);
      if (step.to != MPI_PROC_NULL)
        MPI_Isend(place(out_, step.bytes), step.bytes, MPI_BYTE, step.to, kScheduleTag, comm_, &sending);
      next_ += numbers_of(step.bytes);
    }
  waiting_.all(requests);
  next_ = 0;
  for (const Step& step : steps_)
    for (int time = 0; time < step.repeat; ++time) work(step);
}

void ScheduleMessages::run() {
  next_ = 0;
  if (together_) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm_, &request);
    waiting_.all({&request, 1});
  }
  if (concurrent_)
    run_at_once();
  else
    run_in_order();
}

}  // namespace simsgd
