// One collective of one rank over MPI, from its first call to its result. Constructing an exchange makes its
// first MPI call, `advance` whatever can be done next; neither blocks. Exchanges do not move: MPI knows the
// addresses of their members.
#pragma once

#include <mpi.h>

#include <span>
#include <variant>
#include <vector>

#include "measure/communicators.hpp"
#include "measure/mpi_pending.hpp"
#include "measure/packing.hpp"
#include "measure/run_clock.hpp"
#include "sim/job.hpp"

namespace simsgd {

/// What an exchange works with.
struct ExchangeContext {
  const Job& job;
  Executor& executor;
  const RunClock& clock;
  ChannelSite& site;
};

/// all_reduce, reduce and reduce_scatter: MPI_Iallreduce, MPI_Ireduce, MPI_Ireduce_scatter on floats, then
/// `scale`. MPI chooses the schedule and with it the order of the sum. An MPI_Ibarrier beside it tells when
/// everybody had come, which splits waiting for others from waiting for bytes.
class Reduction {
 public:
  Reduction(ExchangeContext& context, const Collective& collective);
  bool advance(ExchangeContext& context, MpiPending& pending);
  void deliver(ExchangeContext& context, const Collective& collective, MpiPending& pending);
  double bytes_sent(const ChannelSite& site) const;
  /// What is still open when the rank is through, because it may leave before the others come.
  MPI_Request left_behind() const { return arrivals_; }

 private:
  Collective::Op op_;
  bool receives_ = true;
  std::size_t count_ = 0;        // of the contribution
  std::vector<float> received_;  // empty where nothing is learned
  std::vector<int> parts_;       // of reduce_scatter
  MPI_Request data_ = MPI_REQUEST_NULL, arrivals_ = MPI_REQUEST_NULL;
};

/// all_gather and custom: the lengths (MPI_Iallgather), then the contributions (MPI_Iallgatherv). A custom
/// operation applies its effect to them on every rank, whatever its schedule.
class Gathering {
 public:
  Gathering(ExchangeContext& context, const Collective& collective);
  bool advance(ExchangeContext& context, MpiPending& pending);
  void deliver(ExchangeContext& context, const Collective& collective, MpiPending& pending);
  double bytes_sent(const ChannelSite& site) const;

 private:
  std::vector<Values> contributions(ExchangeContext& context) const;

  Bytes own_, all_;
  std::uint64_t own_size_ = 0;
  std::vector<std::uint64_t> sizes_;
  std::vector<int> counts_, places_;
  bool sized_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// broadcast: the length, then the root's vector (MPI_Ibcast).
class Broadcast {
 public:
  Broadcast(ExchangeContext& context, const Collective& collective);
  bool advance(ExchangeContext& context, MpiPending& pending);
  void deliver(ExchangeContext& context, const Collective& collective, MpiPending& pending);
  double bytes_sent(const ChannelSite& site) const;

 private:
  int root_;
  Bytes packed_;
  std::uint64_t size_ = 0;
  bool sized_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// barrier: MPI_Ibarrier.
class BarrierExchange {
 public:
  BarrierExchange(ExchangeContext& context, const Collective& collective);
  bool advance(ExchangeContext& context, MpiPending& pending);
  void deliver(ExchangeContext&, const Collective&, MpiPending&) {}
  double bytes_sent(const ChannelSite&) const { return 0; }

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Empty until the exchange begins.
using Exchange = std::variant<std::monostate, Reduction, Gathering, Broadcast, BarrierExchange>;
void begin(Exchange& exchange, ExchangeContext& context, const Collective& collective);

/// True once the request is complete.
bool is_complete(MPI_Request& request);

}  // namespace simsgd
