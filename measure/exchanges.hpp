// One collective of one rank over MPI, from its first call to its result. Constructing an exchange makes its
// first MPI call, `advance` whatever can be done next; neither blocks. Exchanges do not move: MPI knows the
// addresses of their members.
#pragma once

#include <mpi.h>

#include <span>
#include <variant>
#include <vector>

#include "measure/communicators.hpp"
#include "measure/mpi_progress.hpp"
#include "measure/packing.hpp"
#include "measure/run_clock.hpp"
#include "measure/scheduled_exchange.hpp"
#include "sim/job.hpp"

namespace simsgd {

/// What an exchange works with.
struct ExchangeContext {
  const Job& job;
  Executor& executor;
  const RunClock& clock;
  ChannelSite& site;
  PackedSizes sizes = PackedSizes::values;
  double came_s = 0;  ///< when this rank came to the operation that begins now
};

/// all_reduce, reduce, reduce_scatter and all_to_all of vectors of one length, each number sent as often as
/// by the schedules that send least: every rank receives its part of the vector from all others
/// (MPI_Ialltoallv), adds it up in rank order and scales it; then the parts are gathered (MPI_Iallgatherv,
/// MPI_Igatherv, or not at all). MPI_Iallreduce adds up in an order of its own; this is the simulation's, and
/// so is every bit of the sum. Each tells all when it came (MPI_Iallgather), which splits waiting for others
/// from waiting for bytes. all_to_all is the first half of it: the parts are what it gives.
class Reduction {
 public:
  Reduction(ExchangeContext& context, const AnyCollective& collective);
  bool advance(ExchangeContext& context, Ongoing& ongoing);
  void deliver(ExchangeContext& context, const AnyCollective& collective, const CollectiveSlot& slot);
  double bytes_sent(const ChannelSite& site) const;

 private:
  void fill_up(ChannelSite& site, const std::vector<float>& values, double bytes);
  std::vector<float> without_filling(const std::vector<float>& filled) const;
  void add_up();
  void gather_parts(const ChannelSite& site);

  CollectiveOp op_;
  int root_;
  float scale_;
  bool receives_ = true;                       // the whole vector, or its part of it
  bool gathering_ = false;                     // the parts
  std::size_t count_ = 0;                      // of the contribution
  std::size_t own_ = 0;                        // of this rank's part
  std::vector<float> terms_;                   // this rank's part of every contribution, then of the sum
  std::vector<float> sum_;                     // what this rank gets
  std::vector<int> parts_, offsets_;           // of the vector
  std::vector<std::size_t> held_;              // values in each part; what follows them there fills it up
  std::size_t own_held_ = 0;                   // of this rank's part
  std::vector<float> filled_;                  // the contribution, where it is filled up
  std::vector<int> own_counts_, own_offsets_;  // of the terms
  double came_s_;                              // this rank
  std::vector<double> came_;                   // each of them
  bool all_came_ = false;
  MPI_Request data_ = MPI_REQUEST_NULL, arrivals_ = MPI_REQUEST_NULL;
};

/// What a member says of itself before its contribution.
struct Announcement {
  std::uint64_t bytes = 0;
  double came_s = 0;
};

/// all_gather, and custom where its schedule does not carry all that its effect needs: the lengths
/// (MPI_Iallgather), then the contributions (MPI_Iallgatherv).
class Gathering {
 public:
  Gathering(ExchangeContext& context, const AnyCollective& collective);
  bool advance(ExchangeContext& context, Ongoing& ongoing);
  void deliver(ExchangeContext& context, const AnyCollective& collective, const CollectiveSlot& slot);
  double bytes_sent(const ChannelSite& site) const;

 private:
  std::vector<Tensor> contributions(ExchangeContext& context) const;

  Bytes own_, all_;
  Announcement own_size_;
  std::vector<Announcement> sizes_;
  std::vector<int> counts_, offsets_;
  bool sized_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// broadcast: the length, then the root's vector (MPI_Ibcast).
class BroadcastExchange {
 public:
  BroadcastExchange(ExchangeContext& context, const AnyCollective& collective);
  bool advance(ExchangeContext& context, Ongoing& ongoing);
  void deliver(ExchangeContext& context, const AnyCollective& collective, const CollectiveSlot& slot);
  double bytes_sent(const ChannelSite& site) const;

 private:
  int root_;
  Bytes packed_;
  Announcement size_;  // of the root
  bool sized_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// barrier: each tells all when it came (MPI_Iallgather).
class BarrierExchange {
 public:
  BarrierExchange(ExchangeContext& context, const AnyCollective& collective);
  bool advance(ExchangeContext& context, Ongoing& ongoing);
  void deliver(ExchangeContext&, const AnyCollective&, const CollectiveSlot&) {}
  double bytes_sent(const ChannelSite&) const { return 0; }

 private:
  double came_s_;
  std::vector<double> came_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Empty until the exchange begins.
using Exchange =
    std::variant<std::monostate, Reduction, Gathering, BroadcastExchange, BarrierExchange, ScheduledExchange>;
/// By MPI's own collectives, or message by message by the scenario's schedule (`by_scenario`); a custom
/// operation by its own.
void begin(Exchange& exchange, ExchangeContext& context, const AnyCollective& collective, bool by_scenario);

/// True once the request is complete.
bool is_complete(MPI_Request& request);

}  // namespace simsgd
