// One table of measurements: what every importer makes of its file, what `simsgd import` writes, and what
// calibrations are fitted to and judged by.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace simsgd {

inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

/// One measured value, in SI, with what it was measured of. What a file does not tell is 0, empty or
/// kNotGiven.
struct Measurement {
  std::string quantity;     ///< name with its unit: "time_s", "throughput_samples_per_s", "compute_s", ...
  std::string operation{};  ///< of a collective or message: "all_reduce", "ping_pong", ...; else empty
  int workers = 0;
  int nodes = 0;
  double bytes = kNotGiven;  ///< as CollectiveOptions::bytes: the whole array
  double value = kNotGiven;
  double deviation = kNotGiven;  ///< its standard deviation or half-width, as the file gives it
  std::uint64_t samples = 1;     ///< how many samples `value` summarises
  std::string campaign{};        ///< values of one campaign share what drifts from day to day
  std::map<std::string, std::string> labels{};  ///< anything else that tells rows apart
  std::string source{};                         ///< the file, as it was named
  std::size_t line = 0;                         ///< in it, from 1; 0: not from a line
};

/// What an importer met in one file.
struct ImportReport {
  std::string file;
  std::string format;
  std::size_t rows = 0;                           ///< measurements made
  std::map<std::string, std::size_t> understood;  ///< what was read and left out on purpose, by kind
  std::map<std::string, std::size_t> ignored;     ///< what was not understood, by reason
};

struct Measurements {
  std::vector<Measurement> rows;
  std::vector<ImportReport> reports;
};

}  // namespace simsgd
