#include "analysis/tables/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace simsgd::tables {

nlohmann::ordered_json record_of(const AxisValue& value) {
  constexpr double kMostWhole = 1e15;
  if (!value.number) return value.label;
  if (*value.number == std::floor(*value.number) && std::fabs(*value.number) < kMostWhole)
    return static_cast<std::int64_t>(*value.number);
  return *value.number;
}

AxisValue value_on(const ResultPoint& point, const std::string& axis) {
  for (const ResultCoordinate& each : point.coordinates)
    if (each.axis == axis)
      return {each.label, each.value.is_number() ? std::optional(each.value.get<double>()) : std::nullopt};
  return {"-", {}};
}

std::string which_there_are(const std::string& name, const std::vector<std::string>& valid) {
  if (valid.empty()) return "There are none";
  const std::string near = nearest(name, valid);
  return (near.empty() ? "" : "Did you mean " + near + "? ") + "There " +
         (valid.size() == 1 ? "is " : "are ") + one_of(valid);
}

namespace {

const ResultStudy& study_asked(const StoredResults& results, const StudyQuestion& question) {
  std::vector<const ResultStudy*> found;
  std::vector<std::string> names, ids;
  for (const ResultStudy& each : results.studies()) {
    names.push_back(each.name);
    if (question.study.empty() || each.name == question.study || each.id == question.study) {
      found.push_back(&each);
      ids.push_back(fmt::format("{} ({}, {} points)", each.id, each.name, each.points.size()));
    }
  }
  if (found.size() == 1) return *found.front();
  if (found.empty())
    throw ConfigError({"--study", "", "is no study of " + question.file, question.study,
                       which_there_are(question.study, names)});
  if (question.study.empty())
    throw ConfigError({question.file, "", fmt::format("holds {} studies", found.size()), "",
                       "Add --study with one of " + one_of(names)});
  throw ConfigError({"--study", "", fmt::format("names {} studies of {}", found.size(), question.file),
                     question.study, "Name it by its id: " + one_of(ids)});
}

bool ends_with_piece(const std::string& axis, const std::string& name) {
  return axis.size() > name.size() && axis.ends_with(name) && axis[axis.size() - name.size() - 1] == '/';
}

/// "wagma" of "wagma (groups fixed)".
std::string first_name(const std::string& label) { return label.substr(0, label.find(" (")); }

std::optional<double> as_number(const std::string& text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Selection::Selection(const StoredResults& results, const StudyQuestion& question)
    : results_(results), study_(&study_asked(results, question)) {
  for (const ResultPoint& point : study_->points) points_.push_back(&point);
  keep(question.where);
}

void Selection::expect_no_errors() const {
  if (!errors_.empty()) throw ConfigError(errors_);
}

void Selection::keep(const std::vector<std::string>& where) {
  std::map<std::string, std::set<std::string>> wanted;
  for (const std::string& filter : where) {
    const std::size_t equals = filter.find('=');
    if (equals == std::string::npos || equals == 0) {
      errors_.push_back({"--where", "", "is no filter", filter, "Write axis=value, such as workers=64"});
      continue;
    }
    const std::string found = axis("--where", filter.substr(0, equals), errors_);
    if (!found.empty()) wanted[found].insert(value("--where", found, filter.substr(equals + 1), errors_));
  }
  if (!errors_.empty()) return;
  std::erase_if(points_, [&](const ResultPoint* point) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const auto& each) {
      return !each.second.contains(value_on(*point, each.first).label);
    });
  });
  if (points_.empty() && !where.empty())
    errors_.push_back(
        {"--where", "", "leaves no point of " + study_->name, "", "Ask for values that occur together"});
}

std::string Selection::axis(const std::string& option, const std::string& name,
                            std::vector<InputError>& errors) const {
  std::vector<std::string> axes = study_->axes, fits;
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  if (std::find(axes.begin(), axes.end(), name) != axes.end()) return name;
  for (const std::string& each : axes)
    if (ends_with_piece(each, name)) fits.push_back(each);
  if (fits.size() == 1) return fits.front();
  if (fits.size() > 1)
    errors.push_back({option, "", "may be any of several axes", name, "Write " + one_of(fits)});
  else
    errors.push_back({option, "", "is no axis of " + study_->name, name, which_there_are(name, axes)});
  return "";
}

std::string Selection::value(const std::string& option, const std::string& axis, const std::string& text,
                             std::vector<InputError>& errors) const {
  std::vector<std::string> labels, namesakes;
  const std::optional<double> number = as_number(text);
  for (const AxisValue& each : values(axis)) {
    if (each.label == text || (number && each.number == number)) return each.label;
    labels.push_back(each.label);
    if (first_name(each.label) == text) namesakes.push_back(each.label);
  }
  if (namesakes.size() == 1) return namesakes.front();
  if (namesakes.size() > 1)
    errors.push_back(
        {option, "", "may be any of several values of " + axis, text, "Write " + one_of(namesakes)});
  else
    errors.push_back({option, "", "is no value of " + axis, text, which_there_are(text, labels)});
  return "";
}

std::vector<AxisValue> Selection::values(const std::string& axis) const {
  std::vector<AxisValue> all;
  std::set<std::string> seen;
  for (const ResultPoint* point : points_) {
    AxisValue value = value_on(*point, axis);
    if (seen.insert(value.label).second) all.push_back(std::move(value));
  }
  return all;
}

std::vector<std::string> Selection::varying() const {
  std::vector<std::string> varying;
  for (const std::string& axis : study_->axes)
    if (values(axis).size() > 1 && std::find(varying.begin(), varying.end(), axis) == varying.end())
      varying.push_back(axis);
  return varying;
}

}  // namespace simsgd::tables
