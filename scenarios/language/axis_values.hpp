// The values of an axis: equal steps and ratios between bounds, draws, and what tables, labels of points and
// folders call them: short, and never raw JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

/// A bound: "10 Gbps" is 10 and "Gbps", 8 is 8 and "".
struct Bound {
  double number = 0;
  std::string unit;
  bool whole = false;
};

/// Reads a number, or text that begins with one; there is no bound otherwise.
std::optional<Bound> read_bound(const Json& value);

/// A drawn dimension: {"from", "to", "scale": "linear" or "log"}, or {"values": [...]}, all equally likely.
class DrawnRange {
 public:
  /// None where the bounds are impossible.
  static std::optional<DrawnRange> read(const Json& dimension);

  /// The value at `share` (0 to 1) of the way. Whole bounds give whole numbers, all equally likely on the
  /// linear scale; others have six digits, so that labels stay short and no machine's exp shows.
  Json at(double share) const;

 private:
  Bound from_, to_;
  bool log_ = false;
  std::vector<Json> values_;  // where they are listed
};

/// `count` points of the unit cube with `dimensions` coordinates each. "random": independent uniform draws; a
/// further dimension or draw shifts no other. "sobol": Sobol' points in Gray-code order (direction numbers of
/// Joe and Kuo, SIAM J. Sci. Comput. 30(5), 2008, in Boost.Random), from the origin on, with a digital shift
/// drawn from the seed: of the first 2^m, each 2^-m-th of every dimension holds exactly one.
std::vector<std::vector<double>> drawn_shares(const std::string& method, std::size_t count,
                                              std::size_t dimensions, std::uint64_t seed);

/// "cluster" of "/cluster/use", "algorithm" of "/algorithm/name", "cluster/workers" of "/cluster/workers".
std::string axis_label(const std::string& pointer);

/// "constant (factor 1.5, workers [3])", "slow_links (nodes [3], bandwidth_factor 0.1)", "none" of an empty
/// list, "default" of an empty object, "ethernet-1g" of "clusters/ethernet-1g.json".
std::string value_label(const Json& value);

/// What all values of one axis are called, by their JSON text: the name alone, and for those that share one
/// the keys in which they differ: "local_sgd (period 1)" and "local_sgd (period 10)".
std::map<std::string, std::string> value_labels(const std::map<std::string, const Json*>& values);

}  // namespace simsgd
