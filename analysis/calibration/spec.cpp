#include "analysis/calibration/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/scenario.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/use.hpp"

namespace simsgd {

namespace {

/// What is wrong with the parts at `pointer` is added to the errors.
template <class Part>
void settle_all(std::vector<Part>& parts, const std::string& pointer, const Sourced& sourced,
                ErrorList& errors) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    try {
      parts[i].settle();
    } catch (const ParameterError& error) {
      errors.add(sourced.value, sourced.origins, child(pointer, i) + error.key, error.problem, error.remedy);
    }
  }
}

void check_names(const Spec& spec, const Sourced& sourced, ErrorList& errors) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    if (!names.insert(spec.models[i].name).second)
      errors.add(sourced.value, sourced.origins, child("/models", i) + "/name",
                 "is already the name of another model", "Give each a name of its own");
    const std::vector<SearchSpec>& searches = spec.models[i].searches;
    for (std::size_t s = 0; s < searches.size(); ++s)
      if (searches[s].schedules.empty() && !searches[s].pointer.ends_with("/segments"))
        errors.add(sourced.value, sourced.origins, child(child("/models", i) + "/searches", s),
                   "lacks the schedules that a policy chooses from",
                   "Add \"schedules\": [\"ring\", \"tree\"]");
  }
}

/// What goes with some measurements only is written with the scenarios that it is for.
void check_written(const Spec& spec, const Sourced& sourced, ErrorList& errors) {
  const auto check = [&](const Selection& where, const std::string& pointer) {
    const std::string column = column_of_measurements(where);
    if (column.empty()) return;
    errors.add(
        sourced.value, sourced.origins, child(pointer + "/where", column),
        "selects by a column that scenarios do not have, so the value cannot be written into a cluster",
        fmt::format(
            "Select by {}, with a value, at_least or at_most; or only report (without -o, or with validate)",
            kScenarioColumns));
  };
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    const std::string model = child("/models", i);
    for (std::size_t j = 0; j < spec.models[i].parameters.size(); ++j) {
      const ParameterSpec& parameter = spec.models[i].parameters[j];
      const std::string at = child(model + "/parameters", j);
      check(parameter.where, at);
      if (parameter.for_some && std::ranges::any_of(parameter.pointers, [](const auto& each) {
            return each.starts_with("/cluster/");
          }))
        errors.add(sourced.value, sourced.origins, at + "/where",
                   "selects scenarios for a number of the cluster, which has one value for all of them",
                   "Drop it, or only report (without -o, or with validate)");
    }
    for (std::size_t j = 0; j < spec.models[i].ensemble.size(); ++j)
      check(spec.models[i].ensemble[j].where, child(model + "/ensemble", j));
  }
}

/// A cluster needs what predicts; stragglers need nothing of it.
void check_kind(const Spec& spec, const Sourced& sourced, ErrorList& errors) {
  const auto wrong = [&](const std::string& pointer, const std::string& problem, const std::string& remedy) {
    errors.add(sourced.value, sourced.origins, pointer, problem, remedy);
  };
  const bool by_themselves =
      std::ranges::all_of(spec.data, [](const DataSpec& each) { return !each.expected.empty(); });
  const bool predicts =
      !spec.models.empty() && (by_themselves || (spec.written_scenario.present() && !spec.predict.empty()));
  if (!spec.stragglers && !predicts)
    wrong("", "lacks \"scenario\", \"predict\" or \"models\"",
          "Give all three, or \"stragglers\" in place of them");
  if (spec.stragglers && (spec.written_scenario.present() || !spec.predict.empty() || !spec.models.empty()))
    wrong("/stragglers", "cannot be combined with \"scenario\", \"predict\" or \"models\"",
          "Leave out \"scenario\", \"predict\" and \"models\"");
}

}  // namespace

InputError Spec::error_at(const std::string& pointer, const std::string& problem, const std::string& found,
                          const std::string& remedy) const {
  const Origin origin = origins.at(pointer);
  return {origin.file, origin.pointer, problem, found, remedy};
}

namespace {

Spec spec_in(JsonFiles& files, const std::string& file, SpecUse use) {
  ErrorList errors;
  const Sourced sourced = resolve_uses(files, file, {}, {}, errors);
  Spec spec;
  checked(
      schema::of(spec, "A calibration: measurements, what predicts them, what is fitted and what is tested"),
      sourced.value, sourced.origins, sourced.incomplete, errors);
  errors.throw_if_any();
  spec = options_of<Spec>(sourced.value);
  spec.file = shown_name(file);
  spec.origins = sourced.origins;
  check_kind(spec, sourced, errors);
  spec.scenario = spec.written_scenario.present() ? spec.written_scenario.json() : Json::object();
  settle_all(spec.data, "/data", sourced, errors);
  settle_all(spec.marks, "/marks", sourced, errors);
  settle_all(spec.predict, "/predict", sourced, errors);
  for (std::size_t i = 0; i < spec.models.size(); ++i)
    spec.models[i].file = sourced.origins.at(child("/models", i)).file;
  settle_all(spec.models, "/models", sourced, errors);
  spec.fit.settle();
  settle_all(spec.tests, "/tests", sourced, errors);
  check_names(spec, sourced, errors);
  if (use == SpecUse::cluster) check_written(spec, sourced, errors);
  errors.throw_if_any();
  return spec;
}

}  // namespace

Spec load_spec(const std::string& path, SpecUse use) {
  JsonFiles files;
  return spec_in(files, scenario_path(path), use);
}

Spec read_spec(Json document, const std::string& name, SpecUse use) {
  JsonFiles files;
  files.put(name, std::move(document));
  return spec_in(files, name, use);
}

}  // namespace simsgd
