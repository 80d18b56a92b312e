// Flows that share links max-min fairly: each has the share of its narrowest link, where that is shared
// evenly by those whom no other link holds back (Bertsekas and Gallager, Data Networks, 2nd edition, 1992,
// section 6.5.2). What begins and ends at one instant is solved together, and only what it is connected with
// by links; those of one path are one bundle. Where paths are long and steps alike, the same flows meet again
// and again: what took long to solve is known from then on. tests/engine/max_min.cpp has SimGrid's answers
// beside.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/base/instants.hpp"
#include "sim/cluster/network.hpp"
#include "sim/engine/earliest.hpp"

namespace simsgd {

class MaxMin {
 public:
  /// `capacity_Bps` by LinkId.
  explicit MaxMin(std::vector<double> capacity_Bps);

  /// `flow` is a small number of the caller's that is not under way. The path is not empty, bytes > 0.
  void start(std::uint32_t flow, std::span<const LinkId> path, double bytes, double now_s);
  void set_capacity(LinkId link, double capacity_Bps);
  /// When the next one ends, as things are at `now_s`; infinity if none is under way.
  double next_end_s(double now_s);
  /// False: none ends at `now_s`.
  bool may_end_by(double now_s) const {
    return !changed_.empty() || (!ends_.empty() && not_after(ends_.front().time_s, now_s));
  }
  /// Takes those that end at `now_s`, in the order of their ends.
  void take_ended(double now_s, std::vector<std::uint32_t>& ended);
  /// How many solutions were known already.
  std::uint64_t recalled() const { return recalled_; }

 private:
  static constexpr std::uint32_t kNoNumber = 0xffffffff;
  struct Hop {
    LinkId link = 0;
    std::uint32_t place = 0;  // among its crossings
  };
  struct Member {
    std::uint32_t flow = 0;
    double left_bytes = 0;
  };
  // Flows of one path, which have one rate.
  struct Bundle {
    boost::container::small_vector<Hop, 4> hops;
    boost::container::small_vector<Member, 1> members;  // empty: none is under way
    double rate_Bps = 0, since_s = 0;                   // so much was left of members at that instant
    std::uint64_t path = 0;                             // a hash of its links
    std::uint32_t path_number = kNoNumber;
  };
  struct Crossing {
    std::uint32_t bundle = 0, hop = 0;
  };
  struct SharedLink {
    double capacity_Bps = 0;
    std::uint32_t flows = 0;
    bool changed = false;
    boost::container::small_vector<Crossing, 2> crossings;
  };
  // What a solution goes through for every hop of every bundle lies close together: of a link, and of a
  // bundle.
  struct Filling {
    double left_Bps = 0;
    std::uint32_t open = 0, seen = 0;  // flows that are not fixed; solution
  };
  struct Solved {
    std::uint32_t seen = 0, fixed = 0;  // solutions
  };
  struct Share {
    double rate_Bps = 0;
    LinkId link = 0;
  };
  struct PathRate {
    std::uint32_t path_number = 0;
    double rate_Bps = 0;
  };
  SharedLink& link(LinkId id) { return links_[static_cast<std::size_t>(id)]; }
  Filling& filling(LinkId id) { return fillings_[static_cast<std::size_t>(id)]; }
  void changes(LinkId id);
  std::uint32_t bundle_of(std::span<const LinkId> path);
  void remove(std::uint32_t bundle);
  static void advance(Bundle& bundle, double now_s);
  void set_rate(std::uint32_t bundle, double rate_Bps, double now_s);
  void put_end(std::uint32_t bundle);
  void solve(LinkId first, double now_s);
  void find_connected(LinkId first);
  std::uint32_t path_number(Bundle& bundle);
  void remember();
  bool recall(double now_s);

  std::vector<SharedLink> links_;
  std::vector<Filling> fillings_;  // of links
  std::vector<Bundle> bundles_;
  std::vector<std::uint32_t> unused_;  // of these
  std::vector<Solved> solved_;         // of bundles
  std::vector<LinkId> changed_, connected_;
  std::vector<Share> shares_;  // a heap, the least on top
  Earliest ends_;              // of bundles that have a rate: of their next flow
  std::size_t under_way_ = 0;  // bundles
  std::uint32_t solution_ = 0;
  // Solutions that are known, by what is under way: the sum of the hashes of all flows' paths, and of what
  // capacities have changed.
  std::uint64_t state_ = 0;
  std::size_t hops_solved_ = 0, rates_known_ = 0;
  std::unordered_map<std::uint64_t, std::vector<PathRate>> known_;
  std::unordered_map<std::uint64_t, std::uint32_t> path_numbers_;
  std::vector<double> rate_of_path_;  // while one is recalled
  std::uint64_t recalled_ = 0;
};

}  // namespace simsgd
