#include "measure/scheduled_exchange.hpp"

#include <algorithm>
#include <cmath>

#include "measure/exchanges.hpp"

namespace simsgd {

ScheduledExchange::ScheduledExchange(ExchangeContext& context, const AnyCollective& collective,
                                     Schedule schedule)
    : schedule_(std::move(schedule)),
      cargo_(make_cargo({.executor = context.executor,
                         .member = context.site.group_rank,
                         .members = context.site.members(),
                         .learns = context.job.learner != nullptr,
                         .sizes = context.sizes},
                        collective, schedule_)),
      rank_(context.site.group_rank) {
  if (schedule_.all_wait_for_all || schedule_.together) MPI_Ibarrier(context.site.arrivals, &arrivals_);
}

void ScheduledExchange::post(ExchangeContext& context, const Stage& stage, int time) {
  const auto me = static_cast<std::size_t>(rank_);
  const int tag = tag_++;
  if (const std::int32_t from = stage.from[me]; from >= 0) {
    Incoming& coming = in_.emplace_back(Incoming{stage, time, tag, from});
    if (const auto length = cargo_->length(stage, time, from)) {
      coming.found = true;
      coming.message.resize(*length);
      MPI_Irecv(coming.message.data(), mpi_count(*length), MPI_BYTE, from, tag, context.site.data,
                &coming.request);
    }
  }
  if (const std::int32_t to = stage.to[me]; to >= 0) {
    Outgoing& going = out_.emplace_back(Outgoing{cargo_->give(stage, time)});
    const std::size_t length = going.message.size();
    MPI_Isend(going.message.data(), mpi_count(length), MPI_BYTE, to, tag, context.site.data, &going.request);
    // Parts of a byte are sent as a whole one, and counted as the schedule does.
    sent_ += length == static_cast<std::size_t>(std::ceil(stage.bytes)) ? stage.bytes
                                                                        : static_cast<double>(length);
  }
}

// Of a concurrent schedule: all its messages share the links.
void ScheduledExchange::post_all(ExchangeContext& context) {
  for (const Stage& each : schedule_.stages)
    for (int time = 0; time < each.repeat; ++time) post(context, each, time);
  stage_ = schedule_.stages.size();
  posted_ = true;
}

bool ScheduledExchange::all_through(ExchangeContext& context) {
  bool all = true;
  for (Incoming& coming : in_) {
    if (!coming.found) {
      int here = 0, bytes = 0;
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      MPI_Improbe(coming.sender, coming.tag, context.site.data, &here, &message, &status);
      if (here != 0) {
        coming.found = true;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        coming.message.resize(static_cast<std::size_t>(bytes));
        MPI_Imrecv(coming.message.data(), bytes, MPI_BYTE, &message, &coming.request);
      }
    }
    all = all && coming.found && is_complete(coming.request);
  }
  for (Outgoing& going : out_) all = is_complete(going.request) && all;
  return all;
}

void ScheduledExchange::take_all() {
  for (const Incoming& coming : in_) cargo_->take(coming.stage, coming.time, coming.sender, coming.message);
  in_.clear();
  out_.clear();
}

bool ScheduledExchange::advance(ExchangeContext& context, Ongoing& ongoing) {
  const bool all_here = is_complete(arrivals_);
  const bool tells = schedule_.all_wait_for_all || schedule_.together;
  if (tells && all_here) ongoing.others_came(context.clock.now());
  if (schedule_.together && !all_here) return false;
  if (schedule_.concurrent && !posted_) post_all(context);
  while (true) {
    if (posted_) {
      if (!all_through(context)) return false;
      if (!in_.empty() && !tells) ongoing.others_came(context.clock.now());
      take_all();
      if (stage_ >= schedule_.stages.size()) return true;
      posted_ = false;
      if (++time_ >= stage().repeat) {
        time_ = 0;
        ++stage_;
      }
    }
    if (stage_ >= schedule_.stages.size()) return true;
    post(context, stage(), time_);
    posted_ = true;
  }
}

void ScheduledExchange::deliver(ExchangeContext&, const AnyCollective& collective,
                                const CollectiveSlot& slot) {
  cargo_->deliver(collective, slot);
}

}  // namespace simsgd
