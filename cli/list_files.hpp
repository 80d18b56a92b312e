// What `simsgd list` says of scenario files: clusters, devices, workloads, with their numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

struct ListedFile {
  std::string name;                ///< as `use` takes it: "devices/v100.json"
  std::string summary, source;     ///< its own "name" and "source"
  std::vector<std::string> lines;  ///< its numbers, for people
  Json numbers = Json::object();   ///< the same for programs: what the file says, and of layers their sums
  Json kernels{};                  ///< of a device, what its kernels take; null: nothing
};

/// The files of a folder of scenarios/, the first of that name that is found, by name; and a file of the
/// user's own, where `asked` is the path of one.
std::vector<ListedFile> listed_files(const std::string& folder, const std::string& asked = "");

}  // namespace simsgd
