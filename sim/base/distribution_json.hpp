// Distributions as files write them: {"name": "lognormal", "mean": "20 ms", "sigma": 0.5}. One table serves
// straggler delays, the workload's "compute_factor" and the jitter of links; `DrawUnit` says what is drawn.
#pragma once

#include <string>
#include <vector>

#include "sim/base/distribution.hpp"
#include "sim/parameters.hpp"

namespace simsgd {

/// What a distribution's location and scale measure.
enum class DrawUnit {
  seconds,   ///< times: a number in seconds or text with a unit
  factor,    ///< plain numbers without unit, such as a factor on compute time
  relative,  ///< as `factor`, because "relative": true made times multiples of a compute time
};

struct DistributionPlugin {
  std::string name;
  std::string summary;
  std::string citation;
  /// JSON Schema properties of the parameters, without "name".
  Json (*properties)(DrawUnit);
  std::vector<std::string> required;
  /// Throws ParameterError (Parameters::reject) for values that are impossible. No draw is negative or
  /// infinite.
  Distribution (*make)(const Parameters&, DrawUnit);

  PluginInfo info(DrawUnit unit) const { return {name, summary, citation, properties(unit), required}; }
};

/// All of them, in the order in which they are listed to users. To add one: a case of Distribution::Kind with
/// quantile and mean, and a line in this table (distribution_kinds.cpp).
const std::vector<DistributionPlugin>& distribution_plugins();

/// The distribution of that name; CHECKs that there is one.
const DistributionPlugin& distribution_plugin(const std::string& name);

/// A time or a factor, by `unit`, of at least 0; else rejected.
double read_amount(const Parameters& parameters, const std::string& key, DrawUnit unit);

/// Schema of what read_amount reads.
Json amount_schema(DrawUnit unit, const std::string& description);

/// Reads `"key": <amount>` (a constant) or `"key": {"name": ..., parameters}`. Errors name the nested key, as
/// in "/delay/sigma". Unknown names and keys are rejected here, whatever a schema has checked before.
Distribution nested_distribution(const Parameters& parameters, const std::string& key, DrawUnit unit);

/// Schema (draft 7) of what nested_distribution reads.
Json nested_distribution_schema(DrawUnit unit, const std::string& description);

}  // namespace simsgd
