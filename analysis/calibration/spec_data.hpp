// The sections of a calibration that say what is measured and how it is predicted, as their JSON has them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/calibration/spec.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd::spec_sections {

inline Json map_of(Json value, const std::string& meaning) {
  return {{"type", "object"}, {"additionalProperties", std::move(value)}, {"description", meaning}};
}

inline Json any_value() { return Json::object(); }

inline Json text_values() { return {{"type", {"string", "number", "boolean"}}}; }

inline std::string scalar_of(const Json& json) {
  return json.is_string() ? json.get<std::string>() : json.dump();
}

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

inline Selection selection_from(const RawValue& raw) {
  return raw.present() ? Selection(raw.json()) : Selection();
}
struct DataSection {
  DataSpec data;
  RawValue set, where;

  void fields(Fields& f) {
    f.list("files", data.files, "Files, relative to the directory of data", "A file");
    f.list(
        "expected", data.expected,
        "Instead of files: scenarios and studies. The `expected` values of their points are the measurements, each predicted by its point's run; columns are algorithm, workload, batch, workers, point, study and the axes",
        "A scenario or study");
    f.text("beside", data.beside,
           "A study that expects the same values on data sheets alone, for comparison; \"\": none");
    f.text("format", data.format, "As `simsgd import --format`; \"\": found by what is in the file");
    f.raw("map", data.map,
          map_of(any_value(), "Columns of a CSV or JSON file, as `simsgd import --map` takes them"));
    f.raw("set", set,
          map_of(text_values(), "Columns that the file does not tell: workers, operation, a label"));
    f.raw("where", where, Selection::schema("Rows that are taken"));
    f.choice("summarise", data.summarise, std::vector<std::string>{"", "mean", "median", "p95", "min", "max"},
             "Rows that agree in \"by\" become one, of this statistic of their values; \"\": none");
    f.list("by", data.by, "Columns that tell the summaries apart", "A column");
  }
  DataSpec made() {
    if (data.files.empty() == data.expected.empty())
      reject("files", "excludes \"expected\", and one of the two is needed", "Give one of them");
    data.set = map_from<std::string>(set);
    data.where = selection_from(where);
    return data;
  }
};

struct MarkSection {
  MarkSpec mark;
  RawValue where;

  void fields(Fields& f) {
    f.text("column", mark.column, "Name of the column that is made").required();
    f.text("least", mark.least, "The row with the least number in this column, in each group, is marked")
        .required();
    f.list("by", mark.by, "Columns that tell groups apart", "A column");
    f.raw("where", where, Selection::schema("Only these rows may be the least of their group"));
    f.text("marked", mark.marked, "Value for the least rows").required();
    f.text("others", mark.others, "Value for the other rows").required();
  }
  MarkSpec made() {
    mark.where = selection_from(where);
    return mark;
  }
};

struct PredictSection {
  PredictSpec predict;
  RawValue where, set, from, by;

