#include "analysis/store/run_row.hpp"

#include "analysis/data_sheet.hpp"
#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

using OrderedJson = nlohmann::ordered_json;

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

bool is_whole(const OrderedJson& document) { return document.is_object() && document.contains("workers"); }

RunRow ended_run(const std::string& key, OrderedJson document, bool whole) {
  RunRow run;
  run.key = key;
  run.scenario = document.at("scenario").dump();
  run.context = std::move(document.at("context"));
  document["scenario"] = document["context"] = nullptr;
  if (follows_from_data_sheets(document)) document.erase("intervals");
  run.document = whole || !is_whole(document) ? std::move(document) : brief_document(document);
  return run;
}

OrderedJson joined_document(const RunRow& run) {
  OrderedJson document = run.document;
  document["context"] = run.context;
  document["scenario"] = OrderedJson::parse(run.scenario);
  if (follows_from_data_sheets(document)) add_data_sheet_intervals(document);
  return document;
}

std::string to_text(const RunRow& run) {
  const bool ended_well = !run.document.is_null();
  OrderedJson document = run.document;
  if (ended_well) document["context"] = run.context;
  std::string text = OrderedJson{{"key", run.key},
                                 {"model_version", run.model_version},
                                 {"status", status_name(run.status)},
                                 {"error", run.error},
                                 {"scenario", nullptr},
                                 {"context", ended_well ? OrderedJson() : run.context},
                                 {"document", std::move(document)}}
                         .dump();
  // A scenario is long, and text already. Inside strings quotes are escaped: this is the member.
  const std::string empty = "\"scenario\":null";
  std::size_t at = text.find(empty);
  if (ended_well) at = text.find(empty, at + 1);
  CHECK(at != std::string::npos, "a run's document has a place for its scenario");
  return text.replace(at + empty.size() - 4, 4, run.scenario);
}

RunRow run_from_json(const OrderedJson& json) {
  RunRow run;
  if (const OrderedJson& document = json.at("document"); document.is_null()) {
    run.scenario = json.at("scenario").dump();
    run.context = json.at("context");
  } else {
    for (const char* part : {"metrics", "series"}) (void)document.at(part);
    run = ended_run("", document, true);
  }
  run.key = json.at("key");
  run.model_version = json.at("model_version");
  run.status = status_from_name(json.at("status"));
  run.error = json.at("error");
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
