#include <cmath>

#include "measure/exchanges.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace {

// Entries [begin, end) of part i: as in the simulation.
std::size_t part_begin(std::size_t count, std::size_t part, std::size_t parts) {
  return count * part / parts;
}

}  // namespace

Reduction::Reduction(ExchangeContext& context, const Collective& collective) : op_(collective.op) {
  ChannelSite& site = context.site;
  const auto members = static_cast<std::size_t>(site.members());
  const auto place = static_cast<std::size_t>(site.place);
  const float* sent = nullptr;
  if (collective.contribution) {
    const Tensor& tensor = context.executor.get(collective.contribution);
    CHECK(tensor.indices.empty(), "only dense vectors can be added up by MPI");
    count_ = tensor.values.size();
    sent = tensor.values.data();
  } else {
    count_ = static_cast<std::size_t>(std::ceil(collective.bytes / sizeof(float)));
    if (site.zeros.size() < count_) site.zeros.resize(count_);
    sent = site.zeros.data();
  }
  const int count = mpi_count(count_);
  std::size_t kept = count_;
  if (op_ == Collective::Op::reduce_scatter) {
    for (std::size_t part = 0; part < members; ++part)
      parts_.push_back(
          static_cast<int>(part_begin(count_, part + 1, members) - part_begin(count_, part, members)));
    kept = static_cast<std::size_t>(parts_[place]);
  }
  receives_ = op_ != Collective::Op::reduce || site.place == collective.root;
  std::vector<float>& received = collective.contribution ? received_ : site.ignored;
  if (receives_ && received.size() < kept) received.resize(kept);
  float* into = received.data();
  if (op_ == Collective::Op::all_reduce)
    MPI_Iallreduce(sent, into, count, MPI_FLOAT, MPI_SUM, site.data, &data_);
  else if (op_ == Collective::Op::reduce)
    MPI_Ireduce(sent, into, count, MPI_FLOAT, MPI_SUM, collective.root, site.data, &data_);
  else
    MPI_Ireduce_scatter(sent, into, parts_.data(), MPI_FLOAT, MPI_SUM, site.data, &data_);
  MPI_Ibarrier(site.arrivals, &arrivals_);
}

bool Reduction::advance(ExchangeContext& context, MpiPending& pending) {
  if (!pending.under_way && is_complete(arrivals_)) pending.others_came(context.clock.now());
  if (!is_complete(data_)) return false;
  // Through before everybody came: it depended on nobody.
  if (!pending.under_way && !receives_) pending.others_came(pending.span.start_s);
  return true;
}

void Reduction::deliver(ExchangeContext& context, const Collective& collective, MpiPending& pending) {
  if (!receives_ || !collective.contribution) return;
  if (collective.scale != 1.0)
    for (float& value : received_) value *= static_cast<float>(collective.scale);
  pending.result = context.executor.constant({std::move(received_), {}, {}});
}

// MPI does not tell; what the schedule that sends least would send: 2 (P-1)/P, (P-1)/P, and once.
double Reduction::bytes_sent(const ChannelSite& site) const {
  const double bytes = sizeof(float) * static_cast<double>(count_);
  const double share = 1.0 - 1.0 / site.members();
  if (op_ == Collective::Op::reduce) return receives_ ? 0 : bytes;
  return (op_ == Collective::Op::all_reduce ? 2 : 1) * share * bytes;
}

}  // namespace simsgd
