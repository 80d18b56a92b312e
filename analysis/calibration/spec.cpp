#include "analysis/calibration/spec.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/scenario.hpp"
#include "scenarios/language/schema_parts.hpp"
#include "scenarios/language/use.hpp"
#include "scenarios/language/validate.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

using Scales = ParameterSpec::Scales;

Json map_of(Json value, const std::string& meaning) {
  return {{"type", "object"}, {"additionalProperties", std::move(value)}, {"description", meaning}};
}

Json any_value() { return Json::object(); }

Json text_values() { return {{"type", {"string", "number", "boolean"}}}; }

std::string scalar_of(const Json& json) { return json.is_string() ? json.get<std::string>() : json.dump(); }

template <class Value>
std::map<std::string, Value> map_from(const RawValue& raw) {
  std::map<std::string, Value> map;
  if (!raw.present()) return map;
  for (const auto& member : raw.json().items()) {
    if constexpr (std::is_same_v<Value, std::string>)
      map[member.key()] = scalar_of(member.value());
    else
      map[member.key()] = member.value().template get<Value>();
  }
  return map;
}

Selection selection_from(const RawValue& raw) { return raw.present() ? Selection(raw.json()) : Selection(); }

struct DataSection {
  DataSpec data;
  RawValue set, where;

  void fields(Fields& f) {
    f.list("files", data.files, "Files, relative to the directory of data", "A file");
    f.list(
        "expected", data.expected,
        "Instead of files: scenarios and studies. The `expected` values of their points are the "
        "measurements, each predicted by its point's run; columns are algorithm, workload, batch, workers, "
        "point, study and the axes",
        "A scenario or study");
    f.text("beside", data.beside,
           "A study that expects the same values on data sheets alone, for comparison; \"\": none");
    f.text("format", data.format, "As `simsgd import --format`; \"\": found by what is in the file");
    f.raw("map", data.map, map_of(any_value(), "Columns of a CSV or JSON file, as `simsgd import --map`"));
    f.raw("set", set,
          map_of(text_values(), "Columns that the file does not tell: workers, operation, a label"));
    f.raw("where", where, Selection::schema("Rows that are taken"));
    f.choice("summarise", data.summarise, std::vector<std::string>{"", "mean", "median", "p95", "min", "max"},
             "Rows that agree in \"by\" become one, of this statistic of their values; \"\": none");
    f.list("by", data.by, "Columns that tell the summaries apart", "A column");
  }
  DataSpec made() {
    if (data.files.empty() == data.expected.empty())
      reject("files", "and \"expected\" are both given, or both missing", "Give one of them");
    data.set = map_from<std::string>(set);
    data.where = selection_from(where);
    return data;
  }
};

struct PredictSection {
  PredictSpec predict;
  RawValue where, set, from, by;

  void fields(Fields& f) {
    f.choice("as", predict.kind,
             {{"collective", PredictSpec::Kind::collective},
              {"message", PredictSpec::Kind::message},
              {"run", PredictSpec::Kind::run}},
             "A collective operation by itself, a message (half a round trip of a ping-pong between ranks 0 "
             "and 1), or a "
             "run of the scenario")
        .required();
    f.raw("where", where, Selection::schema("Measurements that it predicts; the first that fits counts"));
    f.text("metric", predict.metric, "Of a run; \"\": that which is called as the quantity");
    f.raw("set", set, map_of(any_value(), "Pointers of the scenario, and their values"));
    f.raw("from", from,
          map_of({{"type", "string"}}, "Pointers of the scenario, and the column they are set to"));
    f.raw("by", by,
          map_of(map_of(map_of(any_value(), "Pointers and values"), "By the value of the column"),
                 "Columns, and what each of their values sets"));
  }
  PredictSpec made() {
    predict.where = selection_from(where);
    predict.set = map_from<Json>(set);
    predict.from = map_from<std::string>(from);
    if (by.present()) by.json().get_to(predict.by);
    return predict;
  }
};

double bound_of(const std::string& key, const RawValue& raw, Dimension& dimension) {
  if (raw.json().is_number()) return raw.json().get<double>();
  for (const Dimension each :
       {Dimension::time_s, Dimension::rate_Bps, Dimension::bytes, Dimension::rate_flops}) {
    const ParsedQuantity parsed = parse_quantity(raw.json().get<std::string>(), each);
    if (!parsed.ok) continue;
    dimension = each;
    return parsed.value;
  }
  reject(key, "is no quantity", "Write a number in SI units, or text such as \"5 us\" or \"25 GB/s\"");
}

Json bound_schema(const std::string& meaning) {
  return {{"type", {"number", "string"}}, {"description", meaning}};
}

struct ParameterSection {
  ParameterSpec parameter;
  RawValue low, high;
  std::optional<Scales> scales;

