#include "measure/mpi_progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {
// How often a sleeping rank looks after what it has under way.
constexpr double kLookEvery_s = 100e-6;
}  // namespace

void MpiProgress::progress() {
  for (Part* part : parts_) part->progress();
}

bool MpiProgress::idle() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part* part) { return part->idle(); });
}

void MpiProgress::check_end() const {
  if (over_ && over_()) throw RunIsOver();
}

void MpiProgress::wait_until(const Condition& complete, const Condition& under_way,
                             const std::function<std::string()>& what) {
  const double begin_s = clock_.wall_s();
  while (!complete()) {
    const double waited_s = clock_.wall_s() - begin_s;
    if (waited_s > patience_s_)
      throw RunError(
          fmt::format("Rank {} has waited {:.0f} s for {} in step {}, and gives up: the algorithm's ranks do "
                      "not agree on what they exchange, or another rank is stuck.",
                      rank_, waited_s, what(), step_));
    check_end();
    rest(waited_s, under_way());
    progress();
  }
}

void MpiProgress::sleep_until(double time_s) {
  for (double left_s = 0; (left_s = time_s - clock_.now()) > 0;) {
    if (!idle()) progress();
    check_end();
    nap(idle() ? left_s : std::min(left_s, kLookEvery_s));
  }
}

}  // namespace simsgd
