#include "analysis/questions/advice.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/frame/frame.hpp"
#include "analysis/runs/sweep_points.hpp"
#include "scenarios/language/axis_values.hpp"
#include "scenarios/language/schema.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

/// What is tried of an option, whatever the algorithm: a factor of 4 or more apart, around what papers use.
std::vector<Json> values_of(const std::string& option, int workers) {
  std::vector<Json> values;
  if (option == "group_size")
    for (int size = 2; size < workers && values.size() < 4; size *= size == 2 ? 2 : 4)
      values.emplace_back(size);
  if (option == "period") values = {4, 16};
  if (option == "inner_steps") values = {8, 100};
  if (option == "density") values = {0.001, 0.01};
  if (option == "rank") values = {1, 4};
  if (option == "fusion_threshold") values = {"4 MB", "64 MB"};
  return values;
}

const std::vector<std::string> kOptions = {"group_size", "period", "inner_steps",
                                           "density",    "rank",   "fusion_threshold"};

/// An algorithm's schema by its name.
std::map<std::string, Json> algorithm_forms() {
  std::map<std::string, Json> forms;
  for (const Json& form : resolved_schema()["properties"]["algorithm"]["oneOf"])
    forms[form["properties"]["name"]["const"].get<std::string>()] = form;
  return forms;
}

/// Each value of each option in turn, with all combinations of the others. An option that has a default, or
/// that the scenario sets, is also left as it is.
std::vector<Json> variants(const Json& form, const Json& base, int workers) {
  std::vector<Json> all = {base};
  const Json& properties = form["properties"];
  const Json required = form.value("required", Json::array());
  for (const std::string& option : kOptions) {
    if (!properties.contains(option)) continue;
    const bool must = std::ranges::find(required, Json(option)) != required.end();
    const bool may_stay = base.contains(option) || (properties[option].contains("default") && !must);
    std::vector<Json> next;
    for (const Json& each : all) {
      if (may_stay) next.push_back(each);
      for (const Json& value : values_of(option, workers)) {
        Json varied = each;
        varied[option] = value;
        if (varied != each && properties[option].value("default", Json()) != value)
          next.push_back(std::move(varied));
      }
    }
    if (!next.empty()) all = std::move(next);
  }
  return all;
}

void check_names(const std::vector<std::string>& wanted, const std::map<std::string, Json>& forms) {
  std::vector<std::string> names;
  for (const auto& [name, form] : forms) names.push_back(name);
  std::vector<InputError> errors;
  for (const std::string& name : wanted) {
    if (forms.contains(name)) continue;
    errors.push_back({"--algorithms", "", "is not an algorithm", name,
                      suggestion(name, names) + "Choose " + one_of(names)});
  }
  if (!errors.empty()) throw ConfigError(errors);
}

bool varies(const Study& study, const std::string& section) {
  return std::ranges::any_of(study.axes,
                             [&](const std::string& pointer) { return within(pointer, section); });
}

/// Has more than seeds.
bool is_study(const Study& study) {
  return std::ranges::any_of(study.axes, [](const std::string& pointer) { return pointer != "/seed"; });
}

void set(StudyPoint& point, const std::string& pointer, Json value, const std::string& option) {
  point.coordinates.push_back({pointer, std::move(value), {option, pointer}});
}

/// Names of the values that were set last, and the labels of the points.
void label_last(std::vector<StudyPoint>& points) {
  std::map<std::string, const Json*> distinct;
  for (const StudyPoint& point : points)
    distinct.emplace(point.coordinates.back().value.dump(), &point.coordinates.back().value);
  const std::map<std::string, std::string> labels = value_labels(distinct);
  for (StudyPoint& point : points) {
    const Assignment& last = point.coordinates.back();
    point.shown.emplace_back(axis_label(last.pointer), labels.at(last.value.dump()));
    point.label +=
        (point.label.empty() ? "" : ", ") + point.shown.back().first + "=" + point.shown.back().second;
  }
}

StudyPoint without_seed(const StudyPoint& point) {
  StudyPoint made;
  for (std::size_t i = 0; i < point.coordinates.size(); ++i) {
    if (point.coordinates[i].pointer == "/seed") continue;
    made.coordinates.push_back(point.coordinates[i]);
    made.shown.push_back(point.shown[i]);
    made.label += (made.label.empty() ? "" : ", ") + point.shown[i].first + "=" + point.shown[i].second;
  }
  return made;
}

std::vector<StudyPoint> with_workers(const Study& study, std::vector<StudyPoint> points,
                                     const std::vector<int>& workers) {
  if (workers.empty()) return points;
  if (varies(study, "/cluster/workers"))
    throw ConfigError({"--workers", "", "is set by the study's axis /cluster/workers", "",
                       "Leave out --workers, or the axis"});
  std::vector<StudyPoint> made;
  for (const StudyPoint& point : points) {
    for (const int each : workers) {
      made.push_back(point);
      set(made.back(), "/cluster/workers", each, "--workers");
    }
  }
  label_last(made);
  return made;
}