  void fields(Fields& f) {
    f.choice(
         "as", predict.kind,
         {{"collective", PredictSpec::Kind::collective},
          {"message", PredictSpec::Kind::message},
          {"run", PredictSpec::Kind::run}},
         "A collective operation by itself, a message (half a round trip of a ping-pong between ranks 0 and 1), or a run of the scenario")
        .required();
    f.raw("where", where, Selection::schema("Measurements that it predicts; the first that fits counts"));
    f.text("metric", predict.metric, "Of a run; \"\": that which is called as the quantity");
    f.text(
        "times", predict.times,
        "Of a run: a column that the metric is multiplied by, as a step's time by steps to a target; \"\": none");
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

// The sections of a calibration that describe what may be fitted, as their JSON has them.

inline double bound_of(const std::string& key, const RawValue& raw, Dimension& dimension) {
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

inline Json bound_schema(const std::string& meaning) {
  return {{"type", {"number", "string"}}, {"description", meaning}};
}

struct ParameterSection {
  ParameterSpec parameter;
  RawValue low, high, where;
  using Scales = ParameterSpec::Scales;
  std::optional<Scales> scales;

  void fields(Fields& f) {
    f.text("name", parameter.name, "Name of the parameter in reports").required();
    f.list("pointers", parameter.pointers, "Numbers of the scenario that are set to it", "A JSON pointer")
        .required()
        .least_items(1);
    f.list("factors", parameter.factors, "Each pointer is set to the parameter times this", "A factor")
        .items_above(0);
    f.raw("low", low, bound_schema("Least value that is possible")).required();
    f.raw("high", high, bound_schema("Largest value that is possible, such as the link's own bandwidth"))
        .required();
    f.choice(
         "scales", scales,
         {{"with_time", Scales::with_time},
          {"against_time", Scales::against_time},
          {"neither", Scales::neither}},
         "How the parameter moves with an error of the model that makes everything slower: times with_time, rates against_time")
        .by_rule("by its unit: times with_time, bandwidths against_time, else neither");
    f.text("source", parameter.source, "Where its bounds come from");
    f.raw("where", where,
          Selection::schema("Measurements that go with it, if not all: only in their scenarios is it set"));
    f.text(
        "each", parameter.each,
        "A column, or several with commas between: there is a parameter for each of their values among what is fitted, such as one factor for each vendor. \"\": one for all");
    f.number(
         "usual", parameter.usual,
         "Its value where nothing is measured. It weighs as one measurement, so that a vendor with one entry gets a factor half-way between this and what the entry says")
        .by_rule("none: only measurements tell");
  }
  ParameterSpec made() {
    parameter.where = selection_from(where);
    parameter.for_some = where.present() || !parameter.each.empty();
    Dimension dimension = Dimension::number;
    parameter.low = bound_of("low", low, dimension);
    parameter.high = bound_of("high", high, dimension);
    if (!parameter.factors.empty() && parameter.factors.size() != parameter.pointers.size())
      reject("factors", "must be as many as the pointers", "Give one factor for each pointer, or none");
    if (!(parameter.high > parameter.low)) reject("high", "is not above \"low\"", "Give a range");
    if (parameter.low < 0) reject("low", "is negative", "Give at least 0");
    if (parameter.usual && !(*parameter.usual > parameter.low && *parameter.usual < parameter.high))
      reject("usual", "is not between \"low\" and \"high\"", "Give a value between them");
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
    f.time("least_latency", search.least_latency_s, "Least latency of a segment or a message");
    f.time("most_latency", search.most_latency_s, "Greatest latency of a segment or a message");
  }
};

inline constexpr int kMostMembers = 10000;

struct EnsembleSection {
  EnsembleSpec ensemble;
  RawValue values, where;
  std::optional<int> count;

  void fields(Fields& f) {
    f.text("name", ensemble.name, "Name of the choice in reports").required();
    f.text("pointer", ensemble.pointer, "What of the scenario is unknown").required();
    f.raw("values", values,
          {{"type", "array"},
           {"minItems", 1},
           {"description", "Its possible values, as likely as each other"}});
    f.whole("count", count, "Instead of values: 1, 2, ... up to this number, such as seeds")
        .at_least(1)
        .at_most(kMostMembers)
        .by_rule("none");
    f.raw("where", where,
          Selection::schema("Measurements that go with it: only these are simulated for each value"));
  }
  EnsembleSpec made() {
    ensemble.where = selection_from(where);
    if (values.present() == count.has_value())
      reject("values", "excludes \"count\", and one of the two is needed", "Give one of them");
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
    f.text("name", model.name, "Name of the model in reports").required();
    f.raw("set", set, map_of(any_value(), "Pointers of the scenario, and their values"));
    f.objects("parameters", parameters, "What is fitted", "A parameter");
    f.objects("searches", searches, "Tables by size that are found first", "A table");
    f.objects(
        "ensemble", ensemble,
        "What is unknown and discrete: all combinations predict, each with the weight that the measurements give it",
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

}  // namespace simsgd::spec_sections
