// Which factors travel together, by hand.
#include "algorithms/merged_messages.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/base/random.hpp"

namespace simsgd::test::algorithms_kfac_fusion {

namespace {

// When the last message has ended: each group leaves when its last factor is ready and the one before is
// through.
double end_of(const std::vector<ReadyPart>& factors, const GroupSizes& groups, const FusionCost& cost) {
  double free_s = 0;
  std::size_t next = 0;
  for (const std::size_t size : groups) {
    double elements = 0;
    for (std::size_t i = 0; i < size; ++i) elements += factors[next++].elements;
    free_s = std::max(free_s, factors[next - 1].ready_s) + cost.latency_s + elements * cost.per_element_s;
  }
  return free_s;
}

}  // namespace

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

TEST_CASE("dynamic fusion never ends later than no fusion, in an undisturbed pipeline") {
  Stream stream({9, Purpose::algorithm, 0, 1});
  for (int example = 0; example < 2000; ++example) {
    CAPTURE(example);
    const FusionCost cost{.latency_s = stream.uniform(), .per_element_s = stream.uniform()};
    std::vector<ReadyPart> factors;
    double now_s = 0;
    for (int i = 0; i < 12; ++i) {
      now_s += stream.uniform() * (example % 3 == 0 ? 3 : 0.5);
      factors.push_back({now_s, stream.uniform()});
    }
    const GroupSizes groups = merged_groups(factors, cost);
    CHECK(end_of(factors, groups, cost) <= end_of(factors, separate_groups(12), cost) + 1e-12);
  }
}

}  // namespace simsgd::test::algorithms_kfac_fusion