  void fields(Fields& f) {
    f.text("name", parameter.name, "What reports call it").required();
    f.list("pointers", parameter.pointers, "Numbers of the scenario that are set to it", "A JSON pointer")
        .required()
        .least_items(1);
    f.list("factors", parameter.factors, "Each pointer is set to so many times it", "A factor")
        .items_above(0);
    f.raw("low", low, bound_schema("Least value that is possible")).required();
    f.raw("high", high, bound_schema("Largest value that is possible, such as the link's own bandwidth"))
        .required();
    f.choice("scales", scales,
             {{"with_time", Scales::with_time},
              {"against_time", Scales::against_time},
              {"neither", Scales::neither}},
             "How it goes with an error of the model that makes everything slower: times with_time, rates "
             "against_time")
        .by_rule("by its unit: times with_time, bandwidths against_time, else neither");
    f.text("source", parameter.source, "Where its bounds come from");
  }
  ParameterSpec made() {
    Dimension dimension = Dimension::number;
    parameter.low = bound_of("low", low, dimension);
    parameter.high = bound_of("high", high, dimension);
    if (!parameter.factors.empty() && parameter.factors.size() != parameter.pointers.size())
      reject("factors", "are not as many as the pointers", "Give one for each, or none");
    if (!(parameter.high > parameter.low)) reject("high", "is not above \"low\"", "Give a range");
    if (parameter.low < 0) reject("low", "is negative", "Give at least 0");
    parameter.scales = scales.value_or(dimension == Dimension::time_s     ? Scales::with_time
                                       : dimension == Dimension::rate_Bps ? Scales::against_time
                                                                          : Scales::neither);
    return parameter;
  }
};

struct SearchSection {
  SearchSpec search;

  void fields(Fields& f) {
    f.text("pointer", search.pointer,
           "\"segments\" of a link, or a policy such as /cluster/collectives/all_reduce")
        .required();
    f.whole("most", search.most, "Entries of the table; how many is chosen by cross-validation")
        .at_least(1)
        .at_most(8);
    f.flag("per_workers", search.per_workers, "Whether each number of workers has a table of its own");
    f.list("schedules", search.schedules, "Schedules to choose from, of a policy", "A schedule");
    f.list("parts", search.parts,
           "What is fitted of each entry of a policy: launch, step_latency, bandwidth_share, payload",
           "A key of an entry");
    f.time("least_latency", search.least_latency_s, "Of a segment or a message");
    f.time("most_latency", search.most_latency_s, "The same, at most");
  }
};

constexpr int kMostMembers = 10000;

struct EnsembleSection {
  EnsembleSpec ensemble;
  RawValue values, where;
  std::optional<int> count;

  void fields(Fields& f) {
    f.text("name", ensemble.name, "What reports call it").required();
    f.text("pointer", ensemble.pointer, "What of the scenario is unknown").required();
    f.raw("values", values,
          {{"type", "array"},
           {"minItems", 1},
           {"description", "Its possible values, as likely as each other"}});
    f.whole("count", count, "Instead of values: 1, 2, ... so many, such as seeds")
        .at_least(1)
        .at_most(kMostMembers)
        .by_rule("none");
    f.raw("where", where,
          Selection::schema("Measurements that go with it: only these are simulated for each value"));
  }
  EnsembleSpec made() {
    ensemble.where = selection_from(where);
    if (values.present() == count.has_value())
      reject("values", "and \"count\" are both given, or both missing", "Give one of them");
    if (values.present()) ensemble.values.assign(values.json().begin(), values.json().end());
    for (int i = 1; i <= count.value_or(0); ++i) ensemble.values.emplace_back(i);
    return ensemble;
  }
};

struct ModelSection {
  ModelSpec model;
  std::vector<EnsembleSection> ensemble;
  RawValue set;
  std::vector<ParameterSection> parameters;
  std::vector<SearchSection> searches;

  void fields(Fields& f) {
    f.text("name", model.name, "What reports call it").required();
    f.raw("set", set, map_of(any_value(), "Pointers of the scenario, and their values"));
    f.objects("parameters", parameters, "What is fitted", "A parameter");
    f.objects("searches", searches, "Tables by size that are found first", "A table");
    f.objects("ensemble", ensemble,
              "What is unknown and discrete: all combinations predict, each with the weight that the "
              "measurements give it",
              "Something unknown");
  }
  ModelSpec made() {
    model.set = map_from<Json>(set);
    for (ParameterSection& each : parameters) model.parameters.push_back(each.made());
    for (SearchSection& each : searches) model.searches.push_back(each.search);
    std::size_t members = 1;
    for (EnsembleSection& each : ensemble) {
      model.ensemble.push_back(each.made());
      members *= model.ensemble.back().values.size();
      if (members > kMostMembers) reject("ensemble", "has more than 10000 members", "List fewer values");
    }
    return model;
  }
};

struct FitSection {
  FitSpec fit;
  RawValue where, leave_out;

