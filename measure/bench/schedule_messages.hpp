// Collectives, sent for real: by a schedule of the simulation, with the same messages in the same stages and
// the additions, and by MPI, which chooses its algorithm itself.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "measure/packing.hpp"
#include "measure/waiting.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/operation.hpp"
#include "sim/collectives/schedule.hpp"

namespace simsgd {

inline constexpr int kScheduleTag = 3;
inline std::size_t numbers_of(double bytes) {
  return static_cast<std::size_t>(std::ceil(bytes / kBytesPerNumber));
}

class ScheduleMessages {
 public:
  /// As member `rank` of `comm` sends and receives.
  ScheduleMessages(const Schedule& schedule, MPI_Comm comm, Waiting& waiting)
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

  void run() {
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

 private:
  struct Step {
    int to = MPI_PROC_NULL, from = MPI_PROC_NULL;
    int bytes = 0;
    std::size_t added = 0;  ///< numbers, of each received message
    int repeat = 1;
    double after_s = 0;  ///< further work of each received message
  };

  void run_in_order() {
    for (const Step& step : steps_)
      for (int time = 0; time < step.repeat; ++time) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        if (step.from != MPI_PROC_NULL)
          MPI_Irecv(place(in_, step.bytes), step.bytes, MPI_BYTE, step.from, kScheduleTag, comm_,
                    &requests[0]);
        if (step.to != MPI_PROC_NULL)
          MPI_Isend(place(out_, step.bytes), step.bytes, MPI_BYTE, step.to, kScheduleTag, comm_,
                    &requests[1]);
        waiting_.all(requests);
        work(step);
        next_ += numbers_of(step.bytes);
      }
  }

  // The messages of all stages are posted first, as neighbours exchange.
  void run_at_once() {
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

  void work(const Step& step) {
    if (step.from == MPI_PROC_NULL) return;
    const std::size_t numbers = std::min(step.added, in_.size() - next_);
    for (std::size_t i = 0; i < numbers; ++i) sum_[i] += in_[next_ + i];
    nap(step.after_s);
  }
  std::byte* place(std::vector<float>& buffer, int bytes) {
    const std::size_t numbers = numbers_of(bytes);
    if (next_ + numbers > buffer.size()) next_ = 0;
    return reinterpret_cast<std::byte*>(buffer.data() + next_);
  }

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
  MpiOwn(CollectiveOp op, double bytes, MPI_Comm comm) : op_(op), comm_(comm) {
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

  void run() {
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

 private:
  CollectiveOp op_;
  MPI_Comm comm_;
  int rank_ = 0;
  int numbers_ = 0;                ///< float32 of the whole vector
  std::vector<int> parts_, from_;  ///< of each member: how many numbers, and the first
  std::vector<float> in_, out_;
};

}  // namespace simsgd
