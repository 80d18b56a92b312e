#include "measure/exchanges.hpp"

#include <algorithm>

#include "measure/schedule_choice.hpp"

namespace simsgd {

bool is_complete(MPI_Request& request) {
  int complete = 0;
  MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  return complete != 0;
}

// Gathering

Gathering::Gathering(ExchangeContext& context, const AnyCollective& collective) {
  Message message;
  message.values = options_of(collective).contribution;
  message.bytes = options_of(collective).bytes / context.site.members();
  own_ = pack(context.executor, message, context.sizes);
  own_size_ = {own_.size(), context.came_s};
  sizes_.resize(context.site.ranks.size());
  constexpr int kBytes = sizeof(Announcement);
  MPI_Iallgather(&own_size_, kBytes, MPI_BYTE, sizes_.data(), kBytes, MPI_BYTE, context.site.data, &request_);
}

bool Gathering::advance(ExchangeContext& context, Ongoing& ongoing) {
  if (!is_complete(request_)) return false;
  if (sized_) return true;
  sized_ = true;
  std::size_t total = 0;
  double last_came_s = 0;
  for (const Announcement& each : sizes_) {
    offsets_.push_back(mpi_count(total));
    counts_.push_back(mpi_count(each.bytes));
    total += each.bytes;
    last_came_s = std::max(last_came_s, each.came_s);
  }
  ongoing.others_came(last_came_s);
  all_.resize(static_cast<std::size_t>(mpi_count(total)));
  MPI_Iallgatherv(own_.data(), mpi_count(own_.size()), MPI_BYTE, all_.data(), counts_.data(), offsets_.data(),
                  MPI_BYTE, context.site.data, &request_);
  return is_complete(request_);
}

std::vector<Tensor> Gathering::contributions(ExchangeContext& context) const {
  std::vector<Tensor> values;
  for (std::size_t member = 0; member < counts_.size(); ++member)
    values.push_back(
        unpack(context.executor, std::span(all_).subspan(static_cast<std::size_t>(offsets_[member]),
                                                         static_cast<std::size_t>(counts_[member])))
            .values);
  return values;
}

void Gathering::deliver(ExchangeContext& context, const AnyCollective& collective,
                        const CollectiveSlot& slot) {
  CollectiveResults().deliver(context.executor, collective, contributions(context), true,
                              context.site.group_rank, slot);
}

double Gathering::bytes_sent(const ChannelSite& site) const {
  return static_cast<double>(own_.size()) * (site.members() - 1);
}

// Broadcast

BroadcastExchange::BroadcastExchange(ExchangeContext& context, const AnyCollective& collective)
    : root_(root_of(collective)) {
  if (context.site.group_rank == root_) {
    Message message;
    message.values = options_of(collective).contribution;
    message.bytes = options_of(collective).bytes;
    packed_ = pack(context.executor, message, context.sizes);
    size_ = {packed_.size(), context.came_s};
  }
  MPI_Ibcast(&size_, sizeof size_, MPI_BYTE, root_, context.site.data, &request_);
}

bool BroadcastExchange::advance(ExchangeContext& context, Ongoing& ongoing) {
  if (!is_complete(request_)) return false;
  if (sized_) return true;
  sized_ = true;
  ongoing.others_came(size_.came_s);
  packed_.resize(size_.bytes);
  MPI_Ibcast(packed_.data(), mpi_count(packed_.size()), MPI_BYTE, root_, context.site.data, &request_);
  return is_complete(request_);
}

void BroadcastExchange::deliver(ExchangeContext& context, const AnyCollective& collective,
                                const CollectiveSlot& slot) {
  *slot.value = context.site.group_rank == root_ ? options_of(collective).contribution
                                                 : unpack(context.executor, packed_).values;
}

// Everybody but one passes the whole vector on once.
double BroadcastExchange::bytes_sent(const ChannelSite& site) const {
  return static_cast<double>(packed_.size()) * (1.0 - 1.0 / site.members());
}

// Barrier

BarrierExchange::BarrierExchange(ExchangeContext& context, const AnyCollective&)
    : came_s_(context.came_s), came_(context.site.ranks.size()) {
  MPI_Iallgather(&came_s_, 1, MPI_DOUBLE, came_.data(), 1, MPI_DOUBLE, context.site.data, &request_);
}

bool BarrierExchange::advance(ExchangeContext&, Ongoing& ongoing) {
  if (!is_complete(request_)) return false;
  ongoing.others_came(*std::max_element(came_.begin(), came_.end()));
  return true;
}

void begin(Exchange& exchange, ExchangeContext& context, const AnyCollective& collective, bool by_scenario) {
  const bool own_schedule = op_of(collective) == CollectiveOp::custom;  // the method's: MPI has no other
  if ((by_scenario || own_schedule) && context.site.members() > 1) {
    Schedule schedule = scheduled(context.job, collective, context.site.ranks);
    if (!options_of(collective).contribution || carries_enough(collective, schedule)) {
      exchange.emplace<ScheduledExchange>(context, collective, std::move(schedule));
      return;
    }
  }
  switch (op_of(collective)) {
    case CollectiveOp::all_reduce:
    case CollectiveOp::reduce:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all:
      exchange.emplace<Reduction>(context, collective);
      break;
    case CollectiveOp::all_gather:
    case CollectiveOp::custom:
      exchange.emplace<Gathering>(context, collective);
      break;
    case CollectiveOp::broadcast:
      exchange.emplace<BroadcastExchange>(context, collective);
      break;
    case CollectiveOp::barrier:
      exchange.emplace<BarrierExchange>(context, collective);
      break;
  }
}

}  // namespace simsgd
