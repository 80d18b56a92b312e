// EarlyLeave evaluates broadcast and reduce as ranks arrive. Once all have, it must have told what the
// recurrence gives; and each rank's end must be told with the last arrival that it depends on.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "sim/collectives/early_leave.hpp"
#include "support.hpp"

namespace simsgd::test::collectives_early_leave {

using Op = CollectiveOp;

namespace {

// Ends by rank when ranks arrive in the order of their arrivals.
std::vector<double> ends_as_they_come(const Plan& plan, const std::vector<double>& arrivals,
                                      const JitterDraws* jitter) {
  std::vector<std::int32_t> order(arrivals.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return arrivals[static_cast<std::size_t>(a)] < arrivals[static_cast<std::size_t>(b)];
  });
  EarlyLeave early(plan, jitter, false);
  std::vector<EarlyLeave::End> told;
  for (const std::int32_t rank : order) early.arrive(rank, arrivals[static_cast<std::size_t>(rank)], told);
  std::vector<double> ends(arrivals.size(), -1);
  for (const EarlyLeave::End& end : told) {
    CHECK(ends[static_cast<std::size_t>(end.rank)] == -1);  // told once
    ends[static_cast<std::size_t>(end.rank)] = end.end_s;
  }
  return ends;
}

/// The ranks whose ends an arrival makes known, with the last arrival they depend on.
std::map<int, double> told_by(EarlyLeave& early, std::int32_t rank, double time_s) {
  std::vector<EarlyLeave::End> told;
  early.arrive(rank, time_s, told);
  std::map<int, double> known;
  for (const EarlyLeave::End& end : told) known[end.rank] = end.last_arrival_s;
  return known;
}

}  // namespace

TEST_CASE("once all have arrived every rank's end is that of the recurrence, for every root") {
  const JitterTable table(lognormal(3e-6, 0.7));
  for (const int ranks : {1, 2, 3, 5, 8, 13, 16}) {
    for (int root = 0; root < ranks; ++root) {
      for (const Op op : {Op::broadcast, Op::reduce}) {
        for (int variant = 0; variant < 4; ++variant) {
          CAPTURE(op_name(op));
          CAPTURE(ranks);
          CAPTURE(root);
          CAPTURE(variant);
          Cluster cluster = (variant & 1) != 0 ? uneven_star(ranks, 3) : star(ranks);
          cluster.host = {1e-6, 0, 50e9, 1e-11};
          const Plan plan = plan_of(op, "tree", 1e6, cluster, root);
          const JitterDraws draws{&table, 5, 1, 9};
          const JitterDraws* jitter = (variant & 2) != 0 ? &draws : nullptr;
          const std::vector<double> arrivals = spread(ranks, 1e-3, static_cast<std::uint32_t>(root));
          CHECK(ends_as_they_come(plan, arrivals, jitter) == ends_of(plan, arrivals, jitter));
        }
      }
    }
  }
}

TEST_CASE("a broadcast tells of each rank when its parent, itself and its children have arrived") {
  // P = 8, root 0: 0 -> 4; 0 -> 2, 4 -> 6; 0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7.
  const Plan plan = plan_of(Op::broadcast, "tree", 1e6, star(8));
  EarlyLeave early(plan, nullptr, false);
  using Told = std::map<int, double>;
  CHECK(told_by(early, 0, 1.0) == Told{});
  CHECK(told_by(early, 4, 2.0) == Told{});
  CHECK(told_by(early, 1, 3.0) == Told{});  // 0 is to serve 2 before 1
  CHECK(told_by(early, 2, 4.0) == Told{{0, 4.0}, {1, 4.0}});
  CHECK(told_by(early, 7, 5.0) == Told{});
  CHECK(told_by(early, 5, 6.0) == Told{});  // 4 is to serve 6 before 5
  CHECK(told_by(early, 6, 7.0) == Told{{4, 7.0}, {5, 7.0}, {6, 7.0}, {7, 7.0}});
  CHECK(told_by(early, 3, 8.0) == Told{{2, 8.0}, {3, 8.0}});
}

TEST_CASE("a reduction lets a leaf go after its one message; the root waits for all") {
  // P = 4, root 0: 1 -> 0, 3 -> 2; 2 -> 0.
  const Plan plan = plan_of(Op::reduce, "tree", 1e6, star(4));
  EarlyLeave early(plan, nullptr, false);
  using Told = std::map<int, double>;
  CHECK(told_by(early, 1, 1.0) == Told{});
  CHECK(told_by(early, 0, 2.0) == Told{{1, 2.0}});
  CHECK(told_by(early, 2, 3.0) == Told{});
  CHECK(told_by(early, 3, 9.0) == Told{{0, 9.0}, {2, 9.0}, {3, 9.0}});
}

TEST_CASE("by the closed form a rank ends its own time after the last arrival that it depends on") {
  const Plan plan = plan_of(Op::broadcast, "tree", 1e6, star(4));  // 0 -> 2; 0 -> 1, 2 -> 3
  EarlyLeave early(plan, nullptr, true);
  std::vector<EarlyLeave::End> told;
  early.arrive(0, 0.0, told);
  early.arrive(2, 1.0, told);
  early.arrive(1, 0.5, told);
  REQUIRE(told.size() == 2);
  const double hop = kAlpha + 1e6 / kBandwidth;
  for (const EarlyLeave::End& end : told) CHECK(end.end_s == doctest::Approx(1.0 + 2 * hop).epsilon(1e-14));
}

}  // namespace simsgd::test::collectives_early_leave
