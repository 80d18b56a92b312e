#include "scenarios/language/study_axes.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/language/axes.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

StudyAxes::StudyAxes(const Study& study) : study_(study) {
  ErrorList errors;
  std::optional<SeedRule> rule;
  axes_ = read_axes(study.written->keys, study.written->origins, errors, rule);
  CHECK(errors.empty(), "the axes of a study were read before");
}

bool StudyAxes::has_seeds() const { return study_.written->keys.contains("seeds"); }

const Json& StudyAxes::written(std::size_t axis) const {
  return study_.written->keys.at(Json::json_pointer(axes_.at(axis).at));
}

std::optional<StudyPoint> StudyAxes::point(const std::vector<AxisValue>& values) const {
  CHECK(values.size() == axes_.size(), "a value of each axis");
  Conditions conditions([this](const std::string& section, const std::vector<Assignment>& assignments) {
    return section_of(study_, section, assignments);
  });
  std::vector<StudyAxis> chosen_axes;
  std::vector<std::size_t> chosen;
  StudyPoint point;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const StudyAxis& axis = axes_[i];
    const bool varies =
        axis.when.is_null() || conditions.hold(axis.when, child(axis.at, "when"), {chosen_axes, chosen});
    chosen_axes.push_back({axis.columns, axis.pointers, {values[i]}, axis.when, axis.at, axis.absent});
    chosen.push_back(varies ? 0 : 1);
    const AxisValue& value = varies ? values[i] : axis.absent;
    for (std::size_t c = 0; c < axis.columns.size(); ++c) {
      point.coordinates.push_back(value.coordinates.at(c));
      point.shown.emplace_back(axis.columns[c], value.labels.at(c));
      point.label += (point.label.empty() ? "" : ", ") + axis.columns[c] + "=" + value.labels[c];
    }
  }
  const Json exclude = study_.written->keys.value("exclude", Json::array());
  if (!exclude.empty() && conditions.hold(exclude, "/exclude", {chosen_axes, chosen})) return std::nullopt;
  return point;
}

}  // namespace simsgd
