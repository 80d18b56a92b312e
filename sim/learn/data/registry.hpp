// The table of data sources. To add one: write data/NAME.cpp with a function `std::vector<DataPlugin> NAME()`
// in simsgd::data_sources, and add one line to the list in CMakeLists.txt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/learn/dataset.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// Turns a path as a scenario writes it into one that can be opened (relative paths are relative to the
/// scenario).
using PathResolver = std::function<std::filesystem::path(const std::string&)>;

/// What data are made with beyond their options.
struct DataContext {
  std::uint64_t seed = 1;
  PathResolver resolve;
};

/// Throws ParameterError for a file that is missing or damaged, naming it, what is wrong, and the remedy.
/// Generated data are a function of the options and the seed; files are not, but for a split drawn by the
/// seed.
using DataPlugin = Plugin<DataSets, const DataContext&>;

/// In alphabetical order.
const std::vector<DataPlugin>& data_plugins();

}  // namespace simsgd
