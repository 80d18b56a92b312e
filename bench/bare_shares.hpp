// Links whose bandwidth the flows on them share max-min fairly, for bare_loop.hpp alone.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/cluster/network.hpp"

namespace simsgd::bench {

class BareShares {
 public:
  struct Rate {
    std::uint32_t path = 0;
    double each_Bps = 0;  ///< of its flows
  };

  explicit BareShares(const Network& network);

  /// Number of the path from GPU to GPU; and the sum of its latencies.
  std::uint32_t path(int from, int to);
  double latency_s(std::uint32_t path) const { return paths_[path].latency_s; }

  /// A flow begins on the path, or one ends.
  void begin(std::uint32_t path);
  void end(std::uint32_t path);
  /// Whether flows have begun or ended since the last solution.
  bool changed() const { return !changed_.empty(); }
  /// The rates of all flows that those meet, directly or over others.
  const std::vector<Rate>& solve();

 private:
  struct Path {
    std::vector<std::uint32_t> links;
    double latency_s = 0, flows = 0;
    std::uint32_t met = 0, solved = 0;  // by the solution of this number
  };
  struct Link {
    double bandwidth_Bps = 0, left_Bps = 0, open = 0;
    std::vector<std::uint32_t> paths{};  // with flows
    std::uint32_t met = 0;
  };
  void collect(std::uint32_t link);
  void share();
  void fix(std::uint32_t path, double rate_Bps);

  const Network& network_;
  std::vector<Path> paths_;
  std::map<std::vector<LinkId>, std::uint32_t> numbers_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> changed_, together_;  // links
  std::vector<Rate> rates_;
  std::uint32_t solution_ = 0;
};

}  // namespace simsgd::bench
