// What every plug-in says about itself. From this alone it appears in validation, `list`, `schema`, the
// documentation.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace simsgd {

using Json = nlohmann::json;

struct PluginInfo {
  std::string name;      ///< as scenario files write it
  std::string summary;   ///< one line, without full stop
  std::string citation;  ///< authors, venue, DOI or arXiv id; may be empty for a topology or a data set
  /// `properties` of its parameters, in JSON Schema draft 7, without "name". Quantities carry `"x-quantity":
  /// "time"` (or bytes, bandwidth, flop, flops, power) and accept a number in SI or text with a unit. Each
  /// has a "description".
  Json properties = Json::object();
  std::vector<std::string> required;
};

/// Schema of a quantity: a number in SI, or text with a unit.
inline Json quantity(const std::string& dimension, const std::string& description) {
  return {{"type", {"number", "string"}}, {"x-quantity", dimension}, {"description", description}};
}

}  // namespace simsgd
