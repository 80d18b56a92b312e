// Sets of ranks by number.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "sim/roles/collectives.hpp"

namespace simsgd {

/// Shared by all workers of a run.
class Groups {
 public:
  explicit Groups(int workers);
  GroupId intern(const std::vector<int>& ranks);
  const std::vector<int>& ranks(GroupId group) const { return groups_[static_cast<std::size_t>(group)]; }
  /// Place of `rank` in the group; fails if it is not a member.
  std::int32_t rank_in(GroupId group, int rank) const;

 private:
  std::deque<std::vector<int>> groups_;  // references to its entries stay valid
  std::map<std::vector<int>, GroupId> numbers_;
};

}  // namespace simsgd
