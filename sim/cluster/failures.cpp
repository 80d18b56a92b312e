#include "sim/cluster/failures.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/random.hpp"

namespace simsgd {

double FailureModel::next_crash_s(std::uint64_t seed, int rank, std::uint64_t crashes_before,
                                  double up_s) const {
  double next = std::numeric_limits<double>::infinity();
  if (mean_time_between_s < next) {
    Stream stream({seed, Purpose::failure, static_cast<std::uint32_t>(rank), crashes_before});
    next = up_s - mean_time_between_s * std::log(stream.uniform());
  }
  for (const Crash& crash : crashes)
    if (crash.rank == rank && crash.time_s > up_s) next = std::min(next, crash.time_s);
  return next;
}

}  // namespace simsgd
