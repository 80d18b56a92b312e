// The sections of a calibration that say what is measured and how it is predicted, as their JSON has them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/calibration/spec.hpp"
#include "sim/base/reject.hpp"

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

}  // namespace simsgd::spec_sections
