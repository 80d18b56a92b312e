#include "measure/mpi_progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {
// How often a sleeping rank looks after what it has under way, in case that no socket tells.
constexpr double kLookEvery_s = 100e-6;

// MPI connects two ranks when they first talk.
void talk_to_all(MPI_Comm world) {
  int size = 0;
  MPI_Comm_size(world, &size);
  std::vector<MPI_Request> requests;
  for (int other = 0; other < size; ++other) {
    MPI_Irecv(nullptr, 0, MPI_BYTE, other, 0, world, &requests.emplace_back());
    MPI_Isend(nullptr, 0, MPI_BYTE, other, 0, world, &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}
}  // namespace

void MpiProgress::share_cores(MPI_Comm world) {
  waiting_ = Waiting(true);
  talk_to_all(world);
  waiting_.look_for_sockets();
}

// Where ranks share cores whoever polls takes the core from somebody who computes. There everybody sleeps,
// and without sockets what is under way takes up to a nap longer.
void MpiProgress::rest(double waited_s, bool under_way) const {
  if (!waiting_.sleeps()) return simsgd::rest(waited_s, under_way);
  constexpr double kShare = 0.02, kYields_s = 100e-6, kShortest_s = 50e-6, kUnderWay_s = 100e-6,
                   kLongest_s = 500e-6;
  if (waited_s < kYields_s)
    std::this_thread::yield();
  else
    waiting_.sleep(std::clamp(kShare * waited_s, kShortest_s, under_way ? kUnderWay_s : kLongest_s));
}

void MpiProgress::progress() {
  for (Part* part : parts_) part->progress();
}

// After a sleep what MPI hears of in one look, such as the end of a message, is acted upon in the next.
void MpiProgress::look() {
  progress();
  if (waiting_.sleeps()) progress();
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
      throw RunError(fmt::format(
          "Rank {} has waited {:.0f} s for {} in step {}, and gives up: the algorithm's ranks do not agree on what they exchange, or another rank is stuck.",
          rank_, waited_s, what(), step_));
    check_end();
    rest(waited_s, under_way());
    look();
  }
}

void MpiProgress::sleep_until(double time_s) {
  for (double left_s = 0; (left_s = time_s - clock_.now()) > 0;) {
    if (!idle()) look();
    check_end();
    if (idle())
      nap(left_s);
    else if (waiting_.sleeps())
      waiting_.sleep(std::min(left_s, kLookEvery_s));
    else
      nap(std::min(left_s, kLookEvery_s));
  }
}

}  // namespace simsgd
