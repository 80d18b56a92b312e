// One collective of one rank over MPI, from its first call to its result. Constructing an exchange makes its
// first MPI call, `advance` whatever can be done next; neither blocks. Exchanges do not move: MPI knows the
// addresses of their members.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <variant>
#include <vector>

#include "measure/communicators.hpp"
#include "measure/mpi_progress.hpp"
#include "measure/packing.hpp"
#include "measure/scheduled_exchange.hpp"
#include "measure/waiting.hpp"
#include "sim/base/check.hpp"
#include "sim/job.hpp"

namespace simsgd {

/// all_reduce, reduce, reduce_scatter and all_to_all of vectors of one length, each number sent as often as
/// by the schedules that send least: every rank receives its part of the vector from all others
/// (MPI_Ialltoallv), adds it up in rank order and scales it; then the parts are gathered (MPI_Iallgatherv,
/// MPI_Igatherv, or not at all). MPI_Iallreduce adds up in an order of its own; this is the simulation's, and
/// so is every bit of the sum. Each tells all when it came (MPI_Iallgather), which splits waiting for others
/// from waiting for bytes. all_to_all is the first half of it: the parts are what it gives.
class Reduction {
 public:
  Reduction(ExchangeContext& context, const AnyCollective& collective)
      : op_(op_of(collective)),
        root_(root_of(collective)),
        scale_(static_cast<float>(scale_of(collective))),
        came_s_(context.came_s) {
    const CollectiveOptions& options = options_of(collective);
    ChannelSite& site = context.site;
    const auto members = static_cast<std::size_t>(site.members());
    const auto member = static_cast<std::size_t>(site.group_rank);
    const float* sent = nullptr;
    if (options.contribution) {
      const TensorData& tensor = context.executor.get(options.contribution);
      CHECK(tensor.indices.empty(), "only dense vectors can be cut into parts by MPI");
      count_ = tensor.values.size();
      sent = tensor.values.data();
      if (context.sizes == PackedSizes::workload &&
          options.bytes > sizeof(float) * static_cast<double>(count_)) {
        fill_up(site, tensor.values, options.bytes);
        sent = filled_.data();
      }
    } else {
      count_ = static_cast<std::size_t>(std::ceil(options.bytes / sizeof(float)));
      if (site.zeros.size() < count_) site.zeros.resize(count_);
      sent = site.zeros.data();
    }
    mpi_count(count_ * members);
    for (std::size_t part = 0; part < members && held_.empty(); ++part) {  // as in the simulation
      const std::size_t begin = count_ * part / members, end = count_ * (part + 1) / members;
      offsets_.push_back(static_cast<int>(begin));
      parts_.push_back(static_cast<int>(end - begin));
    }
    own_ = static_cast<std::size_t>(parts_[member]);
    own_counts_.assign(members, parts_[member]);
    for (std::size_t from = 0; from < members; ++from) own_offsets_.push_back(static_cast<int>(from * own_));
    receives_ = op_ != CollectiveOp::reduce || site.group_rank == root_;
    terms_.resize(own_ * members);
    came_.resize(members);
    MPI_Iallgather(&came_s_, 1, MPI_DOUBLE, came_.data(), 1, MPI_DOUBLE, site.arrivals, &arrivals_);
    MPI_Ialltoallv(sent, parts_.data(), offsets_.data(), MPI_FLOAT, terms_.data(), own_counts_.data(),
                   own_offsets_.data(), MPI_FLOAT, site.data, &data_);
  }

  bool advance(ExchangeContext& context, Ongoing& ongoing) {
    if (!all_came_ && is_complete(arrivals_)) {
      all_came_ = true;
      ongoing.others_came(*std::max_element(came_.begin(), came_.end()));
    }
    if (!is_complete(data_)) return false;
    if (gathering_) return all_came_;
    gathering_ = true;
    if (op_ == CollectiveOp::all_to_all) {
      sum_ = std::move(terms_);
      return all_came_;
    }
    add_up();
    if (op_ == CollectiveOp::reduce_scatter) {
      terms_.resize(own_);
      sum_ = std::move(terms_);
      return all_came_;
    }
    gather_parts(context.site);
    return all_came_ && is_complete(data_);
  }

  void deliver(ExchangeContext& context, const AnyCollective& collective, const CollectiveSlot& slot) {
    if (receives_ && options_of(collective).contribution)
      *slot.value =
          context.executor.constant({held_.empty() ? std::move(sum_) : without_filling(sum_), {}, {}});
  }
  double bytes_sent(const ChannelSite& site) const {
    const double others = sizeof(float) * static_cast<double>(count_ - own_);
    const double own = sizeof(float) * static_cast<double>(own_);
    if (op_ == CollectiveOp::all_reduce) return others + own * (site.members() - 1);
    if (op_ == CollectiveOp::reduce && !receives_) return others + own;
    return others;
  }

 private:
  // Every part gets its share of zeros, behind its values: entries are cut and added up as without them.
  void fill_up(ChannelSite& site, const std::vector<float>& values, double bytes) {
    const auto members = static_cast<std::size_t>(site.members());
    const std::size_t count = values.size();
    const std::size_t zeros = static_cast<std::size_t>(std::ceil(bytes / sizeof(float))) - count;
    filled_.reserve(count + zeros);
    for (std::size_t part = 0; part < members; ++part) {
      const std::size_t begin = count * part / members, end = count * (part + 1) / members;
      offsets_.push_back(mpi_count(filled_.size()));
      held_.push_back(end - begin);
      filled_.insert(filled_.end(), values.begin() + static_cast<std::ptrdiff_t>(begin),
                     values.begin() + static_cast<std::ptrdiff_t>(end));
      filled_.resize(filled_.size() + zeros * (part + 1) / members - zeros * part / members);
      parts_.push_back(mpi_count(filled_.size()) - offsets_.back());
    }
    count_ = count + zeros;
    own_held_ = held_[static_cast<std::size_t>(site.group_rank)];
  }

