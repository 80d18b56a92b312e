// Distributions as files write them: {"name": "lognormal", "mean": "20 ms", "sigma": 0.5}. One table serves
// straggler delays, the workload's "compute_factor" and the jitter of links; `DrawUnit` says what is drawn.
#pragma once

#include <string>
#include <vector>

#include "sim/base/distribution.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// No draw is negative or infinite. To add one: a case of Distribution::Kind with quantile and mean, and an
/// entry in kinds.cpp.
using DistributionPlugin = Plugin<Distribution, DrawUnit>;

/// All of them, in the order in which they are listed to users.
const std::vector<DistributionPlugin>& distribution_plugins();

/// Schema (draft 7) of a value that is drawn: an amount, which is the same in every draw, or a distribution.
Json draw_schema(DrawUnit unit, std::string_view meaning);

/// A field that is drawn; a time, until what is beside it says otherwise.
Field& add_draw(Fields& fields, std::string_view key, RawValue& value, const char* meaning,
                DrawUnit unit = DrawUnit::seconds);

/// What such a value says. Errors name `key` and what is nested in it, as in "/delay/sigma"; unknown names
/// and keys are rejected here, whatever a schema has checked before.
Distribution draw_of(const Json& value, const std::string& key, DrawUnit unit);

}  // namespace simsgd
