#include "analysis/store/run_row.hpp"

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

OrderedJson to_json(const RunRow& run) {
  // A document holds its scenario and its context.
  const bool whole = !run.document.is_null();
  return {{"key", run.key},
          {"model_version", run.model_version},
          {"status", status_name(run.status)},
          {"error", run.error},
          {"scenario", whole ? OrderedJson() : run.scenario},
          {"context", whole ? OrderedJson() : run.context},
          {"document", run.document}};
}

RunRow run_from_json(const OrderedJson& json) {
  const OrderedJson& document = json.at("document");
  const OrderedJson& source = document.is_null() ? json : document;
  return {json.at("key"),   json.at("model_version"), status_from_name(json.at("status")),
          json.at("error"), source.at("scenario"),    source.at("context"),
          document};
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
