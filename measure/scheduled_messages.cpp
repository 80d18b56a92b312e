#include "measure/scheduled_messages.hpp"

#include <algorithm>
#include <cmath>

namespace simsgd {

namespace {
std::size_t floats_in(double bytes) { return static_cast<std::size_t>(std::ceil(bytes / sizeof(float))); }
}  // namespace

ScheduledMessages::ScheduledMessages(ExchangeContext& context, Schedule schedule)
    : schedule_(std::move(schedule)), rank_(static_cast<std::size_t>(context.site.group_rank)) {
  double most = 0, most_added = 0;
  for (const Stage& each : schedule_.stages) {
    most = std::max(most, each.bytes);
    most_added = std::max(most_added, each.reduce_bytes);
  }
  out_.resize(floats_in(most));
  sum_.resize(floats_in(most_added));
  if (schedule_.all_wait_for_all || schedule_.together) MPI_Ibarrier(context.site.arrivals, &arrivals_);
}

void ScheduledMessages::post(ExchangeContext& context, const Stage& stage, int tag) {
  const int count = mpi_count(floats_in(stage.bytes));
  if (const int from = stage.from[rank_]; from >= 0) {
    in_.emplace_back(static_cast<std::size_t>(count));
    MPI_Irecv(in_.back().data(), count, MPI_FLOAT, from, tag, context.site.data, &requests_.emplace_back());
  }
  if (const int to = stage.to[rank_]; to >= 0) {
    MPI_Isend(out_.data(), count, MPI_FLOAT, to, tag, context.site.data, &requests_.emplace_back());
    sent_ += stage.bytes;
  }
}

// Of a concurrent schedule: all its messages share the links.
void ScheduledMessages::post_all(ExchangeContext& context) {
  for (const Stage& each : schedule_.stages)
    for (int time = 0; time < each.repeat; ++time) post(context, each, tag_++);
  stage_ = schedule_.stages.size();
  posted_ = true;
}

void ScheduledMessages::add_up(const Stage& stage) {
  const std::size_t count = std::min(floats_in(stage.reduce_bytes), sum_.size());
  for (const std::vector<float>& received : in_)
    for (std::size_t i = 0; i < std::min(count, received.size()); ++i) sum_[i] += received[i];
}

bool ScheduledMessages::all_through() {
  int all = 0;
  MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
  return all != 0;
}

bool ScheduledMessages::advance(ExchangeContext& context, Ongoing& ongoing) {
  const bool all_here = is_complete(arrivals_);
  const bool tells = schedule_.all_wait_for_all || schedule_.together;
  if (tells && all_here) ongoing.others_came(context.clock.now());
  if (schedule_.together && !all_here) return false;
  if (schedule_.concurrent && !posted_) post_all(context);
  while (true) {
    if (posted_) {
      if (!all_through()) return false;
      if (stage_ >= schedule_.stages.size()) return true;
      if (!in_.empty() && !tells) ongoing.others_came(context.clock.now());
      add_up(stage());
      posted_ = false;
      if (++time_ >= stage().repeat) {
        time_ = 0;
        ++stage_;
      }
    }
    in_.clear();
    requests_.clear();
    if (stage_ >= schedule_.stages.size()) return true;
    post(context, stage(), tag_++);
    posted_ = true;
  }
}

}  // namespace simsgd
