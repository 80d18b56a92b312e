// Files of the layout before this one, whose documents lay in fifteen tables.
#pragma once

#include <filesystem>
#include <functional>

#include "analysis/runs/run_row.hpp"

namespace simsgd {

/// Calls one of the two for each sweep and each run of a file of kConvertedVersion. Throws RunError, or
/// nlohmann's exceptions, where it is damaged.
struct ConvertedRows {
  std::function<void(const SweepRow&)> sweep;
  std::function<void(const RunRow&)> run;
};
void read_converted(const std::filesystem::path& file, const ConvertedRows& rows);

}  // namespace simsgd
