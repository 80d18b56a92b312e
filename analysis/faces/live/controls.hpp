// What a visitor sets: a value of each axis of a study. Numbers may lie between those of the study;
// everything else is one of its values. No text of a visitor reaches a scenario.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "scenarios/language/axes.hpp"

namespace simsgd::live {

/// Numbers that a control takes.
struct NumberRange {
  double from = 0, to = 0;  ///< both are taken
  std::string unit;         ///< as the study writes it, such as "Gbps", or empty
  bool whole = false, log = false;
  std::vector<double> values;  ///< the study's own, as it lists them
};

/// One value of an axis, or of one dimension of an axis of draws.
struct Control {
  std::size_t axis = 0, column = 0;
  bool drawn = false;
  std::string name;                  ///< "cluster/workers"; of what is zipped all names
  std::vector<std::string> labels;   ///< of the values that can be chosen, where there is no range
  std::vector<Json> values;          ///< of a drawn dimension, likewise
  std::optional<NumberRange> range;  ///< else
};

/// What a visitor chose that cannot be: a sentence.
struct BadChoice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Controls {
 public:
  /// Of a study that outlives this.
  explicit Controls(const Study& study);

  /// {"controls": [...], "seeds": how many there may be}.
  nlohmann::ordered_json json() const;

  /// The points of {"at": [{"choice": 1}, {"number": 12}, ...], "seeds": 3}: `at` has an entry for each
  /// control, and of a study without seeds there is one point. Throws BadChoice.
  std::vector<StudyPoint> points(const Json& asked) const;

 private:
  void add_axis(std::size_t axis);
  void add_dimension(std::size_t axis, std::size_t column, const Json& dimension);
  std::vector<AxisValue> values_at(const Json& at) const;

  StudyAxes axes_;
  std::vector<Control> controls_;
  std::vector<AxisValue> seeds_;  // that may be asked for; none where the study has none
};

}  // namespace simsgd::live