std::vector<StudyPoint> points_to_try(const Study& study, const CandidateSettings& settings) {
  const std::map<std::string, Json> forms = algorithm_forms();
  check_names(settings.algorithms, forms);
  std::vector<StudyPoint> points;
  for (const StudyPoint& point : study.points) {
    StudyPoint each = without_seed(point);
    if (points.empty() || points.back().label != each.label) points.push_back(std::move(each));
  }
  points = with_workers(study, std::move(points), settings.workers);
  if (varies(study, "/algorithm") && !settings.algorithms.empty())
    throw ConfigError({"--algorithms", "", "is set by the study's axis of /algorithm", "",
                       "Leave out --algorithms, or the axis"});
  if (settings.algorithms.empty() && is_study(study)) return points;
  std::vector<StudyPoint> made;
  for (const StudyPoint& point : points) {
    const Json resolved = load_point(study, point).resolved;
    const int workers = resolved["cluster"]["workers"];
    for (const auto& [name, form] : forms) {
      const auto& wanted = settings.algorithms;
      if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
      const bool own = resolved["algorithm"]["name"] == name;
      // A method that lies in a file of the user's is tried where a scenario or --algorithms names it.
      if (wanted.empty() && !own && form["properties"].contains("file")) continue;
      for (Json& variant : variants(form, own ? resolved["algorithm"] : Json{{"name", name}}, workers)) {
        made.push_back(point);
        set(made.back(), "/algorithm", std::move(variant), "advise");
      }
    }
  }
  label_last(made);
  return made;
}

/// Names of columns that happen: in every point that sets anything there.
std::set<std::string> columns_that_happen(const Study& study, const std::vector<StudyPoint>& points) {
  std::map<std::string, bool> happens;
  for (const StudyPoint& point : points)
    for (std::size_t i = 0; i < point.coordinates.size(); ++i) {
      const Assignment& set = point.coordinates[i];
      if (set.pointer.empty() && set.value.empty()) continue;
      const bool one = frame::is_circumstance(coordinate_of(study, point, i));
      const auto [place, fresh] = happens.try_emplace(point.shown[i].first, one);
      if (!fresh) place->second = place->second && one;
    }
  std::set<std::string> names;
  for (const auto& [axis, one] : happens)
    if (one) names.insert(axis);
  return names;
}

}  // namespace

Candidates Candidates::under(std::size_t circumstance) const {
  Candidates some{{circumstances[circumstance]}, {}};
  for (const Candidate& each : all)
    some.all.push_back({each.label, each.chosen, {each.points[circumstance]}});
  return some;
}

Candidates candidates(const Study& study, const CandidateSettings& settings) {
  const std::vector<StudyPoint> points = points_to_try(study, settings);
  const std::set<std::string> happens = columns_that_happen(study, points);
  Candidates made;
  std::map<std::string, std::size_t> choices, circumstances;
  std::vector<std::map<std::size_t, StudyPoint>> found;  // of each choice, by circumstance
  for (const StudyPoint& point : points) {
    std::string choice, circumstance;
    Candidate candidate;
    for (std::size_t i = 0; i < point.coordinates.size(); ++i) {
      const auto& [axis, label] = point.shown[i];
      std::string& text = happens.contains(axis) ? circumstance : choice;
      text.append(text.empty() ? "" : ", ").append(axis).append("=").append(label);
      if (!happens.contains(axis)) candidate.chosen.push_back(point.coordinates[i]);
    }
    const auto [place, fresh] = choices.try_emplace(choice, made.all.size());
    if (fresh) {
      candidate.label = choice;
      made.all.push_back(std::move(candidate));
      found.emplace_back();
    }
    const auto [at, unseen] = circumstances.try_emplace(circumstance, made.circumstances.size());
    if (unseen) made.circumstances.push_back(circumstance);
    found[place->second].emplace(at->second, point);
  }
  std::vector<Candidate> whole;
  for (std::size_t i = 0; i < made.all.size(); ++i) {
    if (found[i].size() < made.circumstances.size()) continue;
    whole.push_back(std::move(made.all[i]));
    for (auto& [circumstance, point] : found[i]) whole.back().points.push_back(std::move(point));
  }
  if (whole.empty())
    throw ConfigError({study.file, "", "has no choice that is simulated under every circumstance", "",
                       "Exclude fewer points, or list in \"circumstances\" the axes that nobody chooses"});
  made.all = std::move(whole);
  return made;
}

}  // namespace simsgd
