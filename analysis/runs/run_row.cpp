#include "analysis/runs/run_row.hpp"

#include <fmt/format.h>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "analysis/data_sheet.hpp"
#include "scenarios/language/axis_values.hpp"
#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

// Inside strings quotes are escaped: the first such text is the member.
const std::string kDocument = ",\"document\":";

const std::string kSeedPointer = "/seed";

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
  throw RunError("Unknown status of a run: \"" + name + "\"; a newer simsgd may have written it.");
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

std::string to_bytes(const RunRow& run) {
  std::string bytes;
  bytes.reserve(run.document.size() + 8192);
  const auto put = [&bytes](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto put_text = [&](const std::string& text) {
    put(text.size());
    bytes += text;
  };
  put(run.whole);
  put(run.metrics.size());
  for (const auto& [name, value] : run.metrics) {
    put_text(name);
    put(value);
  }
  put(run.notes.size());
  for (const std::string& note : run.notes) put_text(note);
  bytes += run.document;
  return bytes;
}

RunRow run_from_bytes(std::string_view bytes) {
  const auto take = [&bytes](auto value) {
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
    return value;
  };
  const auto take_text = [&] {
    const auto size = take(std::size_t{});
    std::string text(bytes.substr(0, size));
    bytes.remove_prefix(size);
    return text;
  };
  RunRow run;
  run.whole = take(false);
  for (std::size_t left = take(std::size_t{}); left > 0; --left) {
    std::string name = take_text();
    run.metrics.emplace_hint(run.metrics.end(), std::move(name), take(0.0));
  }
  for (std::size_t left = take(std::size_t{}); left > 0; --left) run.notes.push_back(take_text());
  run.document = bytes;
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
  const Json json = Json::parse(text.substr(0, at) + "}");
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

OrderedJson coordinates_json(const ResultPoint& point) {
  OrderedJson json = OrderedJson::array();
  const auto add = [&](const std::string& pointer, const std::string& axis, const std::string& label,
                       const OrderedJson& value) -> OrderedJson& {
    json.push_back({{"pointer", pointer}, {"axis", axis}, {"label", label}, {"value", value}});
    return json.back();
  };
  for (const ResultCoordinate& each : point.coordinates) {
    OrderedJson& added = add(each.pointer, each.axis, each.label, each.value);
    if (each.circumstance) added["circumstance"] = *each.circumstance;
  }
  if (point.seed) add(kSeedPointer, axis_label(kSeedPointer), std::to_string(*point.seed), *point.seed);
  // Readers leave out such a point where it did not run.
  if (point.optional && !json.empty()) json.back()["optional"] = true;
  return json;
}

void read_coordinates(const OrderedJson& json, ResultPoint& point) {
  for (const OrderedJson& each : json) {
    const std::string pointer = each.at("pointer");
    const OrderedJson& value = each.at("value");
    point.optional = each.value("optional", false);
    if (pointer == kSeedPointer && value.is_number_integer()) {
      point.seed = value.get<std::int64_t>();
      continue;
    }
    point.coordinates.push_back(
        {each.contains("axis") ? each["axis"].get<std::string>() : axis_label(pointer), pointer,
         each.contains("label") ? each["label"].get<std::string>() : value_label(Json::parse(value.dump())),
         value,
         each.contains("circumstance") ? std::optional(each["circumstance"].get<bool>()) : std::nullopt});
  }
}

OrderedJson to_json(const ResultStudy& study) {
  OrderedJson points = OrderedJson::array();
  for (const ResultPoint& point : study.points)
    points.push_back({{"label", point.label}, {"coordinates", coordinates_json(point)}, {"key", point.key}});
  return {{"id", study.id},
          {"name", study.name},
          {"file", study.file},
          {"axes", study.axes},
          {"points", std::move(points)}};
}

ResultStudy study_from_json(const OrderedJson& json) {
  ResultStudy study{json.at("id"), json.at("name"), json.at("file"), json.at("axes"), {}};
  for (const OrderedJson& each : json.at("points")) {
    ResultPoint& point = study.points.emplace_back();
    point.position = study.points.size() - 1;
    point.label = each.at("label");
    point.key = each.at("key");
    read_coordinates(each.at("coordinates"), point);
  }
  return study;
}

namespace {

// Drawn once; another one would change every key.
constexpr boost::uuids::uuid kNamespace = {
    {0x5d, 0x0e, 0x6a, 0x52, 0x0f, 0x3b, 0x4c, 0x19, 0x9a, 0x77, 0xb2, 0x41, 0xce, 0x83, 0x6d, 0xf4}};

}  // namespace

std::string name_key(const std::string& kind, const std::string& text) {
  return boost::uuids::to_string(boost::uuids::name_generator_sha1(kNamespace)(kind + "\n" + text));
}

std::string run_key(const Json& resolved_scenario, int model_version) {
  // Members of a Json are sorted, and its numbers have one shortest text: equal values give equal bytes.
  return run_key_of_text(resolved_scenario.dump(), model_version);
}

std::string run_key_of_text(const std::string& resolved_scenario, int model_version) {
  return name_key("run", std::to_string(model_version) + "\n" + resolved_scenario);
}

}  // namespace simsgd
