// A large JSON document of which one list holds nearly all: its elements one by one, so that memory is that
// of one of them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "traces/imported_file.hpp"
#include "traces/reading/input.hpp"

namespace simsgd {

struct JsonElements {
  std::string list;             ///< the key of the list, in the document's object
  std::set<std::string> other;  ///< keys of it whose values are wanted, too
  std::function<void(const nlohmann::json& element)> element;
  std::function<void(const std::string& key, const nlohmann::json& value)> value;
};

/// Reads all of `input`; what was mended or is missing is counted in `file`. Other keys are passed over.
/// Throws ConfigError where it is no JSON.
void read_json_elements(Input& input, ImportedFile& file, const JsonElements& wanted);

}  // namespace simsgd
