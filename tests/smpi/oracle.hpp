// Runs an all-reduce in SMPI (smpirun, from libsimgrid-dev), with the settings that make a lone message take
// alpha + m beta.
#pragma once

#include <string>
#include <vector>

namespace simsgd::test {

/// A message of m bytes takes m + 16 of them in SMPI.
inline constexpr double kEnvelopeBytes = 16;

struct SmpiRun {
  int ranks = 2;
  std::string algorithm;  ///< lr, rdb or rab: ring, recursive doubling, Rabenseifner
  int count = 0;          ///< floats; a multiple of `ranks`
  int skew_us = 0;        ///< ranks begin up to this late
};

/// Begin and end of the operation at each rank, seconds.
struct SmpiTimes {
  std::vector<double> begins, ends;
};

/// On ports of 25 GB/s, 5 us from port to port. Throws std::runtime_error with what smpirun says if it fails.
SmpiTimes smpi_all_reduce(const SmpiRun& run);

}  // namespace simsgd::test
