#include "sim/engine/groups.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/check.hpp"

namespace simsgd {

Groups::Groups(int workers) {
  std::vector<int> all(static_cast<std::size_t>(workers));
  std::iota(all.begin(), all.end(), 0);
  intern(all);
}

GroupId Groups::intern(const std::vector<int>& ranks) {
  const auto [entry, fresh] = numbers_.try_emplace(ranks, static_cast<GroupId>(groups_.size()));
  if (fresh) groups_.push_back(ranks);
  return entry->second;
}

std::int32_t Groups::rank_in(GroupId group, int rank) const {
  if (group == kWorld) return rank;
  const std::vector<int>& members = ranks(group);
  const auto found = std::lower_bound(members.begin(), members.end(), rank);
  CHECK(found != members.end() && *found == rank,
        "a rank started a collective of a group it does not belong to");
  return static_cast<std::int32_t>(found - members.begin());
}

}  // namespace simsgd
