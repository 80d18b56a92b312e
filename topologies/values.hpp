// Reading a topology's parameters: values that no network can have are rejected by key.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "sim/parameters.hpp"

namespace simsgd {

/// More than any machine has, and few enough for 32-bit numbers and memory.
constexpr int kLargestCount = 65536;
constexpr std::int64_t kMostCables = 20'000'000;

/// A count from `minimum` to 65,536.
inline int count_of(const Parameters& parameters, const std::string& key, int minimum) {
  const std::int64_t value = parameters.integer(key);
  if (value < minimum || value > kLargestCount)
    Parameters::reject(key, "is out of range",
                       "Give a whole number from " + std::to_string(minimum) + " to 65536");
  return static_cast<int>(value);
}

inline int count_of(const Parameters& parameters, const std::string& key, int minimum, int otherwise) {
  return parameters.has(key) ? count_of(parameters, key, minimum) : otherwise;
}

/// Ends the making of a network of which `key` makes more cables than can be simulated.
inline void check_cables(const std::string& key, std::int64_t cables) {
  if (cables > kMostCables)
    Parameters::reject(key, "makes " + std::to_string(cables) + " cables between switches",
                       "Give a network of at most " + std::to_string(kMostCables));
}

/// Bytes per second, above 0.
inline double bandwidth_of(const Parameters& parameters, const std::string& key, double otherwise) {
  const double value = parameters.quantity(key, Dimension::rate_Bps, otherwise);
  if (!(value > 0) || !std::isfinite(value))
    Parameters::reject(key, "is no bandwidth", "Give one above 0, such as \"10 Gbps\"");
  return value;
}

/// How much less a switch can send up than it receives from below: a number above 0.
inline double oversubscription_of(const Parameters& parameters) {
  const double value = parameters.number("oversubscription", 1);
  if (!(value > 0) || !std::isfinite(value))
    Parameters::reject("oversubscription", "is no ratio", "Give one above 0, such as 4 for 4:1");
  return value;
}

/// Of every switch after the first on a path, seconds.
inline double switch_latency_of(const Parameters& parameters) {
  const double value = parameters.quantity("switch_latency", Dimension::time_s, 0);
  if (!(value >= 0) || !std::isfinite(value))
    Parameters::reject("switch_latency", "is negative", "Give a time of 0 or more, such as \"100 ns\"");
  return value;
}

inline Json count_schema(int minimum, const std::string& description) {
  return {{"type", "integer"}, {"minimum", minimum}, {"description", description}};
}

inline Json switch_latency_schema() {
  return quantity(
      "time", "latency of every switch after the first on a path; the first is part of the NIC's; default 0");
}

inline Json oversubscription_schema(const std::string& description) {
  return {{"type", "number"}, {"exclusiveMinimum", 0}, {"description", description}};
}

}  // namespace simsgd
