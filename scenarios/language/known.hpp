// The data that the points of a study learn from are read once: images take longer than all else of a job.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sim/base/field.hpp"
#include "sim/learn/dataset.hpp"

namespace simsgd {

/// Those read last, of any seed: what is wrong with data does not depend on it.
struct KnownData {
  Json section;      ///< that names them
  std::string file;  ///< in which the section is written: paths are looked for from there
  std::optional<DataSets> data;
};

}  // namespace simsgd
