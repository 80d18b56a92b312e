// Which study of a store, which of its points, and its axes by the names that people give them.
#pragma once

#include <string>
#include <vector>

#include "analysis/store/results.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::tables {

struct StudyQuestion {
  std::string file;   ///< the store as it was named, for errors
  std::string study;  ///< name or id; may be empty where the store has one
  /// "workers=64": of one axis any of its values, of several axes all.
  std::vector<std::string> where;
};

/// What stands at a coordinate, for people and, where it is one, as a number.
struct AxisValue {
  std::string label;
  std::optional<double> number;
  bool operator==(const AxisValue&) const = default;
};

/// Points of one study, in its order.
class Selection {
 public:
  /// Throws ConfigError where it is not clear which study; what is wrong with `where` is in errors().
  Selection(const StoredResults& results, const StudyQuestion& question);

  const std::vector<InputError>& errors() const { return errors_; }
  /// Throws ConfigError where there are any.
  void expect_no_errors() const;

  const StoredResults& results() const { return results_; }
  const ResultStudy& study() const { return *study_; }
  const std::vector<const ResultPoint*>& points() const { return points_; }

  /// The axis of this name, or of which it is the last piece ("workers" of "cluster/workers"). What is wrong
  /// goes to `errors`, with `option` for its place.
  std::string axis(const std::string& option, const std::string& name, std::vector<InputError>& errors) const;
  /// The label of a value of an axis: as shown, as it was set, or its name where no other value has it.
  std::string value(const std::string& option, const std::string& axis, const std::string& text,
                    std::vector<InputError>& errors) const;

  /// Values of an axis over the points, in their order.
  std::vector<AxisValue> values(const std::string& axis) const;
  /// Axes that have more than one.
  std::vector<std::string> varying() const;

 private:
  void keep(const std::vector<std::string>& where);

  const StoredResults& results_;
  const ResultStudy* study_ = nullptr;
  std::vector<const ResultPoint*> points_;
  std::vector<InputError> errors_;
};

/// For records: a number where it is one, else the label.
nlohmann::ordered_json record_of(const AxisValue& value);

/// Of a point on an axis; "-" where it has none.
AxisValue value_on(const ResultPoint& point, const std::string& axis);

/// "Did you mean a? There are a, b or c".
std::string which_there_are(const std::string& name, const std::vector<std::string>& valid);

}  // namespace simsgd::tables
