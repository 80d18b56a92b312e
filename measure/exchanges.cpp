#include "measure/exchanges.hpp"

#include <numeric>

#include "measure/schedule_choice.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

bool is_complete(MPI_Request& request) {
  int complete = 0;
  MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  return complete != 0;
}

// Gathering

Gathering::Gathering(ExchangeContext& context, const Collective& collective) {
  Message message;
  message.values = collective.contribution;
  message.bytes = collective.bytes / context.site.members();
  own_ = pack(context.executor, message);
  own_size_ = own_.size();
  sizes_.resize(context.site.ranks.size());
  MPI_Iallgather(&own_size_, 1, MPI_UINT64_T, sizes_.data(), 1, MPI_UINT64_T, context.site.data, &request_);
}

bool Gathering::advance(ExchangeContext& context, MpiPending& pending) {
  if (!is_complete(request_)) return false;
  if (sized_) return true;
  sized_ = true;
  pending.others_came(context.clock.now());
  std::size_t total = 0;
  for (const std::uint64_t size : sizes_) {
    places_.push_back(mpi_count(total));
    counts_.push_back(mpi_count(size));
    total += size;
  }
  all_.resize(static_cast<std::size_t>(mpi_count(total)));
  MPI_Iallgatherv(own_.data(), mpi_count(own_.size()), MPI_BYTE, all_.data(), counts_.data(), places_.data(),
                  MPI_BYTE, context.site.data, &request_);
  return is_complete(request_);
}

std::vector<Values> Gathering::contributions(ExchangeContext& context) const {
  std::vector<Values> values;
  for (std::size_t place = 0; place < counts_.size(); ++place)
    values.push_back(
        unpack(context.executor, std::span(all_).subspan(static_cast<std::size_t>(places_[place]),
                                                         static_cast<std::size_t>(counts_[place])))
            .values);
  return values;
}

void Gathering::deliver(ExchangeContext& context, const Collective& collective, MpiPending& pending) {
  std::vector<Values> given = contributions(context);
  const ChannelSite& site = context.site;
  if (collective.op == Collective::Op::all_gather) {
    pending.gathered = std::move(given);
  } else if (collective.place_effect) {
    keep_what_arrives(context.job, collective, site.ranks, site.place, given);
    pending.result = collective.place_effect(context.executor, site.place, given);
  } else if (collective.effect) {
    const std::vector<Values> results = collective.effect(context.executor, given);
    CHECK(results.size() == 1 || results.size() == given.size(),
          "an effect gives one result, or one for each");
    pending.result = results.size() == 1 ? results.front() : results[static_cast<std::size_t>(site.place)];
  }
}

double Gathering::bytes_sent(const ChannelSite& site) const {
  return static_cast<double>(own_.size()) * (site.members() - 1);
}

// Broadcast

Broadcast::Broadcast(ExchangeContext& context, const Collective& collective) : root_(collective.root) {
  if (context.site.place == root_) {
    Message message;
    message.values = collective.contribution;
    message.bytes = collective.bytes;
    packed_ = pack(context.executor, message);
    size_ = packed_.size();
  }
  MPI_Ibcast(&size_, 1, MPI_UINT64_T, root_, context.site.data, &request_);
}

bool Broadcast::advance(ExchangeContext& context, MpiPending& pending) {
  if (!is_complete(request_)) return false;
  if (sized_) return true;
  sized_ = true;
  pending.others_came(context.site.place == root_ ? pending.span.start_s : context.clock.now());
  packed_.resize(size_);
  MPI_Ibcast(packed_.data(), mpi_count(packed_.size()), MPI_BYTE, root_, context.site.data, &request_);
  return is_complete(request_);
}

void Broadcast::deliver(ExchangeContext& context, const Collective& collective, MpiPending& pending) {
  pending.result =
      context.site.place == root_ ? collective.contribution : unpack(context.executor, packed_).values;
}

// Everybody but one passes the whole vector on once.
double Broadcast::bytes_sent(const ChannelSite& site) const {
  return static_cast<double>(packed_.size()) * (1.0 - 1.0 / site.members());
}

// Barrier

BarrierExchange::BarrierExchange(ExchangeContext& context, const Collective&) {
  MPI_Ibarrier(context.site.data, &request_);
}

bool BarrierExchange::advance(ExchangeContext&, MpiPending&) { return is_complete(request_); }

void begin(Exchange& exchange, ExchangeContext& context, const Collective& collective) {
  switch (collective.op) {
    case Collective::Op::all_reduce:
    case Collective::Op::reduce:
    case Collective::Op::reduce_scatter:
      exchange.emplace<Reduction>(context, collective);
      break;
    case Collective::Op::all_gather:
    case Collective::Op::custom:
      exchange.emplace<Gathering>(context, collective);
      break;
    case Collective::Op::broadcast:
      exchange.emplace<Broadcast>(context, collective);
      break;
    case Collective::Op::barrier:
      exchange.emplace<BarrierExchange>(context, collective);
      break;
  }
}

}  // namespace simsgd
