#include "analysis/calibration/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/language/scenario.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/use.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

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

// The parts of a calibration's spec: their fields, and what is read of them once all of the spec is there.

namespace {

constexpr int kMostMembers = 10000;

Json map_of(Json value, const std::string& meaning) {
  return {{"type", "object"}, {"additionalProperties", std::move(value)}, {"description", meaning}};
}

Json any_value() { return Json::object(); }

Json text_values() { return {{"type", {"string", "number", "boolean"}}}; }

/// Leaves the value as it is where nothing is written.
template <class Value>
void read_written(const RawValue& written, Value& value) {
  if (written.present()) written.json().get_to(value);
}

}  // namespace

void Spec::fields(Fields& f) {
  f.text("name", name, "Name of the spec in reports").required();
  f.text("description", description, "What is calibrated, and by what");
  f.raw("scenario", written_scenario,
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

void DataSpec::fields(Fields& f) {
  f.list("files", files, "Files, relative to the directory of data", "A file");
  f.list(
      "expected", expected,
      "Instead of files: scenarios and studies. The `expected` values of their points are the measurements, each predicted by its point's run; columns are algorithm, workload, batch, workers, point, study and the axes",
      "A scenario or study");
  f.text("beside", beside,
         "A study that expects the same values on data sheets alone, for comparison; \"\": none");
  f.text("format", format, "As `simsgd import --format`; \"\": found by what is in the file");
  f.raw("map", map,
        map_of(any_value(), "Columns of a CSV or JSON file, as `simsgd import --map` takes them"));
  f.raw("set", written_set_,
        map_of(text_values(), "Columns that the file does not tell: workers, operation, a label"));
  where.field(f, "where", "Rows that are taken");
  f.choice("summarise", summarise, std::vector<std::string>{"", "mean", "median", "p95", "min", "max"},
           "Rows that agree in \"by\" become one, of this statistic of their values; \"\": none");
  f.list("by", by, "Columns that tell the summaries apart", "A column");
}

void DataSpec::settle() {
  if (files.empty() == expected.empty())
    reject("files", "excludes \"expected\", and one of the two is needed", "Give one of them");
  if (written_set_.present())
    for (const auto& member : written_set_.json().items())
      set[member.key()] =
          member.value().is_string() ? member.value().get<std::string>() : member.value().dump();
  where.settle();
}

void MarkSpec::fields(Fields& f) {
  f.text("column", column, "Name of the column that is made").required();
  f.text("least", least, "The row with the least number in this column, in each group, is marked").required();
  f.list("by", by, "Columns that tell groups apart", "A column");
  where.field(f, "where", "Only these rows may be the least of their group");
  f.text("marked", marked, "Value for the least rows").required();
  f.text("others", others, "Value for the other rows").required();
}

void PredictSpec::fields(Fields& f) {
  f.choice(
       "as", kind, {{"collective", Kind::collective}, {"message", Kind::message}, {"run", Kind::run}},
       "A collective operation by itself, a message (half a round trip of a ping-pong between ranks 0 and 1), or a run of the scenario")
      .required();
  where.field(f, "where", "Measurements that it predicts; the first that fits counts");
  f.text("metric", metric, "Of a run; \"\": that which is called as the quantity");
  f.text(
      "times", times,
      "Of a run: a column that the metric is multiplied by, as a step's time by steps to a target; \"\": none");
  f.raw("set", written_set_, map_of(any_value(), "Pointers of the scenario, and their values"));
  f.raw("from", written_from_,
        map_of({{"type", "string"}}, "Pointers of the scenario, and the column they are set to"));
  f.raw("by", written_by_,
        map_of(map_of(map_of(any_value(), "Pointers and values"), "By the value of the column"),
               "Columns, and what each of their values sets"));
}

void PredictSpec::settle() {
  where.settle();
  read_written(written_set_, set);
  read_written(written_from_, from);
  read_written(written_by_, by);
}

void ModelSpec::fields(Fields& f) {
  f.text("name", name, "Name of the model in reports").required();
  f.raw("set", written_set_, map_of(any_value(), "Pointers of the scenario, and their values"));
  f.objects("parameters", parameters, "What is fitted", "A parameter");
  f.objects("searches", searches, "Tables by size that are found first", "A table");
  f.objects(
      "ensemble", ensemble,
      "What is unknown and discrete: all combinations predict, each with the weight that the measurements give it",
      "Something unknown");
}

void ModelSpec::settle() {
  read_written(written_set_, set);
  const auto settle_all = [](auto& parts, const char* key) {
    for (std::size_t i = 0; i < parts.size(); ++i) try {
        parts[i].settle();
      } catch (const ParameterError& error) {
        reject(fmt::format("{}/{}{}", key, i, error.key), error.problem, error.remedy);
      }
  };
  settle_all(parameters, "parameters");
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].written = i;
  settle_all(ensemble, "ensemble");
  std::size_t members = 1;
  for (const EnsembleSpec& each : ensemble) {
    members *= each.values.size();
    if (members > kMostMembers) reject("ensemble", "has more than 10000 members", "List fewer values");
  }
}

namespace {

double bound_of(const std::string& key, const RawValue& raw, Dimension& dimension) {
  if (raw.json().is_number()) return raw.json().get<double>();
  for (const Dimension each :
       {Dimension::time_s, Dimension::rate_Bps, Dimension::bytes, Dimension::rate_flops}) {
    const ParsedQuantity parsed = parse_quantity(raw.json().get<std::string>(), each);
    if (!parsed.ok) continue;
    dimension = each;
    return parsed.value;
  }
  reject(key, "is not a quantity", "Write a number in SI units, or text such as \"5 us\" or \"25 GB/s\"");
}

Json bound_schema(const std::string& meaning) {
  return {{"type", {"number", "string"}}, {"description", meaning}};
}

}  // namespace

void ParameterSpec::fields(Fields& f) {
  f.text("name", name, "Name of the parameter in reports").required();
  f.list("pointers", pointers, "Numbers of the scenario that are set to it", "A JSON pointer")
      .required()
      .least_items(1);
  f.list("factors", factors, "Each pointer is set to the parameter times this", "A factor").items_above(0);
  f.raw("low", written_low_, bound_schema("Least value that is possible")).required();
  f.raw("high", written_high_,
        bound_schema("Largest value that is possible, such as the link's own bandwidth"))
      .required();
  f.choice(
       "scales", written_scales_,
       {{"with_time", Scales::with_time},
        {"against_time", Scales::against_time},
        {"neither", Scales::neither}},
       "How the parameter moves with an error of the model that makes everything slower: times with_time, rates against_time")
      .by_rule("by its unit: times with_time, bandwidths against_time, else neither");
  f.text("source", source, "Where its bounds come from");
  where.field(f, "where", "Measurements that go with it, if not all: only in their scenarios is it set");
  f.text(
      "each", each,
      "A column, or several with commas between: there is a parameter for each of their values among what is fitted, such as one factor for each vendor. \"\": one for all");
  f.number(
       "usual", usual,
       "Its value where nothing is measured. It weighs as one measurement, so that a vendor with one entry gets a factor half-way between this and what the entry says")
      .by_rule("none: only measurements tell");
}

void ParameterSpec::settle() {
  where.settle();
  for_some = !where.empty() || !each.empty();
  Dimension dimension = Dimension::number;
  low = bound_of("low", written_low_, dimension);
  high = bound_of("high", written_high_, dimension);
  if (!factors.empty() && factors.size() != pointers.size())
    reject("factors", "must be as many as the pointers", "Give one factor for each pointer, or none");
  if (!(high > low)) reject("high", "is not above \"low\"", "Give a range");
  if (low < 0) reject("low", "is negative", "Give at least 0");
  if (usual && !(*usual > low && *usual < high))
    reject("usual", "is not between \"low\" and \"high\"", "Give a value between them");
  scales = written_scales_.value_or(dimension == Dimension::time_s     ? Scales::with_time
                                    : dimension == Dimension::rate_Bps ? Scales::against_time
                                                                       : Scales::neither);
}

void SearchSpec::fields(Fields& f) {
  f.text("pointer", pointer, "\"segments\" of a link, or a policy such as /cluster/collectives/all_reduce")
      .required();
  f.whole("most", most, "Entries of the table; how many is chosen by cross-validation")
      .at_least(1)
      .at_most(8);
  f.flag("per_workers", per_workers, "Whether each number of workers has a table of its own");
  f.list("schedules", schedules, "Schedules to choose from, of a policy", "A schedule");
  f.list("parts", parts,
         "What is fitted of each entry of a policy: launch, step_latency, bandwidth_share, payload",
         "A key of an entry");
  f.time("least_latency", least_latency_s, "Least latency of a segment or a message");
  f.time("most_latency", most_latency_s, "Greatest latency of a segment or a message");
}

void EnsembleSpec::fields(Fields& f) {
  f.text("name", name, "Name of the choice in reports").required();
  f.text("pointer", pointer, "What of the scenario is unknown").required();
  f.raw(
      "values", written_values_,
      {{"type", "array"}, {"minItems", 1}, {"description", "Its possible values, as likely as each other"}});
  f.whole("count", count_, "Instead of values: 1, 2, ... up to this number, such as seeds")
      .at_least(1)
      .at_most(kMostMembers)
      .by_rule("none");
  where.field(f, "where", "Measurements that go with it: only these are simulated for each value");
}

void EnsembleSpec::settle() {
  where.settle();
  if (written_values_.present() == count_.has_value())
    reject("values", "excludes \"count\", and one of the two is needed", "Give one of them");
  read_written(written_values_, values);
  for (int i = 1; i <= count_.value_or(0); ++i) values.emplace_back(i);
}

void FitSpec::fields(Fields& f) {
  where.field(f, "where", "Measurements that are fitted");
  f.raw(
      "leave_out", written_leave_out_,
      {{"type", {"string", "array"}},
       {"items", {{"type", "string"}}},
       {"minItems", 1},
       {"description",
        "What cross-validation leaves out, one part after another, to choose among models and to know their error: octave (of bytes), workers, or any other column; several together with commas (network,workers); or a list of these, each by itself"}});
  leave_out_where.field(
      f, "leave_out_where",
      "Of what is fitted, only these measurements are left out in turn: what a model is told beforehand cannot test it");
  f.flag("octaves_equal", octaves_equal,
         "Whether each octave of bytes of one number of workers weighs the same");
  f.number("outlier", outlier, "Relative error beyond which a point counts linearly, not squared").above(0);
  f.whole("draws", draws, "Draws of the bootstrap").at_least(0).at_most(10000);
  f.whole(
       "starts", starts,
       "Points inside the bounds from which a fit descends: the best of 32 times as many points of Sobol's sequence, then the best of all with one parameter changed; 1: only the middle. A fit of runs looks at this many points and descends from the best, because each costs a simulation of every measurement")
      .at_least(1)
      .at_most(10000)
      .by_rule("6; 1 where runs are simulated");
}

void FitSpec::settle() {
  where.settle();
  leave_out_where.settle();
  if (!written_leave_out_.present()) return;
  const Json& written = written_leave_out_.json();
  leave_out =
      written.is_string() ? std::vector{written.get<std::string>()} : written.get<std::vector<std::string>>();
}

void TestSpec::fields(Fields& f) {
  f.text("name", name, "Name of the test in reports").required();
  where.field(f, "where", "Measurements that are predicted and were not fitted").required();
  f.choice("judge", judge, std::vector<std::string>{"mean", "median", "p95", "worst"},
           "The statistic of the relative errors that --max-error limits");
  f.flag("octaves_equal", octaves_equal, "Whether each octave of bytes weighs the same");
  f.number("goal", goal, "An error that was reached elsewhere, or is aimed at; shown next to ours")
      .at_least(0);
  f.text("source", source, "Source of the goal");
}

void StragglerSpec::fields(Fields& f) {
  f.text("worker", worker, "Column that numbers the workers");
  f.text("step", step, "Column that numbers the steps");
  f.flag("continues", continues,
         "Whether the tested steps follow the fitted ones; else they are of another run");
}

}  // namespace simsgd
