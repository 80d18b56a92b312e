#include "scenarios/language/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/axes.hpp"
#include "scenarios/language/point_loader.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "scenarios/language/use.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

/// The schema of the keys that only a study has.
Json study_schema() {
  Json properties = Json::object();
  for (const char* key : kStudyKeys) properties[key] = resolved_schema()["properties"][key];
  return {{"type", "object"}, {"properties", std::move(properties)}};
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
  for (const char* key : kStudyKeys)
    if (value.contains(key)) written.keys[key] = value[key];
  return written;
}

/// The file without what only a study has, so that it is not copied for each point.
void keep_without_axes(Study& study, Json file) {
  if (!file.is_object()) return;
  for (const char* key : kStudyKeys) file.erase(key);
  file.erase("claim");
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

namespace simsgd::schema {

// The keys of a scenario that are not settings of the run: "expected", and a study's "axes", "exclude",
// "seeds" and "circumstances". Who reads them (results/expected.hpp, axes.hpp, study.hpp) looks at the JSON
// itself.

namespace {

Json integer(const std::string& description, std::int64_t minimum, std::int64_t maximum) {
  return {{"type", "integer"}, {"minimum", minimum}, {"maximum", maximum}, {"description", description}};
}

Json text(const std::string& description) { return {{"type", "string"}, {"description", description}}; }

Json object(const std::string& description, Json properties, const std::vector<std::string>& required) {
  return {{"type", "object"},
          {"description", description},
          {"properties", std::move(properties)},
          {"required", required},
          {"additionalProperties", false}};
}

Json pointer_text() { return text("JSON pointer to what varies, such as \"/cluster/workers\""); }

Json name_text() {
  Json name = text("Name of the axis in tables; by default that of the pointer");
  name["minLength"] = 1;
  return name;
}

Json at_least_one(Json list) {
  list["minItems"] = 1;
  return list;
}

Json condition() {
  return {
      {"type", "object"},
      {"minProperties", 1},
      {"examples", Json::array({{{"/cluster/workers", {{"above", 128}}}}})},
      {"description",
       "Names of axes or JSON pointers, and what each must be: a value, a list of which one must be equal, or {\"above\" | \"at_least\" | \"at_most\" | \"below\": a number, \"not\": a value or a list}; all must hold"}};
}

Json conditions(const std::string& description) {
  return either(description,
                {condition(), at_least_one(list("Conditions, one of which must hold", condition()))});
}

Json with_when(Json axis) {
  axis["properties"]["when"] = conditions(
      "The axis varies only where this condition holds, which may name axes before this one; elsewhere it is not set");
  return axis;
}

Json with_pointer(const std::string& description, const std::string& key, Json values) {
  return object(description, {{"pointer", pointer_text()}, {"name", name_text()}, {key, std::move(values)}},
                {"pointer", key});
}

Json bound() {
  return {{"type", {"number", "string"}}, {"description", "One bound: a number, or text with a unit"}};
}

std::vector<Json> simple_axes() {
  return {
      with_pointer(
          "A list of values", "values",
          at_least_one(list("The axis takes these values, in order", {{"description", "Any value"}}))),
      with_pointer("Equal ratios", "log_range",
                   object("Equal ratios between two bounds, both included; whole numbers stay whole",
                          {{"from", bound()},
                           {"to", bound()},
                           {"points", integer("The axis has this many values", 2, kMostPoints)}},
                          {"from", "to", "points"})),
      with_pointer(
          "Equal steps", "range",
          object("Equal steps from one bound to the other; the last bound is included if a step reaches it",
                 {{"from", bound()}, {"to", bound()}, {"step", bound()}}, {"from", "to", "step"}))};
}

Json named_axis() {
  Json label = text("Name of the value in tables");
  label["minLength"] = 1;
  Json set = {
      {"type", "object"},
      {"description", "JSON pointers and the values that are set there; {} leaves the scenario as it is"}};
  return object(
      "Named values, each of which may set several things; one column in tables",
      {{"name", name_text()},
       {"values",
        at_least_one(list("The axis takes these values, in order",
                          object("A named value", {{"label", label}, {"set", set}}, {"label", "set"})))}},
      {"name", "values"});
}

Json drawn_axis(const std::string& method, const std::string& description) {
  const Json values =
      at_least_one(list("One of these values is drawn, all equally likely", {{"description", "Any value"}}));
  const Json between = object(
      "A range to draw from; whole bounds give whole numbers",
      {{"pointer", pointer_text()},
       {"name", name_text()},
       {"from", bound()},
       {"to", bound()},
       {"scale", with_default(choice("Whether values or their ratios are equally likely", {"linear", "log"}),
                              "linear")}},
      {"pointer", "from", "to"});
  return object(description,
                {{method, at_least_one(list(
                              "What is drawn; each draw sets all of these",
                              either("A dimension", {between, with_pointer("A choice", "values", values)})))},
                 {"draws", integer("This many values are drawn", 1, kMostPoints)},
                 {"seed", with_default(integer("Seed of the draws, independent of the seeds of the runs", 0,
                                               std::int64_t{1} << 53),
                                       1)}},
                {method, "draws"});
}

Json seeds_until(const std::vector<std::string>& metrics) {
  Json until = object(
      "When a combination of the axes has enough seeds",
      {{"metric", choice("Metric whose mean over the seeds must be certain enough", metrics)},
       {"half_width",
        {{"type", {"number", "string"}},
         {"description",
          "There are enough seeds when the half-width of Student's 95 % interval is at most this share of the mean, \"5 %\" or 0.05"}}}},
      {"metric", "half_width"});
  return object(
      "Seeds 1, 2, ... of each combination until its mean is certain enough, which is judged after at_least seeds and then after each quarter more. If a seed fails or has no value of the metric, its combination goes on to at_most, except where none of the first at_least has a value",
      {{"at_least", integer("Each point has at least this many seeds", 2, kMostPoints)},
       {"at_most", integer("Each point has at most this many seeds", 2, kMostPoints)},
       {"until", std::move(until)}},
      {"at_least", "at_most", "until"});
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric& metric : metrics()) names.push_back(metric.name);
  return names;
}

}  // namespace

Json expected() {
  const std::vector<std::string> names = metric_names();
  Json when = {{"type", "object"},
               {"description",
                "The value holds where these pointers have these values, such as {\"/cluster/workers\": 8}"}};
  return with_default(
      list("Measured values to compare the simulation with",
           object("A measured value",
                  {{"metric", choice("The metric that was measured", names)},
                   {"value", {{"type", "number"}, {"description", "This was measured, in SI"}}},
                   {"tolerance",
                    {{"type", "number"},
                     {"minimum", 0},
                     {"description", "Greatest relative deviation that counts as agreement"}}},
                   {"source", text("Who measured it, and where it was published")},
                   {"when", std::move(when)}},
                  {"metric", "value", "tolerance", "source"})),
      Json::array());
}

Json axes() {
  const std::vector<Json> simple = simple_axes();
  std::vector<Json> forms;
  for (const Json& each : simple) forms.push_back(with_when(each));
  forms.push_back(with_when(named_axis()));
  forms.push_back(with_when(object(
      "Axes that vary together",
      {{"zip", at_least_one(list("Axes of equal length that vary together", either("An axis", simple)))}},
      {"zip"})));
  forms.push_back(with_when(drawn_axis("random", "Independent uniform draws")));
  forms.push_back(with_when(drawn_axis("sobol", "Sobol' points, which fill the ranges evenly")));
  return list(
      "The study's axes. Its points are all combinations of their values; the last axis varies fastest",
      either("An axis", forms));
}

Json exclude() {
  return conditions(
      "Combinations of a study's axes that are left out, such as {\"algorithm\": \"matcha\", \"/cluster/workers\": {\"above\": 128}}");
}

Json circumstances() {
  Json axis = text("Name of an axis, or the JSON pointer that it varies");
  axis["minLength"] = 1;
  return list(
      "Axes that nobody can choose, such as stragglers or the network. Tables, reports and advice name the best choice for each of their values. Default: all axes except the algorithm, the optimizer, workers, GPUs per node, the whole cluster, its devices, collectives and stack, and batches",
      std::move(axis));
}

Json seeds() {
  Json numbers = at_least_one(list("The seeds", integer("A seed", 0, std::int64_t{1} << 53)));
  numbers["uniqueItems"] = true;
  return either(
      "Seeds of a study: each point runs with each of them",
      {integer("How many: 1, 2, ...", 1, kMostPoints), std::move(numbers), seeds_until(metric_names())});
}

}  // namespace simsgd::schema
