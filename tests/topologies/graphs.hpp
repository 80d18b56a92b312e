// Logical graphs by plug-in name, and the sentence of one that is refused.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/graphs.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test {

/// Empty where the graph is accepted.
inline std::string graph_refusal(const std::string& name, int workers, Json parameters = Json::object()) {
  return refusal_of<ParameterError>([&] { graph_of(name, workers, std::move(parameters)); });
}

}  // namespace simsgd::test