  std::vector<float> without_filling(const std::vector<float>& filled) const {
    std::vector<float> values;
    const auto keep = [&](std::size_t begin, std::size_t count) {
      const auto first = filled.begin() + static_cast<std::ptrdiff_t>(begin);
      values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(count));
    };
    if (op_ == CollectiveOp::reduce_scatter || op_ == CollectiveOp::all_to_all)
      for (std::size_t begin = 0; begin < filled.size(); begin += own_) keep(begin, own_held_);
    else
      for (std::size_t part = 0; part < held_.size(); ++part)
        keep(static_cast<std::size_t>(offsets_[part]), held_[part]);
    return values;
  }

  // Leaves the sum of this rank's part, scaled, at the front of the terms.
  void add_up() {
    for (std::size_t from = 1; from < own_counts_.size(); ++from) {
      const float* term = terms_.data() + from * own_;
      for (std::size_t i = 0; i < own_; ++i) terms_[i] += term[i];
    }
    if (scale_ != 1.0F)
      for (std::size_t i = 0; i < own_; ++i) terms_[i] *= scale_;
  }

  void gather_parts(const ChannelSite& site) {
    const auto own = static_cast<int>(own_);
    if (receives_) sum_.resize(count_);
    if (op_ == CollectiveOp::all_reduce)
      MPI_Iallgatherv(terms_.data(), own, MPI_FLOAT, sum_.data(), parts_.data(), offsets_.data(), MPI_FLOAT,
                      site.data, &data_);
    else
      MPI_Igatherv(terms_.data(), own, MPI_FLOAT, sum_.data(), parts_.data(), offsets_.data(), MPI_FLOAT,
                   root_, site.data, &data_);
  }

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
  Gathering(ExchangeContext& context, const AnyCollective& collective) {
    Message message;
    message.values = options_of(collective).contribution;
    message.bytes = options_of(collective).bytes / context.site.members();
    own_ = pack(context.executor, message, context.sizes);
    own_size_ = {own_.size(), context.came_s};
    sizes_.resize(context.site.ranks.size());
    constexpr int kBytes = sizeof(Announcement);
    MPI_Iallgather(&own_size_, kBytes, MPI_BYTE, sizes_.data(), kBytes, MPI_BYTE, context.site.data,
                   &request_);
  }

  bool advance(ExchangeContext& context, Ongoing& ongoing) {
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
    MPI_Iallgatherv(own_.data(), mpi_count(own_.size()), MPI_BYTE, all_.data(), counts_.data(),
                    offsets_.data(), MPI_BYTE, context.site.data, &request_);
    return is_complete(request_);
  }

  void deliver(ExchangeContext& context, const AnyCollective& collective, const CollectiveSlot& slot) {
    CollectiveResults().deliver(context.executor, collective, contributions(context), true,
                                context.site.group_rank, slot);
  }
  double bytes_sent(const ChannelSite& site) const {
    return static_cast<double>(own_.size()) * (site.members() - 1);
  }

 private:
  std::vector<Tensor> contributions(ExchangeContext& context) const {
    std::vector<Tensor> values;
    for (std::size_t member = 0; member < counts_.size(); ++member)
      values.push_back(
          unpack(context.executor, std::span(all_).subspan(static_cast<std::size_t>(offsets_[member]),
                                                           static_cast<std::size_t>(counts_[member])))
              .values);
    return values;
  }

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
  BroadcastExchange(ExchangeContext& context, const AnyCollective& collective) : root_(root_of(collective)) {
    if (context.site.group_rank == root_) {
      Message message;
      message.values = options_of(collective).contribution;
      message.bytes = options_of(collective).bytes;
      packed_ = pack(context.executor, message, context.sizes);
      size_ = {packed_.size(), context.came_s};
    }
    MPI_Ibcast(&size_, sizeof size_, MPI_BYTE, root_, context.site.data, &request_);
  }

  bool advance(ExchangeContext& context, Ongoing& ongoing) {
    if (!is_complete(request_)) return false;
    if (sized_) return true;
    sized_ = true;
    ongoing.others_came(size_.came_s);
    packed_.resize(size_.bytes);
    MPI_Ibcast(packed_.data(), mpi_count(packed_.size()), MPI_BYTE, root_, context.site.data, &request_);
    return is_complete(request_);
  }

  void deliver(ExchangeContext& context, const AnyCollective& collective, const CollectiveSlot& slot) {
    *slot.value = context.site.group_rank == root_ ? options_of(collective).contribution
                                                   : unpack(context.executor, packed_).values;
  }
  // Everybody but one passes the whole vector on once.
  double bytes_sent(const ChannelSite& site) const {
    return static_cast<double>(packed_.size()) * (1.0 - 1.0 / site.members());
  }

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
  BarrierExchange(ExchangeContext& context, const AnyCollective&)
      : came_s_(context.came_s), came_(context.site.ranks.size()) {
    MPI_Iallgather(&came_s_, 1, MPI_DOUBLE, came_.data(), 1, MPI_DOUBLE, context.site.data, &request_);
  }
  bool advance(ExchangeContext&, Ongoing& ongoing) {
    if (!is_complete(request_)) return false;
    ongoing.others_came(*std::max_element(came_.begin(), came_.end()));
    return true;
  }
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
inline void begin(Exchange& exchange, ExchangeContext& context, const AnyCollective& collective,
                  bool by_scenario) {
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
