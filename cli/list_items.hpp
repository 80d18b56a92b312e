// What `simsgd list` knows of: the kinds, and the things of each, from the plug-ins' own tables and the
// scenario files.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/list_drawings.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

/// One thing that can be listed. `details` are lines for `list KIND NAME`.
struct ListedItem {
  std::string name, summary, citation;
  std::vector<std::string> details = {};
  Json properties = Json::object();
  Json facts{};    ///< of a graph, what --json adds; null: nothing
  Json numbers{};  ///< of a file, the same
  Json kernels{};  ///< of a device, the same
  Json uses{};     ///< of an algorithm, the same
};

struct ListedKind {
  std::string name, summary;
  /// `name` is the one that is asked for, or empty; of graphs alone it and `options` matter.
  std::function<std::vector<ListedItem>(const std::string& name, const GraphOptions& options)> items;
};

/// By name.
const std::vector<ListedKind>& listed_kinds();
/// Their names.
std::vector<std::string> list_kinds();

}  // namespace simsgd
