#include "analysis/calibration/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/calibration/spec_data.hpp"
#include "scenarios/language/scenario.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/use.hpp"

namespace simsgd {

using namespace spec_sections;

namespace {

struct FitSection {
  FitSpec fit;
  RawValue where, leave_out, leave_out_where;

  void fields(Fields& f) {
    f.raw("where", where, Selection::schema("Measurements that are fitted"));
    f.raw(
        "leave_out", leave_out,
        {{"type", {"string", "array"}},
         {"items", {{"type", "string"}}},
         {"minItems", 1},
         {"description",
          "What cross-validation leaves out, one part after another, to choose among models and to know their error: octave (of bytes), workers, or any other column; several together with commas (network,workers); or a list of these, each by itself"}});
    f.raw(
        "leave_out_where", leave_out_where,
        Selection::schema(
            "Of what is fitted, only these measurements are left out in turn: what a model is told beforehand cannot test it"));
    f.flag("octaves_equal", fit.octaves_equal,
           "Whether each octave of bytes of one number of workers weighs the same");
    f.number("outlier", fit.outlier, "Relative error beyond which a point counts linearly, not squared")
        .above(0);
    f.whole("draws", fit.draws, "Draws of the bootstrap").at_least(0).at_most(10000);
    f.whole(
         "starts", fit.starts,
         "Points inside the bounds from which a fit descends: the best of 32 times as many points of Sobol's sequence, then the best of all with one parameter changed; 1: only the middle. A fit of runs looks at this many points and descends from the best, because each costs a simulation of every measurement")
        .at_least(1)
        .at_most(10000)
        .by_rule("6; 1 where runs are simulated");
  }
  FitSpec made() {
    fit.where = selection_from(where);
    fit.leave_out_where = selection_from(leave_out_where);
    if (leave_out.present())
      fit.leave_out = leave_out.json().is_string() ? std::vector{leave_out.json().get<std::string>()}
                                                   : leave_out.json().get<std::vector<std::string>>();
    return fit;
  }
};

struct TestSection {
  TestSpec test;
  RawValue where;

  void fields(Fields& f) {
    f.text("name", test.name, "Name of the test in reports").required();
    f.raw("where", where, Selection::schema("Measurements that are predicted and were not fitted"))
        .required();
    f.choice("judge", test.judge, std::vector<std::string>{"mean", "median", "p95", "worst"},
             "The statistic of the relative errors that --max-error limits");
    f.flag("octaves_equal", test.octaves_equal, "Whether each octave of bytes weighs the same");
    f.number("goal", test.goal, "An error that was reached elsewhere, or is aimed at; shown next to ours")
        .at_least(0);
    f.text("source", test.source, "Source of the goal");
  }
  TestSpec made() {
    test.where = selection_from(where);
    return test;
  }
};

struct StragglerSection {
  StragglerSpec stragglers;

  void fields(Fields& f) {
    f.text("worker", stragglers.worker, "Column that numbers the workers");
    f.text("step", stragglers.step, "Column that numbers the steps");
    f.flag("continues", stragglers.continues,
           "Whether the tested steps follow the fitted ones; else they are of another run");
  }
};

struct SpecSection {
  std::optional<StragglerSection> stragglers;
  std::string name, description;
  RawValue scenario;
  std::vector<DataSection> data;
  std::vector<MarkSection> marks;
  std::vector<PredictSection> predict;
  std::vector<ModelSection> models;
  FitSection fit;
  std::vector<TestSection> tests;

  void fields(Fields& f) {
    f.text("name", name, "Name of the spec in reports").required();
    f.text("description", description, "What is calibrated, and by what");
    f.raw("scenario", scenario,
          map_of(any_value(), "What predicts: a scenario; a cluster is enough for collectives"));
    f.object(
         "stragglers", stragglers,
         "In place of scenario, predict and models: times of workers and steps, to which stragglers are fitted")
        .by_rule("none");
    f.objects("data", data, "Measurements", "Files of measurements").required().least_items(1);
    f.objects("marks", marks, "Columns that mark the least of each group", "A column");
    f.objects("predict", predict, "How measurements are predicted", "Measurements of one kind");
    f.objects("models", models, "Descriptions to choose from: the one whose left-out points it predicts best",
              "A description");
    f.object("fit", fit, "What is fitted, and how");
    f.objects("tests", tests, "What is predicted and was not fitted", "A tested part");
  }
};

/// All that `make` makes of the sections at `pointer`; what is wrong is added to the errors.
template <class Made, class Section>
std::vector<Made> all_made(std::vector<Section>& sections, const std::string& pointer, const Sourced& sourced,
                           ErrorList& errors) {
  std::vector<Made> all;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    try {
      all.push_back(sections[i].made());
    } catch (const ParameterError& error) {
      errors.add(sourced.value, sourced.origins, child(pointer, i) + error.key, error.problem, error.remedy);
    }
  }
  return all;
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

}  // namespace

namespace {

/// A cluster needs what predicts; stragglers need nothing of it.
void check_kind(const SpecSection& section, const Sourced& sourced, ErrorList& errors) {
  const auto wrong = [&](const std::string& pointer, const std::string& problem, const std::string& remedy) {
    errors.add(sourced.value, sourced.origins, pointer, problem, remedy);
  };
  const bool by_themselves =
      std::ranges::all_of(section.data, [](const DataSection& each) { return !each.data.expected.empty(); });
  const bool predicts =
      !section.models.empty() && (by_themselves || (section.scenario.present() && !section.predict.empty()));
  if (!section.stragglers && !predicts)
    wrong("", "lacks \"scenario\", \"predict\" or \"models\"",
          "Give all three, or \"stragglers\" in place of them");
  if (section.stragglers &&
      (section.scenario.present() || !section.predict.empty() || !section.models.empty()))
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

/// Its JSON schema.
Json spec_schema() {
  SpecSection section;
  return schema::of(section,
                    "A calibration: measurements, what predicts them, what is fitted and what is tested");
}

Spec spec_in(JsonFiles& files, const std::string& file, SpecUse use) {
  ErrorList errors;
  const Sourced sourced = resolve_uses(files, file, {}, {}, errors);
  checked(spec_schema(), sourced.value, sourced.origins, sourced.incomplete, errors);
  errors.throw_if_any();
  auto section = options_of<SpecSection>(sourced.value);
  Spec spec;
  spec.file = shown_name(file);
  spec.origins = sourced.origins;
  spec.name = section.name;
  spec.description = section.description;
  if (section.stragglers) spec.stragglers = section.stragglers->stragglers;
  check_kind(section, sourced, errors);
  spec.scenario = section.scenario.present() ? section.scenario.json() : Json::object();
  spec.data = all_made<DataSpec>(section.data, "/data", sourced, errors);
  spec.marks = all_made<MarkSpec>(section.marks, "/marks", sourced, errors);
  spec.predict = all_made<PredictSpec>(section.predict, "/predict", sourced, errors);
  for (std::size_t i = 0; i < section.models.size(); ++i) {
    try {
      spec.models.push_back(section.models[i].made());
      spec.models.back().file = sourced.origins.at(child("/models", i)).file;
      for (std::size_t j = 0; j < spec.models.back().parameters.size(); ++j)
        spec.models.back().parameters[j].written = j;
    } catch (const ParameterError& error) {
      errors.add(sourced.value, sourced.origins, child("/models", i), error.problem, error.remedy);
    }
  }
  spec.fit = section.fit.made();
  spec.tests = all_made<TestSpec>(section.tests, "/tests", sourced, errors);
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
