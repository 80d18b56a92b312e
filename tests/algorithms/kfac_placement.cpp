// Who inverts what, by hand.
#include <doctest/doctest.h>

#include "algorithms/kfac/inverse_round.hpp"

namespace simsgd::test::algorithms_kfac_placement {

namespace {

using Owners = std::vector<int>;
using Order = std::vector<std::size_t>;

// Dimensions, and inversions that take 1 s for each row.
std::vector<InverseTask> tasks(const std::vector<int>& dims, double broadcast_s) {
  std::vector<InverseTask> all;
  for (const int dim : dims) all.push_back({dim, static_cast<double>(dim), broadcast_s});
  return all;
}

}  // namespace

TEST_CASE("everywhere: nobody owns a factor, and nothing is sent") {
  const InversePlacement placement = place_everywhere(3);
  CHECK(placement.owner == Owners{kEverybody, kEverybody, kEverybody});
  CHECK(placement.order.empty());
}

TEST_CASE(
    "round-robin with more workers than layers: layer i's A to rank 2i, its G to rank 2i + 1, modulo P") {
  const InversePlacement placement = place_round_robin(6, 4);  // 3 layers
  CHECK(placement.owner == Owners{0, 1, 2, 3, 0, 1});
  CHECK(placement.order == Order{0, 1, 2, 3, 4, 5});
}

TEST_CASE("round-robin with no more workers than layers: both of layer i to rank i, modulo P") {
  CHECK(place_round_robin(6, 3).owner == Owners{0, 0, 1, 1, 2, 2});
  CHECK(place_round_robin(6, 2).owner == Owners{0, 0, 1, 1, 0, 0});
  CHECK(place_round_robin(6, 1).owner == Owners{0, 0, 0, 0, 0, 0});
}

TEST_CASE(
    "balanced: what is cheaper to broadcast than to invert goes, largest first, to whoever has least to do") {
  // A broadcast takes 3 s: 2 is inverted by everybody. 9 -> rank 0, 8 -> rank 1, 5 -> rank 1 (8 < 9),
  // 4 -> rank 0 (9 < 13), 3 -> rank 0 and 1 have 13 each: the first.
  const InversePlacement placement = place_balanced(tasks({4, 9, 2, 8, 3, 5}, 3), 2);
  CHECK(placement.order == Order{1, 3, 5, 0, 4});
  CHECK(placement.owner == Owners{0, 0, kEverybody, 1, 0, 1});
}

TEST_CASE("balanced by a threshold: sent from that dimension on, whatever the broadcast costs") {
  const InversePlacement placement = place_balanced_from(tasks({4, 9, 2, 8}, 1e9), 8, 4);
  CHECK(placement.order == Order{1, 3, 0});
  CHECK(placement.owner == Owners{2, 0, kEverybody, 1});
}

TEST_CASE("equal factors are placed in the order of the layers") {
  CHECK(place_balanced(tasks({5, 5, 5}, 1), 2).owner == Owners{0, 1, 0});
}

TEST_CASE("no worker has more than the least loaded one and its own last factor") {
  std::vector<int> dims;
  for (int i = 0; i < 100; ++i) dims.push_back(1 + (i * 37) % 64);
  const std::vector<InverseTask> all = tasks(dims, 0);
  const InversePlacement placement = place_balanced(all, 7);
  std::vector<double> load(7, 0.0), last(7, 0.0);
  for (const std::size_t f : placement.order) {
    const auto owner = static_cast<std::size_t>(placement.owner[f]);
    load[owner] += last[owner] = all[f].invert_s;
  }
  for (std::size_t a = 0; a < 7; ++a)
    for (std::size_t b = 0; b < 7; ++b) CHECK(load[a] - last[a] <= load[b]);
}

}  // namespace simsgd::test::algorithms_kfac_placement
