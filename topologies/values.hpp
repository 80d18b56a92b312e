// Fields and checks that several topologies share.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "sim/base/fields.hpp"

namespace simsgd {

/// More than any machine has, and few enough for 32-bit numbers and memory.
constexpr int kLargestCount = 65536;
constexpr std::int64_t kMostCables = 20'000'000;

/// A count from 1 to 65,536. Value: int or std::optional<int>.
template <class Value>
Field& count_field(Fields& f, std::string_view key, Value& value, std::string_view meaning) {
  return f.whole(key, value, meaning).at_least(1).at_most(kLargestCount);
}

/// Of every switch after the first on a path, seconds.
inline void switch_latency_field(Fields& f, double& latency_s) {
  f.time("switch_latency", latency_s,
         "latency of every switch after the first on a path; the first is part of the NIC's");
}

/// As many spines as make an uplink as fast as a NIC, for a leaf switch with so many NICs.
inline int natural_spines(double leaf_nics, double oversubscription) {
  const double spines = leaf_nics / oversubscription;
  const double whole = std::round(spines);
  if (whole < 1 || whole > kLargestCount || std::abs(spines - whole) > 1e-9 * whole)
    reject("oversubscription",
           "does not divide the " + std::to_string(std::llround(leaf_nics)) + " NICs of a leaf",
           "Give one that does, or the number of spines too");
  return static_cast<int>(whole);
}

/// Ends the making of a network of which `key` makes more cables than can be simulated.
inline void check_cables(const std::string& key, std::int64_t cables) {
  if (cables > kMostCables)
    reject(key, "makes " + std::to_string(cables) + " cables between switches",
           "Give a network of at most " + std::to_string(kMostCables));
}

}  // namespace simsgd
