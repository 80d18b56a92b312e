// Which ranks average in which iteration.
#include <doctest/doctest.h>

#include <set>

#include "algorithms/wait_avoiding/wait_avoiding.hpp"
#include "sim/collectives/schedule.hpp"

namespace simsgd::test::algorithms_wait_avoiding_groups {

namespace {

using Groups = std::set<std::vector<int>>;

Groups groups_of(int workers, int size, std::uint64_t iteration) {
  Groups groups;
  for (int rank = 0; rank < workers; ++rank) groups.insert(butterfly_group(rank, workers, size, iteration));
  return groups;
}

/// Iterations from `first` on until what one rank knows has reached all.
int iterations_to_reach_all(int workers, int size, std::uint64_t first) {
  std::set<int> reached = {workers / 3};
  for (int t = 0;; ++t) {
    if (static_cast<int>(reached.size()) == workers) return t;
    std::set<int> next;
    for (const int rank : reached)
      for (const int member : butterfly_group(rank, workers, size, first + static_cast<std::uint64_t>(t)))
        next.insert(member);
    reached = next;
  }
}

}  // namespace

TEST_CASE("the groups of 8 workers by four are those of the paper, and repeat after three iterations") {
  for (const std::uint64_t again : {0U, 3U, 6U}) {
    CHECK(groups_of(8, 4, again) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
    CHECK(groups_of(8, 4, again + 1) == Groups{{0, 1, 4, 5}, {2, 3, 6, 7}});
    CHECK(groups_of(8, 4, again + 2) == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});
  }
  CHECK(butterfly_cycle(8, 4) == 3);
}

TEST_CASE("the groups of 4 workers by two alternate between neighbours and the others") {
  CHECK(groups_of(4, 2, 0) == Groups{{0, 1}, {2, 3}});
  CHECK(groups_of(4, 2, 1) == Groups{{0, 2}, {1, 3}});
  CHECK(butterfly_cycle(4, 2) == 2);
}

TEST_CASE("a group of all is everybody in every iteration, a group of one nobody else") {
  for (const std::uint64_t t : {0U, 1U, 5U}) {
    CHECK(groups_of(4, 4, t) == Groups{{0, 1, 2, 3}});
    CHECK(butterfly_group(2, 4, 1, t) == std::vector<int>{2});
    CHECK(butterfly_group(0, 1, 1, t) == std::vector<int>{0});
  }
}

TEST_CASE("groups of one iteration are disjoint, have S members each, and repeat after their cycle") {
  for (int workers = 1; workers <= 256; workers *= 2) {
    for (int size = 1; size <= workers; size *= 2) {
      CAPTURE(workers);
      CAPTURE(size);
      const std::uint64_t cycle = butterfly_cycle(workers, size);
      for (std::uint64_t t = 0; t < cycle; ++t) {
        const Groups groups = groups_of(workers, size, t);
        CHECK(static_cast<int>(groups.size()) == workers / size);
        for (const std::vector<int>& group : groups) CHECK(static_cast<int>(group.size()) == size);
        CHECK(groups == groups_of(workers, size, t + cycle));
      }
    }
  }
}

TEST_CASE("an update reaches everybody in ceil(log_S P) iterations, whenever it starts") {
  // P = 64, S = 8: 2 iterations. P = 128, S = 8: 3. P = 1,024, S = 32: 2.
  CHECK(iterations_to_reach_all(64, 8, 0) == 2);
  CHECK(iterations_to_reach_all(128, 8, 0) == 3);
  CHECK(iterations_to_reach_all(1024, 32, 0) == 2);
  for (int workers = 2; workers <= 256; workers *= 2) {
    for (int size = 2; size <= workers; size *= 2) {
      CAPTURE(workers);
      CAPTURE(size);
      const int bits = ceil_log2(workers), phases = ceil_log2(size);
      for (std::uint64_t first = 0; first < butterfly_cycle(workers, size); ++first)
        CHECK(iterations_to_reach_all(workers, size, first) == (bits + phases - 1) / phases);
    }
  }
}

}  // namespace simsgd::test::algorithms_wait_avoiding_groups
