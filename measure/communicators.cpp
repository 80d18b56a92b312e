#include "measure/communicators.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

// The same on all members, and hardly ever the same for two groups or channels; FNV-1a in the 30 bits that
// Open MPI allows for a tag.
int tag_of(const std::vector<int>& ranks, ChannelId channel) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&hash](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3ULL;
  };
  for (const int rank : ranks) mix(rank);
  mix(channel);
  return static_cast<int>((hash ^ (hash >> 32)) & 0x3fffffff);
}

}  // namespace

Communicators::Communicators(MPI_Comm world, Wait wait) : wait_(std::move(wait)) {
  MPI_Comm_dup(world, &world_);
  MPI_Comm_dup(world, &assembly_);
  MPI_Comm_rank(world_, &rank_);
  int size = 0;
  MPI_Comm_size(world_, &size);
  std::vector<int> everybody(static_cast<std::size_t>(size));
  std::iota(everybody.begin(), everybody.end(), 0);
  group(everybody);  // kWorld
}

GroupId Communicators::group(const std::vector<int>& ranks) {
  CHECK(std::is_sorted(ranks.begin(), ranks.end()) &&
            std::find(ranks.begin(), ranks.end(), rank_) != ranks.end(),
        "a group is its ranks in ascending order, the one that asks among them");
  const auto [entry, fresh] = numbers_.try_emplace(ranks, static_cast<GroupId>(groups_.size()));
  if (fresh) groups_.push_back(ranks);
  return entry->second;
}

ChannelSite& Communicators::site(GroupId group, ChannelId channel) {
  const auto [entry, fresh] = sites_.try_emplace({group, channel});
  if (fresh) {
    entry->second = make(ranks(group), tag_of(ranks(group), channel));
    entry->second.ledger = static_cast<std::int32_t>(sites_.size());  // 0 is for messages
  }
  return entry->second;
}

ChannelSite Communicators::make(const std::vector<int>& ranks, int tag) {
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
void Communicators::gather_members(const std::vector<int>& ranks, int tag) {
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

}  // namespace simsgd
