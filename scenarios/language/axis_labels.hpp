// What the values of a study's axes are called in tables, in labels of points and in names of folders: short,
// and never raw JSON.
#pragma once

#include <map>
#include <string>

#include "sim/base/fields.hpp"

namespace simsgd {

/// "cluster" of "/cluster/use", "algorithm" of "/algorithm/name", "cluster/workers" of "/cluster/workers".
std::string axis_label(const std::string& pointer);

/// "constant (factor 1.5, workers [3])", "slow_links (nodes [3], bandwidth_factor 0.1)", "none" of an empty
/// list, "default" of an empty object, "ethernet-1g" of "clusters/ethernet-1g.json".
std::string value_label(const Json& value);

/// Of all values of one axis, by their JSON text: the name alone, and of those that share one the keys in
/// which they differ: "local_sgd (period 1)" and "local_sgd (period 10)".
std::map<std::string, std::string> value_labels(const std::map<std::string, const Json*>& values);

}  // namespace simsgd
