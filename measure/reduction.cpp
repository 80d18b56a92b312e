#include <algorithm>
#include <cmath>

#include "measure/exchanges.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

Reduction::Reduction(ExchangeContext& context, const AnyCollective& collective)
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

// Every part gets its share of zeros, behind its values: entries are cut and added up as without them.
void Reduction::fill_up(ChannelSite& site, const std::vector<float>& values, double bytes) {
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

std::vector<float> Reduction::without_filling(const std::vector<float>& filled) const {
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
void Reduction::add_up() {
  for (std::size_t from = 1; from < own_counts_.size(); ++from) {
    const float* term = terms_.data() + from * own_;
    for (std::size_t i = 0; i < own_; ++i) terms_[i] += term[i];
  }
  if (scale_ != 1.0F)
    for (std::size_t i = 0; i < own_; ++i) terms_[i] *= scale_;
}

void Reduction::gather_parts(const ChannelSite& site) {
  const auto own = static_cast<int>(own_);
  if (receives_) sum_.resize(count_);
  if (op_ == CollectiveOp::all_reduce)
    MPI_Iallgatherv(terms_.data(), own, MPI_FLOAT, sum_.data(), parts_.data(), offsets_.data(), MPI_FLOAT,
                    site.data, &data_);
  else
    MPI_Igatherv(terms_.data(), own, MPI_FLOAT, sum_.data(), parts_.data(), offsets_.data(), MPI_FLOAT, root_,
                 site.data, &data_);
}

bool Reduction::advance(ExchangeContext& context, Ongoing& ongoing) {
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

void Reduction::deliver(ExchangeContext& context, const AnyCollective& collective,
                        const CollectiveSlot& slot) {
  if (receives_ && options_of(collective).contribution)
    *slot.value =
        context.executor.constant({held_.empty() ? std::move(sum_) : without_filling(sum_), {}, {}});
}

double Reduction::bytes_sent(const ChannelSite& site) const {
  const double others = sizeof(float) * static_cast<double>(count_ - own_);
  const double own = sizeof(float) * static_cast<double>(own_);
  if (op_ == CollectiveOp::all_reduce) return others + own * (site.members() - 1);
  if (op_ == CollectiveOp::reduce && !receives_) return others + own;
  return others;
}

}  // namespace simsgd
