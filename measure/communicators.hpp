// MPI communicators of a run: one pair for each (group, channel), so that operations of different channels
// never meet. Made when the first operation starts there, which waits until every member has come; ranks must
// therefore use new channels for the first time in the same order. They live until MPI_Finalize.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "measure/packing.hpp"
#include "sim/base/check.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

/// Where the operations of one (group, channel) take place, as one member sees it.
struct ChannelSite {
  MPI_Comm data = MPI_COMM_NULL;
  MPI_Comm arrivals = MPI_COMM_NULL;  ///< tells when each has come to an operation
  std::vector<int> ranks;
  std::int32_t group_rank = 0;
  std::int32_t ledger = 0;   ///< channel of the ledger
  std::vector<float> zeros;  ///< what operations without values send

  int members() const { return static_cast<int>(ranks.size()); }
};

class Communicators {
 public:
  /// `wait` returns when the condition given to it holds. Everything else goes on meanwhile but handlers,
  /// which could ask for the site that is being made.
  using Wait = std::function<void(const std::function<bool()>& condition)>;

  Communicators(MPI_Comm world, Wait wait) : wait_(std::move(wait)) {
    MPI_Comm_dup(world, &world_);
    MPI_Comm_dup(world, &assembly_);
    MPI_Comm_rank(world_, &rank_);
    int size = 0;
    MPI_Comm_size(world_, &size);
    std::vector<int> everybody(static_cast<std::size_t>(size));
    std::iota(everybody.begin(), everybody.end(), 0);
    group(everybody);  // kWorld
  }

  GroupId group(const std::vector<int>& ranks) {
    CHECK(std::is_sorted(ranks.begin(), ranks.end()) &&
              std::find(ranks.begin(), ranks.end(), rank_) != ranks.end(),
          "a group is its ranks in ascending order, the one that asks among them");
    const auto [entry, fresh] = numbers_.try_emplace(ranks, static_cast<GroupId>(groups_.size()));
    if (fresh) groups_.push_back(ranks);
    return entry->second;
  }

  const std::vector<int>& ranks(GroupId group) const { return groups_[static_cast<std::size_t>(group)]; }
  ChannelSite& site(GroupId group, ChannelId channel) {
    const auto [entry, fresh] = sites_.try_emplace({group, channel});
    if (fresh) {
      entry->second = make(ranks(group), tag_of(ranks(group), channel));
      entry->second.ledger = static_cast<std::int32_t>(sites_.size());  // 0 is for messages
    }
    return entry->second;
  }

 private:
  /// The same on all members, and hardly ever the same for two groups or channels, in the 30 bits that Open
  /// MPI allows for a tag.
  static int tag_of(const std::vector<int>& ranks, ChannelId channel) {
    std::string text(reinterpret_cast<const char*>(ranks.data()), ranks.size() * sizeof(int));
    text.append(reinterpret_cast<const char*>(&channel), sizeof channel);
    const std::uint64_t hash = hash_of(text);
    return static_cast<int>((hash ^ (hash >> 32)) & 0x3fffffff);
  }
  ChannelSite make(const std::vector<int>& ranks, int tag) {
    gather_members(ranks, tag);
    ChannelSite site;
    site.ranks = ranks;
    site.group_rank = static_cast<std::int32_t>(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
    MPI_Group everybody = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    MPI_Comm_group(world_, &everybody);
    MPI_Group_incl(everybody, static_cast<int>(ranks.size()), ranks.data(), &members);
    MPI_Comm_create_group(world_, members, tag, &site.data);
    MPI_Comm_dup(site.data, &site.arrivals);
    MPI_Group_free(&members);
    MPI_Group_free(&everybody);
    return site;
  }

  // MPI_Comm_create_group blocks, and what this rank has under way would stand still meanwhile: it is called
  // once every member is known to be about to call it.
  void gather_members(const std::vector<int>& ranks, int tag) {
    std::vector<MPI_Request> requests;
    for (const int other : ranks) {
      if (other == rank_) continue;
      MPI_Irecv(nullptr, 0, MPI_BYTE, other, tag, assembly_, &requests.emplace_back());
      MPI_Isend(nullptr, 0, MPI_BYTE, other, tag, assembly_, &requests.emplace_back());
    }
    wait_([&requests] {
      int all = 0;
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE);
      return all != 0;
    });
  }

  MPI_Comm world_;
  MPI_Comm assembly_ = MPI_COMM_NULL;
  Wait wait_;
  int rank_ = 0;
  std::deque<std::vector<int>> groups_;
  std::map<std::vector<int>, GroupId> numbers_;
  std::map<std::pair<GroupId, ChannelId>, ChannelSite> sites_;
};

}  // namespace simsgd
