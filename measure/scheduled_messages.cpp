#include "measure/scheduled_messages.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace simsgd {

namespace {
std::size_t floats_in(double bytes) { return static_cast<std::size_t>(std::ceil(bytes / sizeof(float))); }

// The time that stands behind the bytes of a message.
constexpr std::size_t kStampFloats = sizeof(double) / sizeof(float);

void stamp(std::vector<float>& message, std::size_t at, double time_s) {
  std::memcpy(message.data() + at, &time_s, sizeof time_s);
}

double stamp_of(const std::vector<float>& message) {
  double time_s = 0;
  std::memcpy(&time_s, message.data() + message.size() - kStampFloats, sizeof time_s);
  return time_s;
}

std::vector<float> buffer_of(ChannelSite& site, std::size_t count) {
  std::vector<float> buffer;
  if (!site.buffers.empty()) {
    buffer = std::move(site.buffers.back());
    site.buffers.pop_back();
  }
  buffer.resize(count);
  return buffer;
}
}  // namespace

ScheduledMessages::ScheduledMessages(ExchangeContext& context, Schedule schedule)
    : schedule_(std::move(schedule)),
      rank_(static_cast<std::size_t>(context.site.group_rank)),
      last_came_s_(context.came_s),
      told_s_(context.came_s) {
  double most = 0, most_added = 0;
  for (const Stage& each : schedule_.stages) {
    most = std::max(most, each.bytes);
    most_added = std::max(most_added, each.reduce_bytes);
  }
  out_ = buffer_of(context.site, floats_in(most) + kStampFloats);
  sum_ = buffer_of(context.site, floats_in(most_added));
  if (!schedule_.together) return;
  came_.resize(static_cast<std::size_t>(context.site.members()));
  MPI_Iallgather(&told_s_, 1, MPI_DOUBLE, came_.data(), 1, MPI_DOUBLE, context.site.arrivals, &arrivals_);
}

void ScheduledMessages::post(ExchangeContext& context, const Stage& stage, int tag) {
  const std::size_t held = floats_in(stage.bytes);
  const int count = mpi_count(held + kStampFloats);
  if (const int from = stage.from[rank_]; from >= 0) {
    in_.push_back(buffer_of(context.site, static_cast<std::size_t>(count)));
    MPI_Irecv(in_.back().data(), count, MPI_FLOAT, from, tag, context.site.data, &requests_.emplace_back());
    if (!schedule_.all_wait_for_all)
      MPI_Isend(&told_s_, 1, MPI_DOUBLE, from, tag + 1, context.site.data, &requests_.emplace_back());
  }
  if (const int to = stage.to[rank_]; to >= 0) {
    stamp(out_, held, told_s_);
    sent_ += stage.bytes;
    if (schedule_.all_wait_for_all) {
      MPI_Isend(out_.data(), count, MPI_FLOAT, to, tag, context.site.data, &requests_.emplace_back());
    } else {
      Asked& asked = asked_.emplace_back(Asked{to, tag, count});
      MPI_Irecv(&asked.by_s, 1, MPI_DOUBLE, to, tag + 1, context.site.data, &asked.question);
    }
  }
}

// Sends what has been asked for; it is complete when the receiver has it.
void ScheduledMessages::answer(ExchangeContext& context, Ongoing& ongoing) {
  std::erase_if(asked_, [&](Asked& asked) {
    if (!is_complete(asked.question)) return false;
    ongoing.somebody_came();
    last_came_s_ = std::max(last_came_s_, asked.by_s);
    MPI_Issend(out_.data(), asked.count, MPI_FLOAT, asked.to, asked.tag, context.site.data,
               &requests_.emplace_back());
    return true;
  });
}

// Of a concurrent schedule: all its messages share the links.
void ScheduledMessages::post_all(ExchangeContext& context) {
  for (const Stage& each : schedule_.stages)
    for (int time = 0; time < each.repeat; ++time) post(context, each, next_tag());
  stage_ = schedule_.stages.size();
  posted_ = true;
}

void ScheduledMessages::hear_of_arrivals() {
  for (const std::vector<float>& received : in_) last_came_s_ = std::max(last_came_s_, stamp_of(received));
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
  if (schedule_.together) {
    if (!is_complete(arrivals_)) return false;
    last_came_s_ = *std::max_element(came_.begin(), came_.end());
  }
  if (schedule_.concurrent && !posted_) post_all(context);
  const auto through = [&] {
    for (std::vector<float>* buffer : {&out_, &sum_})
      if (buffer->capacity() > 0) context.site.buffers.push_back(std::exchange(*buffer, {}));
    ongoing.others_came(last_came_s_);
    return true;
  };
  while (true) {
    if (posted_) {
      answer(context, ongoing);
      if (!asked_.empty() || !all_through()) return false;
      hear_of_arrivals();
      if (!in_.empty()) ongoing.somebody_came();
      if (stage_ >= schedule_.stages.size()) return through();
      add_up(stage());
      posted_ = false;
      if (++time_ >= stage().repeat) {
        time_ = 0;
        ++stage_;
      }
    }
    for (std::vector<float>& received : in_) context.site.buffers.push_back(std::move(received));
    in_.clear();
    requests_.clear();
    if (stage_ >= schedule_.stages.size()) return through();
    told_s_ = last_came_s_;
    post(context, stage(), next_tag());
    posted_ = true;
  }
}

}  // namespace simsgd
