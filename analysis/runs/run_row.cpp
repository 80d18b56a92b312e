#include "analysis/runs/run_row.hpp"

#include <cmath>

#include "analysis/data_sheet.hpp"
#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

using OrderedJson = nlohmann::ordered_json;

namespace {

// Inside strings quotes are escaped: the first such text is the member.
const std::string kDocument = ",\"document\":";

}  // namespace

std::string status_name(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return "ok";
    case RunStatus::failed:
      return "failed";
    case RunStatus::timeout:
      return "timeout";
  }
  CHECK(false, "a status is one of three");
}

RunStatus status_from_name(const std::string& name) {
  for (const RunStatus status : {RunStatus::ok, RunStatus::failed, RunStatus::timeout})
    if (status_name(status) == name) return status;
  throw RunError("No run has the status \"" + name + "\"; a newer simsgd may have written it.");
}

OrderedJson RunRow::read() const {
  OrderedJson all = OrderedJson::parse(document);
  if (follows_from_data_sheets(all)) add_data_sheet_intervals(all);
  return all;
}

OrderedJson intervals_in(OrderedJson document) {
  if (follows_from_data_sheets(document)) add_data_sheet_intervals(document);
  return document.value("intervals", OrderedJson::object());
}

RunRow ended_run(const std::string& key, OrderedJson document, bool whole) {
  RunRow run;
  run.key = key;
  if (!whole && document.contains("workers")) document = brief_document(document);
  run.whole = document.contains("workers");
  if (follows_from_data_sheets(document)) document.erase("intervals");
  for (const auto& [name, value] : document.at("metrics").items())
    if (value.is_number() && std::isfinite(value.get<double>())) run.metrics[name] = value;
  run.notes = document.value("notes", std::vector<std::string>());
  run.document = document.dump();
  return run;
}

RunRow ended_run(OrderedJson document, const std::string& scenario) {
  RunRow run = ended_run("", std::move(document), false);
  // A scenario is long, and text already. Inside strings quotes are escaped: this is the member.
  const std::string empty = "\"scenario\":null";
  const std::size_t at = run.document.find(empty);
  CHECK(at != std::string::npos, "a run's document has a place for its scenario");
  run.document.replace(at + empty.size() - 4, 4, scenario);
  return run;
}

std::string to_text(const RunRow& run) {
  std::string text = OrderedJson{
      {"key", run.key},
      {"model_version", run.model_version},
      {"status", status_name(run.status)},
      {"error", run.error},
      {"whole", run.whole},
      {"metrics", run.metrics},
      {"notes",
       run.notes}}.dump();
  text.pop_back();
  return text + kDocument + run.document + "}";
}

RunRow run_from_text(const std::string& text) {
  const std::size_t at = text.find(kDocument);
  if (at == std::string::npos) throw RunError("it has no document");
  const OrderedJson json = OrderedJson::parse(text.substr(0, at) + "}");
  RunRow run;
  run.key = json.at("key");
  run.model_version = json.at("model_version");
  run.status = status_from_name(json.at("status"));
  run.error = json.at("error");
  run.whole = json.at("whole");
  run.metrics = json.at("metrics").get<std::map<std::string, double>>();
  run.notes = json.at("notes").get<std::vector<std::string>>();
  const std::size_t begin = at + kDocument.size();
  run.document = text.substr(begin, text.size() - begin - 1);
  return run;
}

OrderedJson to_json(const SweepRow& sweep) {
  OrderedJson points = OrderedJson::array();
  for (const SweepPointRow& point : sweep.points)
    points.push_back({{"label", point.label}, {"coordinates", point.coordinates}, {"key", point.key}});
  return {{"id", sweep.id},
          {"name", sweep.name},
          {"file", sweep.file},
          {"axes", sweep.axes},
          {"points", std::move(points)}};
}

SweepRow sweep_from_json(const OrderedJson& json) {
  SweepRow sweep{json.at("id"), json.at("name"), json.at("file"), json.at("axes"), {}};
  for (const OrderedJson& point : json.at("points"))
    sweep.points.push_back({point.at("label"), point.at("coordinates"), point.at("key")});
  return sweep;
}

}  // namespace simsgd
