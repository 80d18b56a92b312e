// How collectives are done, as clusters say it and the section "network" says otherwise.
#pragma once

#include <map>
#include <string>

#include "scenarios/language/reader.hpp"
#include "sim/stacks/policy.hpp"

namespace simsgd {

/// One policy for each operation, of those that say one.
struct PolicySection {
  std::map<CollectiveOp, RawValue> of_op;

  /// `otherwise`: what holds where the file says nothing, in words, before ", else" and the default schedule;
  /// may be empty.
  void fields(Fields& f, const std::string& otherwise);
  void fields(Fields& f) { fields(f, ""); }
};

/// Those of the cluster and of its stack, replaced by those of the network. What a schema cannot say is
/// reported.
CollectivePolicies build_policies(const Reader& reader);

/// Writes into the section "network" what the cluster or its stack says, or the default.
void complete_network(Json& network, const Json& cluster);

}  // namespace simsgd
