// The cluster's "stack": the communication library, as a plug-in (sim/stacks/stack.hpp).
#pragma once

#include <optional>

#include "scenarios/language/reader.hpp"
#include "sim/stacks/stack.hpp"

namespace simsgd {

/// The stack of the section "cluster"; nothing where there is none. What contradicts it there is reported.
/// `given`: the section's host costs as they are written. `right` becomes false where anything is wrong.
std::optional<Stack> build_stack(const Reader& reader, const HostCosts& given, bool& right);

/// What the stack of a section "cluster" says of operations, by name; {} without one, or where it is wrong.
Json stack_collectives(const Json& cluster);

/// Writes the stack's defaults.
void complete_stack(Json& cluster);

}  // namespace simsgd
