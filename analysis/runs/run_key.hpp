// The key of a run: equal for equal runs on every machine, different for any other scenario, seed or model
// version.
#pragma once

#include <string>

#include "analysis/model_version.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

/// A name-based UUID (RFC 4122, version 5, SHA-1) of the model version and the resolved scenario, which holds
/// the seed: 36 characters. What lies in data files is not part of it; where such a file was changed, redo
/// the runs with --force.
std::string run_key(const Json& resolved_scenario, int model_version = kModelVersion);
/// Of its text.
std::string run_key_of_text(const std::string& resolved_scenario, int model_version = kModelVersion);

/// The same for other texts, told apart by `kind`.
std::string name_key(const std::string& kind, const std::string& text);

}  // namespace simsgd
