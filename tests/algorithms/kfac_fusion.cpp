// Which factors travel together, by hand; tests/algorithms/mg_wfbp.cpp compares what that takes.
#include "algorithms/merged_messages.hpp"

#include <doctest/doctest.h>

namespace simsgd::test::algorithms_kfac_fusion {

TEST_CASE("without fusion every factor is a group") { CHECK(separate_groups(3) == GroupSizes{1, 1, 1}); }

TEST_CASE("by threshold, a group is complete as soon as it holds so many numbers") {
  const std::vector<ReadyPart> factors = {{0, 4}, {1, 5}, {2, 1}, {3, 12}, {4, 3}};
  CHECK(groups_by_threshold(factors, 10) == GroupSizes{3, 1, 1});  // 4 + 5 + 1, 12, 3
  CHECK(groups_by_threshold(factors, 1) == GroupSizes{1, 1, 1, 1, 1});
  CHECK(groups_by_threshold(factors, 1000) == GroupSizes{5});
  CHECK(groups_by_threshold({}, 10).empty());
}

TEST_CASE(
    "dynamic: a factor joins if it is ready before the group could start, or within a latency of its start") {
  const FusionCost cost{.latency_s = 2, .per_element_s = 1};
  // The first could start at 0 and would end at 2 + 4 = 6: one that is ready at 1 joins (within 2 s), at 3
  // not.
  CHECK(merged_groups({{0, 4}, {1, 4}}, cost) == GroupSizes{2});
  CHECK(merged_groups({{0, 4}, {3, 4}}, cost) == GroupSizes{1, 1});
  // The second starts when the first is through, at 6: the third is ready before that and joins it.
  CHECK(merged_groups({{0, 4}, {3, 4}, {5, 4}}, cost) == GroupSizes{1, 2});
  // One that joins moves the start to its own ready time, 1.5: another at 3.4 is within 2 s of that.
  CHECK(merged_groups({{0, 4}, {1.5, 4}, {3.4, 4}}, cost) == GroupSizes{3});
  // Ready only after the message would have ended: never, even if that is within the latency.
  CHECK(merged_groups({{0, 0}, {2, 4}}, cost) == GroupSizes{1, 1});
}

}  // namespace simsgd::test::algorithms_kfac_fusion
