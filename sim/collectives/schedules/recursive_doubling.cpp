// Recursive doubling: in step k rank r exchanges with r XOR 2^k.
//   all-reduce  log2 P (alpha + m beta), P a power of two. Other P: the ranks beyond the largest power of two
//   p first send their vector to rank - p, and receive the result at the end: 2 (alpha + m beta) more.
// Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19(1),
// 2005.
#include "sim/base/errors.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

namespace {

std::vector<std::int32_t> exchange(int ranks, int active, int distance) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks), -1);
  for (int i = 0; i < active; ++i) to[static_cast<std::size_t>(i)] = i ^ distance;
  return to;
}

// The ranks >= active send to rank - active, or receive from it.
std::vector<std::int32_t> fold(int ranks, int active, bool inwards) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks), -1);
  for (int i = active; i < ranks; ++i) {
    const int from = inwards ? i : i - active;
    to[static_cast<std::size_t>(from)] = inwards ? i - active : i;
  }
  return to;
}

template <class Body>
Schedule folded(const std::string& name, const ScheduleRequest& request, bool halves, Body body) {
  Schedule schedule{name, request.ranks, {}, true, false};
  const int active = power_of_two_below(request.ranks);
  schedule.ends_together = active == request.ranks;
  const int blocks = schedule.blocks = halves ? active : 1;
  const bool extra = active < request.ranks;
  if (extra)
    schedule.stages.push_back(
        make_stage(fold(request.ranks, active, true), request.bytes, request.bytes, 1, all_of(true, blocks)));
  body(schedule, active);
  if (extra)
    schedule.stages.push_back(
        make_stage(fold(request.ranks, active, false), request.bytes, 0, 1, all_of(false, blocks)));
  return schedule;
}

Schedule make_doubling(const ScheduleRequest& request) {
  return folded("recursive_doubling", request, false, [&](Schedule& schedule, int active) {
    for (int distance = 1; distance < active; distance *= 2)
      schedule.stages.push_back(make_stage(exchange(request.ranks, active, distance), request.bytes,
                                           request.bytes, 1, all_of(true)));
  });
}

// Recursive halving: step k exchanges m / 2^(k+1), far partners first. A rank gives its partner the
// partner's half of what it still sums up, and is left with the block of its own number.
void add_halving(Schedule& schedule, int active, double bytes) {
  double part = bytes / 2;
  for (int distance = active / 2; distance >= 1; distance /= 2, part /= 2)
    schedule.stages.push_back(make_stage(exchange(schedule.ranks, active, distance), part, part, 1,
                                         {true, [distance](std::int32_t rank, std::int32_t) {
                                            return BlockRange{(rank ^ distance) & ~(distance - 1), distance};
                                          }}));
}

void add_doubling_gather(Schedule& schedule, int active, double bytes) {
  double part = bytes / active;
  for (int distance = 1; distance < active; distance *= 2, part *= 2)
    schedule.stages.push_back(make_stage(exchange(schedule.ranks, active, distance), part, 0, 1,
                                         {false, [distance](std::int32_t rank, std::int32_t) {
                                            return BlockRange{rank & ~(distance - 1), distance};
                                          }}));
}

Schedule make_rabenseifner(const ScheduleRequest& request) {
  return folded("rabenseifner", request, true, [&](Schedule& schedule, int active) {
    add_halving(schedule, active, request.bytes);
    add_doubling_gather(schedule, active, request.bytes);
  });
}

Schedule make_halving(const ScheduleRequest& request) {
  if (power_of_two_below(request.ranks) != request.ranks)
    reject("reduce_scatter", "recursive halving needs a power of two of ranks",
           "Use the schedule \"ring\", or 2^n ranks");
  Schedule schedule{"recursive_halving", request.ranks, {}, true, true};
  schedule.blocks = request.ranks;
  add_halving(schedule, request.ranks, request.bytes);
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> recursive_doubling() {
  return {{{"recursive_doubling", "exchange of whole vectors at doubling distance; fewest steps, most bytes",
            "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521"},
           CollectiveOp::all_reduce,
           "log2 p (alpha + m beta), p = 2^n <= P; 2 (alpha + m beta) more where p < P",
           make_doubling},
          {{"rabenseifner", "recursive halving, then recursive doubling; few steps and least bytes",
            "Rabenseifner, ICCS 2004; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005"},
           CollectiveOp::all_reduce,
           "2 log2 p alpha + 2 (p-1)/p m beta, p = 2^n <= P; 2 (alpha + m beta) more where p < P",
           make_rabenseifner},
          {{"recursive_halving", "exchange of halves, far partners first; P a power of two",
            "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005"},
           CollectiveOp::reduce_scatter,
           "log2 P alpha + (P-1)/P m beta, P = 2^n",
           make_halving}};
}

}  // namespace simsgd::schedules
