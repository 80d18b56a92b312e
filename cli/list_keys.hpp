// simsgd list KEY: what a key of scenario files means, from the reference.
#pragma once

#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

/// Prints the key that `text` names, or every key of the object: "network", "cluster/device",
/// "/stragglers/0/mean". False where there is none.
bool list_key(const std::string& text, bool json);

/// What `list KEY --json` prints: the key once for each plug-in that has it, and the objects at its place.
Json key_json(const std::string& text);

/// Keys as `list` takes them: "cluster/device/memory".
std::vector<std::string> key_names();
/// Those keys whose last word is `text` or the nearest to it: what may have been meant.
std::vector<std::string> keys_like(const std::string& text);

}  // namespace simsgd
