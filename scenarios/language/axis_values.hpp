// The values of an axis: equal steps and ratios between bounds, draws, and what tables, labels of points and
// folders call them: short, and never raw JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/use.hpp"
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

// Conditions of a study, {"algorithm": "matcha", "/cluster/workers": {"above": 128}}: a key is the name of an
// axis (compared with the labels and the values of that axis) or a JSON pointer (compared with what the point
// has there, as written, by an axis, or by default; quantities in SI). A value is one value, a list of which
// one must be equal, or comparisons. All keys must hold; of a list of conditions, any.

/// A value of an axis, as far as a point has chosen one.
struct AxisValue {
  std::vector<Assignment> coordinates;  ///< one of each column of the axis
  std::vector<std::string> labels;      ///< likewise
  std::vector<Assignment> sets;         ///< what it changes of the scenario
};

struct StudyAxis {
  std::vector<std::string> columns;   ///< names in tables
  std::vector<std::string> pointers;  ///< of all that its values set
  std::vector<AxisValue> values;
  Json when;         ///< conditions; null: always
  std::string at;    ///< pointer of the axis in the file
  AxisValue absent;  ///< where `when` does not hold
};

/// A section of a scenario as the assignments leave it: with `use`s, with defaults.
struct StudySection {
  Json value;
  std::map<std::string, std::string> uses;  ///< by the pointer of the object
};
using SectionReader = std::function<StudySection(const std::string& section, const std::vector<Assignment>&)>;

/// The first axes of a study with a value chosen of each, by its index; `values.size()` is the absent one.
struct Chosen {
  const std::vector<StudyAxis>& axes;
  const std::vector<std::size_t>& values;

  const AxisValue& of(std::size_t axis) const {
    return values[axis] < axes[axis].values.size() ? axes[axis].values[values[axis]] : axes[axis].absent;
  }
};

/// Reads and answers conditions; what they ask of the scenario is resolved once for equal assignments.
class Conditions {
 public:
  explicit Conditions(SectionReader read) : read_(std::move(read)) {}

  using Complain =
      std::function<void(const std::string& pointer, const std::string& problem, const std::string& remedy)>;

  /// Looks for mistakes in `condition`, which stands at `pointer`, about the first `known` axes.
  void check(const Json& condition, const std::string& pointer, const std::vector<StudyAxis>& axes,
             std::size_t known, const Complain& complain) const;

  /// Whether the condition (or one of a list) holds. Throws nothing.
  bool hold(const Json& condition, const std::string& pointer, const Chosen& chosen);

  /// Pointers in conditions that found nothing in any point that was asked about.
  std::vector<std::pair<std::string, std::string>> never_found() const;

 private:
  /// A section of points, with its schema; equal choices share one.
  struct Section {
    Json value;
    const Json* schema;  ///< null where the section is none
    std::map<std::string, std::string> uses;
  };
  const Section& section(const std::string& name, const Chosen& chosen);
  bool holds_all(const Json& condition, const std::string& pointer, const Chosen& chosen);
  bool holds_at(const std::string& key, const Json& wanted, const std::string& pointer, const Chosen& chosen);

  SectionReader read_;
  std::map<std::string, Section> sections_;
  std::map<std::string, std::pair<std::string, bool>> found_;  ///< by place: the key, whether found
};

}  // namespace simsgd
