// Files that are a part of scenarios: a device, a cluster, a workload.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "scenarios/language/use.hpp"

namespace simsgd {

/// What the file describes, "a device", "a cluster" or "a workload", by the keys that it has; "" where it is
/// a scenario, or nothing of these. The pointers of `overrides` are of the file. Throws ConfigError with
/// everything that is wrong with such a part: what its own schema finds, and what can be built of it without
/// the rest of a scenario. A cluster that does not say how many workers it has is examined with one for each
/// of its GPUs.
std::string check_part(const std::string& path, const Overrides& overrides);
/// The same of a cluster that is to be written to a file of that name.
void check_cluster(const nlohmann::json& cluster, const std::string& name);

}  // namespace simsgd