  void fields(Fields& f) {
    f.raw("where", where, Selection::schema("Measurements that are fitted"));
    f.raw("leave_out", leave_out,
          {{"type", {"string", "array"}},
           {"items", {{"type", "string"}}},
           {"minItems", 1},
           {"description",
            "What cross-validation leaves out, one part after another, to choose among models and to know "
            "their error: octave (of bytes), workers, or any other column; or a list of these, each by "
            "itself"}});
    f.flag("octaves_equal", fit.octaves_equal,
           "Whether each octave of bytes of one number of workers weighs the same");
    f.number("outlier", fit.outlier, "Relative error beyond which a point counts linearly, not squared")
        .above(0);
    f.whole("draws", fit.draws, "Of the bootstrap").at_least(0).at_most(10000);
  }
  FitSpec made() {
    fit.where = selection_from(where);
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
    f.text("name", test.name, "What reports call it").required();
    f.raw("where", where, Selection::schema("Measurements that are predicted and were not fitted"))
        .required();
    f.choice("judge", test.judge, std::vector<std::string>{"mean", "median", "p95", "worst"},
             "Which of the relative errors --max-error is held against");
    f.flag("octaves_equal", test.octaves_equal, "Whether each octave of bytes weighs the same");
    f.number("goal", test.goal, "What was reached elsewhere, or is hoped for; shown beside the error")
        .at_least(0);
    f.text("source", test.source, "Of the goal");
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
  std::vector<PredictSection> predict;
  std::vector<ModelSection> models;
  FitSection fit;
  std::vector<TestSection> tests;

  void fields(Fields& f) {
    f.text("name", name, "What reports call it").required();
    f.text("description", description, "What is calibrated, and by what");
    f.raw("scenario", scenario,
          map_of(any_value(), "What predicts: a scenario; a cluster is enough for collectives"));
    f.object("stragglers", stragglers,
             "In place of scenario, predict and models: times of workers and steps, to which stragglers are "
             "fitted")
        .by_rule("none");
    f.objects("data", data, "Measurements", "Files of measurements").required().least_items(1);
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
                 "is the name of another model", "Give each a name of its own");
    const std::vector<SearchSpec>& searches = spec.models[i].searches;
    for (std::size_t s = 0; s < searches.size(); ++s)
      if (searches[s].schedules.empty() && !searches[s].pointer.ends_with("/segments"))
        errors.add(sourced.value, sourced.origins, child(child("/models", i) + "/searches", s),
                   "names no schedules for a policy", "Add \"schedules\": [\"ring\", \"tree\"]");
  }
}

}  // namespace

namespace {

/// A cluster needs what predicts; stragglers need nothing of it.
void check_kind(const SpecSection& section, const Sourced& sourced, ErrorList& errors) {
  const auto wrong = [&](const std::string& pointer, const std::string& problem, const std::string& remedy) {
    errors.add(sourced.value, sourced.origins, pointer, problem, remedy);
  };
  const bool by_themselves = std::all_of(section.data.begin(), section.data.end(),
                                         [](const DataSection& each) { return !each.data.expected.empty(); });
  const bool predicts =
      !section.models.empty() && (by_themselves || (section.scenario.present() && !section.predict.empty()));
  if (!section.stragglers && !predicts)
    wrong("", "lacks \"scenario\", \"predict\" or \"models\"",
          "Give all three, or \"stragglers\" in place of them");
  if (section.stragglers &&
      (section.scenario.present() || !section.predict.empty() || !section.models.empty()))
    wrong("/stragglers", "stands beside what predicts a cluster",
          "Leave out \"scenario\", \"predict\" and \"models\"");
}

}  // namespace

Json spec_schema() {
  SpecSection section;
  return schema::of(section,
                    "A calibration: measurements, what predicts them, what is fitted and what is tested");
}

Spec load_spec(const std::string& path) {
  JsonFiles files;
  ErrorList errors;
  const std::string file = scenario_path(path);
  const Sourced sourced = resolve_uses(files, file, {}, {}, errors);
  validate(spec_schema(), sourced.value, sourced.origins, sourced.incomplete, errors);
  errors.throw_if_any();
  auto section = options_of<SpecSection>(sourced.value);
  Spec spec;
  spec.file = shown_name(file);
  spec.name = section.name;
  spec.description = section.description;
  if (section.stragglers) spec.stragglers = section.stragglers->stragglers;
  check_kind(section, sourced, errors);
  spec.scenario = section.scenario.present() ? section.scenario.json() : Json::object();
  spec.data = all_made<DataSpec>(section.data, "/data", sourced, errors);
  spec.predict = all_made<PredictSpec>(section.predict, "/predict", sourced, errors);
  for (std::size_t i = 0; i < section.models.size(); ++i) {
    try {
      spec.models.push_back(section.models[i].made());
    } catch (const ParameterError& error) {
      errors.add(sourced.value, sourced.origins, child("/models", i), error.problem, error.remedy);
    }
  }
  spec.fit = section.fit.made();
  spec.tests = all_made<TestSpec>(section.tests, "/tests", sourced, errors);
  check_names(spec, sourced, errors);
  errors.throw_if_any();
  return spec;
}

}  // namespace simsgd
