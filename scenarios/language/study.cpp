#include "scenarios/language/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/axes.hpp"
#include "scenarios/language/explain.hpp"
#include "scenarios/language/loading.hpp"
#include "scenarios/language/point_loader.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/use.hpp"

namespace simsgd {

namespace {

/// The schema of the keys that only a study has.
Json study_schema() {
  const Json& properties = resolved_schema()["properties"];
  return {{"type", "object"},
          {"properties",
           {{"axes", properties["axes"]},
            {"exclude", properties["exclude"]},
            {"seeds", properties["seeds"]},
            {"circumstances", properties["circumstances"]}}}};
}

/// A seed or a value from the command line has no effect where an axis sets it in every point.
void check_overrides(const Study& study, ErrorList& errors) {
  for (const Assignment& override : study.overrides) {
    for (const std::string& axis : study.axes)
      if (within(axis, override.pointer) || within(override.pointer, axis))
        errors.add(
            override.pointer,
            {override.origin.file, override.origin.pointer,
             fmt::format("is set by the study's axis {} in every point", axis), shown_value(override.value),
             "Set the axis instead, such as --set /axes/0/values=[...] or --set /seeds=[...]"});
  }
}

double most_steps(const Job& job) {
  const double per_step = static_cast<double>(job.workload.batch) * job.workers();
  double steps = std::ceil(job.stop.samples / per_step);
  if (job.stop.steps != std::numeric_limits<std::uint64_t>::max())
    steps = std::min(steps, static_cast<double>(job.stop.steps));
  return std::isfinite(steps) ? steps : 0;
}

/// Everything that is wrong with any point.
void check_points(const Study& study, PointLoader& loader) {
  std::vector<InputError> all;
  std::set<std::string> told;
  for (const StudyPoint& point : study.points) {
    try {
      loader.load(point);
    } catch (const ConfigError& error) {
      for (const InputError& each : error.errors())
        if (told.insert(each.text()).second) all.push_back(each);
    }
  }
  if (!all.empty()) throw ConfigError(all);
}

WrittenAxes written_axes(const Json& value, const Provenance& origins) {
  WrittenAxes written{Json::object(), origins};
  for (const char* key : {"axes", "exclude", "seeds", "circumstances"})
    if (value.contains(key)) written.keys[key] = value[key];
  return written;
}

/// The file without what only a study has, so that it is not copied for each point.
void keep_without_axes(Study& study, Json file) {
  if (!file.is_object()) return;
  for (const char* key : {"axes", "exclude", "seeds", "circumstances", "claim"}) file.erase(key);
  study.files->put(study.file, std::move(file));
}

}  // namespace

StudySection section_of(const Study& study, const std::string& name,
                        const std::vector<Assignment>& assignments) {
  std::vector<Assignment> all = study.overrides;
  all.insert(all.end(), assignments.begin(), assignments.end());
  std::erase_if(
      all, [&](const Assignment& each) { return each.pointer != "/use" && changed_section(each) != name; });
  ErrorList ignored;  // found again in the points
  const std::string file = study.file == shown_name("-") ? "-" : study.file;
  const Sourced sourced = resolve_uses_in(name, *study.files, file, all, named_choices(), ignored);
  const Json& properties = resolved_schema()["properties"];
  const Json schema = properties.value(name, Json::object());
  Json value = sourced.value.value(name, schema.value("default", Json()));
  return {with_defaults(schema, std::move(value)), sourced.uses};
}

std::vector<Assignment> settings_of(const StudyPoint& point) {
  std::vector<Assignment> all;
  for (const Assignment& each : point.coordinates) {
    if (!each.pointer.empty()) {
      all.push_back(each);
      continue;
    }
    for (const auto& [pointer, value] : each.value.items())
      all.push_back({pointer, value, {each.origin.file, child(child(each.origin.pointer, "set"), pointer)}});
  }
  return all;
}

Study expand_study(const std::string& path, const Overrides& overrides) {
  Study study;
  study.file = scenario_path(path);
  study.files = std::make_shared<JsonFiles>();
  study.known = std::make_shared<KnownData>();
  study.overrides = assignments(overrides);
  ErrorList errors;
  const Sourced sourced = resolve_uses(*study.files, study.file, study.overrides, {}, errors);
  const Json& file = study.files->read(study.file);
  study.file = shown_name(study.file);
  const Json schema = study_schema();
  ErrorList study_errors;  // errors in other sections are found again in the points
  for (const InputError& each : errors.all())
    for (const char* key : {"/axes", "/exclude", "/seeds", "/circumstances", "/claim"})
      if (within(each.pointer, key)) study_errors.add("/axes", each);
  const Json value = checked(schema, sourced.value, sourced.origins, {}, study_errors);
  refuse_keys_of_studies(sourced, study_errors);
  check_claim(sourced, study_errors);
  study_errors.throw_if_any();
  keep_without_axes(study, file);
  study.written = std::make_shared<const WrittenAxes>(written_axes(value, sourced.origins));
  ExpandedAxes expanded = expand_axes(
      value, sourced.origins,
      [&](const std::string& section, const std::vector<Assignment>& assignments) {
        return section_of(study, section, assignments);
      },
      study_errors);
  study.points = std::move(expanded.points);
  study.axes = std::move(expanded.pointers);
  study.left_out = expanded.left_out;
  study.seed_rule = std::move(expanded.seed_rule);
  study.circumstances = std::move(expanded.circumstances);
  check_overrides(study, study_errors);
  study_errors.throw_if_any();
  const Json name = sourced.value.value("name", Json());
  study.name = name.is_string() ? name.get<std::string>() : name_of_file(study.file);
  return study;
}

Study load_study(const std::string& path, const Overrides& overrides) {
  Study study = expand_study(path, overrides);
  PointLoader loader(study);
  check_points(study, loader);
  study.name = loader.load(study.points.front()).resolved["name"].get<std::string>();
  return study;
}

Examined examined(const Job& job) {
  return {job.workers(), job.learner ? job.learner->parameters() : 0, most_steps(job)};
}

Examined examine_point(const Study& study, const StudyPoint& point) {
  return examined(make_job(load_point(study, point), study.known.get()));
}

Scenario load_point(const Study& study, const StudyPoint& point) { return PointLoader(study).load(point); }

NumberedPoint load_numbered_point(const std::string& path, std::int64_t number, const Overrides& overrides) {
  if (number == 0) {
    JsonFiles files;
    const std::string file = scenario_path(path);
    Loading loading = load(files, file, assignments(overrides), true);
    ErrorList told;  // by load()
    refuse_keys_of_studies(resolve_uses(files, file, assignments(overrides), {}, told), loading.errors);
    return {finished(std::move(loading)), ""};
  }
  const Study study = expand_study(path, overrides);
  const auto points = static_cast<std::int64_t>(study.points.size());
  if (number < 1 || number > points)
    throw ConfigError(
        {"--point", "", fmt::format("is not a point of {}, which has {}", study.file, points),
         std::to_string(number),
         fmt::format(
             "Give a number from 1 to {}, as simsgd sweep plan counts them, or 0 for the study without its axes",
             points)});
  const StudyPoint& point = study.points[static_cast<std::size_t>(number - 1)];
  return {load_point(study, point), point.label};
}

}  // namespace simsgd
