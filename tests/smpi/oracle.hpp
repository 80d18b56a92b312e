// Runs all-reduces in SMPI (smpirun, from libsimgrid-dev), with the settings that make a lone message take
// alpha + m beta.
#pragma once

#include <string>
#include <vector>

namespace simsgd::test {

/// A message of m bytes takes m + 16 of them in SMPI.
inline constexpr double kEnvelopeBytes = 16;

struct SmpiCall {
  int count = 0;    ///< floats; a multiple of the ranks
  int skew_us = 0;  ///< ranks begin up to this late
};
struct SmpiRun {
  int ranks = 2;
  std::string algorithm;  ///< lr, rdb or rab: ring, recursive doubling, Rabenseifner
  std::vector<SmpiCall> calls{};
};

/// Begin and end of the operation at each rank, seconds.
struct SmpiTimes {
  std::vector<double> begins, ends;
};

/// One call after another, on ports of 25 GB/s, 5 us from port to port. Throws std::runtime_error with what
/// smpirun says if it fails.
std::vector<SmpiTimes> smpi_times(const SmpiRun& run);

}  // namespace simsgd::test
