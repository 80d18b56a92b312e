// NVTX ranges of one process, found by an instant or by the call that launched a kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace simsgd {

struct ProfileRange {
  std::int64_t start_ns = 0, end_ns = 0;
  double value = 0;  // number of the step, or bytes
  std::int64_t first_call = std::numeric_limits<std::int64_t>::max(), last_call = -1;
};

/// Ranges of one process that do not overlap, by time.
class ProfileRanges {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  /// False beyond kMost.
  bool add(const ProfileRange& range) {
    if (ranges_.size() == kMost) return false;
    ranges_.push_back(range);
    return true;
  }
  void sort() {
    std::stable_sort(ranges_.begin(), ranges_.end(),
                     [](const ProfileRange& a, const ProfileRange& b) { return a.start_ns < b.start_ns; });
  }
  ProfileRange* at(std::int64_t time_ns) {
    auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), time_ns,
                         [](std::int64_t time, const ProfileRange& range) { return time < range.start_ns; });
    if (after == ranges_.begin()) return nullptr;
    --after;
    return time_ns < after->end_ns ? &*after : nullptr;
  }
  /// Of the call that launched a kernel.
  const ProfileRange* of_call(std::int64_t call) const {
    auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), call,
                         [](std::int64_t c, const ProfileRange& range) { return c < range.first_call; });
    if (after == ranges_.begin()) return nullptr;
    --after;
    return call <= after->last_call ? &*after : nullptr;
  }
  /// A range without a call would be in the way.
  void forget_without_calls() {
    std::erase_if(ranges_, [](const ProfileRange& range) { return range.last_call < 0; });
  }

 private:
  std::vector<ProfileRange> ranges_;
};

}  // namespace simsgd
