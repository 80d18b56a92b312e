// MPI communicators of a run: one pair for each (group, channel), so that operations of different channels
// never meet. Made when the first operation starts there, which waits until every member has come; ranks must
// therefore use new channels for the first time in the same order. They live until MPI_Finalize.
#pragma once

#include <mpi.h>

#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

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

  Communicators(MPI_Comm world, Wait wait);

  GroupId group(const std::vector<int>& ranks);
  const std::vector<int>& ranks(GroupId group) const { return groups_[static_cast<std::size_t>(group)]; }
  ChannelSite& site(GroupId group, ChannelId channel);

 private:
  ChannelSite make(const std::vector<int>& ranks, int tag);
  void gather_members(const std::vector<int>& ranks, int tag);

  MPI_Comm world_;
  MPI_Comm assembly_ = MPI_COMM_NULL;
  Wait wait_;
  int rank_ = 0;
  std::deque<std::vector<int>> groups_;
  std::map<std::vector<int>, GroupId> numbers_;
  std::map<std::pair<GroupId, ChannelId>, ChannelSite> sites_;
};

}  // namespace simsgd
