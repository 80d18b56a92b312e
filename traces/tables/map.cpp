#include "traces/tables/map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/reading/text.hpp"
#include "traces/reading/units_of_text.hpp"

namespace simsgd {

namespace {

const char* const kPlaceRemedy = "Give the name of a column, or its number from 1";
const char* const kPointerRemedy = "Give a JSON pointer into the record, such as \"/time_ms\"";

Json place_schema(const char* meaning) {
  return {{"type", {"string", "integer"}},
          {"description", std::string(meaning) + ": column or JSON pointer"}};
}

Json object_schema(const char* meaning) { return {{"type", "object"}, {"description", meaning}}; }

const Json& members(const RawValue& value, const std::string& key) {
  static const Json kNone = Json::object();
  if (!value.present()) return kNone;
  if (!value.json().is_object()) reject(key, "is no object", "Write {\"name\": ...}");
  return value.json();
}

void check_label(const std::string& name, const std::string& key) {
  if (!is_label_name(name))
    reject(
        key, "is no name of a label",
        "Use letters, digits and \"_\", and none of the names of columns: operation and the like have keys of their own");
}

// Rates by their names, for the sentence.
std::string dimension_text(const std::string& quantity) {
  return quantity.ends_with("_per_s") ? "a rate"
                                      : std::string(dimension_name(dimension_of_quantity(quantity)));
}

}  // namespace

std::string MapPlace::text() const { return number > 0 ? std::to_string(number) : name; }

void MapValue::fields(Fields& f) {
  f.raw("from", from, place_schema("Where the value stands"));
  f.raw("minus", minus, place_schema("What is subtracted from it, in the same unit: the begin of an end"));
  f.text("quantity", quantity, "What it is, by a name with its SI unit: time_s, throughput_samples_per_s")
      .required();
  f.text("unit", unit, "That it is written in: us, GB/s, 1").required();
  f.raw("deviation", deviation, place_schema("Its standard deviation or half-width, in the same unit"));
  f.raw("samples", samples, place_schema("How many samples it is the mean of"));
  f.raw("labels", labels, object_schema("What tells it from the other values of its row"));
}

void MapBytes::fields(Fields& f) {
  f.raw("from", from, place_schema("Where the size stands"));
  f.text("unit", unit, "That it is written in: B, KiB, MB").required();
  f.number("times", times, "What it is multiplied by: bytes of an element where elements are counted")
      .above(0);
}

void MapFields::fields(Fields& f) {
  f.objects("values", values, "The quantities that each row holds", "One of them").required().least_items(1);
  f.object("bytes", bytes, "Size of what is sent or reduced");
  f.raw("operation", operation, place_schema("Name of the collective"));
  f.raw("workers", workers, place_schema("How many ranks took part"));
  f.raw("nodes", nodes, place_schema("How many machines they were on"));
  f.raw("campaign", campaign, place_schema("What names the campaign of measurement"));
  f.raw("labels", labels, object_schema("Label: column or JSON pointer"));
  f.raw("constants", constants,
        object_schema("What no column tells: operation, workers, nodes, campaign, or a label"));
  f.raw("where", where, object_schema("Column or JSON pointer: the value, or values, of rows that count"));
}

std::string scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_integer()) return value.dump();
  return value.is_number() ? fmt::format("{}", value.get<double>()) : std::string();
}

bool set_constant(ImportConstants& constants, const std::string& name, const std::string& value,
                  std::string& problem, std::string& remedy) {
  if (value.empty()) {
    problem = "is empty";
    remedy = "Give a value, or leave it out";
  } else if (name == "operation") {
    constants.operation = value;
  } else if (name == "campaign") {
    constants.campaign = value;
  } else if (name == "workers" || name == "nodes") {
    if (read_count(value, 1, name == "workers" ? constants.workers : constants.nodes)) return true;
    problem = "is no whole number of at least 1";
    remedy = "Write " + name + " as 8";
  } else if (is_label_name(name)) {
    constants.labels[name] = printable(value);
    if (name != "batch" || read_count(value, 1, constants.batch)) return true;
    problem = "is no whole number of at least 1";
    remedy = "Write batch as 32, samples per worker and step";
  } else {
    problem = "is no name of a constant";
    remedy = "Use operation, workers, nodes, campaign, or a label of letters, digits and \"_\"";
  }
  return problem.empty();
}

void complete_with(const ImportConstants& constants, Measurement& row) {
  if (row.operation.empty()) row.operation = constants.operation;
  if (row.campaign.empty()) row.campaign = constants.campaign;
  if (row.workers == 0) row.workers = constants.workers;
  if (row.nodes == 0) row.nodes = constants.nodes;
  for (const auto& [name, value] : constants.labels) row.labels.emplace(name, value);
}

Mapping::Mapping(const MapFields& map, bool pointers) : pointers_(pointers) {
  for (std::size_t i = 0; i < map.values.size(); ++i) add_value(map.values[i], fmt::format("values/{}", i));
  if (values_.empty()) reject("values", "is empty", "Say at least once where a value stands");
  if (map.bytes) {
    bytes_ = place(map.bytes->from, "bytes/from");
    if (bytes_ < 0) reject("bytes/from", "is missing", pointers ? kPointerRemedy : kPlaceRemedy);
    if (!unit_scale(map.bytes->unit, Dimension::bytes, bytes_scale_))
      reject("bytes/unit", "is no unit of bytes", "Write B, KiB, MB or the like");
    bytes_scale_ *= map.bytes->times;
  }
  operation_ = place(map.operation, "operation");
  campaign_ = place(map.campaign, "campaign");
  workers_ = place(map.workers, "workers");
  nodes_ = place(map.nodes, "nodes");
  add_labels(map.labels);
  add_constants(map.constants);
  add_filters(map.where);
}

int Mapping::one_more(MapPlace found) {
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].name == found.name && places_[i].number == found.number) return static_cast<int>(i);
  places_.push_back(std::move(found));
  return static_cast<int>(places_.size()) - 1;
}

int Mapping::place(const RawValue& value, const std::string& key) {
  return value.present() ? place(value.json(), key) : -1;
}

int Mapping::place(const Json& value, const std::string& key) {
  if (value.is_number_integer() && !pointers_) {
    if (value >= 1 && value <= 1000000) return one_more({"", value.get<int>(), key});
  } else if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
    const auto& text = value.get_ref<const std::string&>();
    if (!pointers_) return one_more({text, 0, key});
    try {
      if (Json::json_pointer(text).empty()) reject(key, "is no place in the record", kPointerRemedy);
      return one_more({text, 0, key});
    } catch (const Json::exception&) {
      reject(key, "is no JSON pointer", kPointerRemedy);
    }
  }
  reject(key, pointers_ ? "is no JSON pointer" : "is no column", pointers_ ? kPointerRemedy : kPlaceRemedy);
}

void Mapping::add_value(const MapValue& value, const std::string& key) {
  Value made;
  made.quantity = value.quantity;
  made.from = place(value.from, key + "/from");
  if (made.from < 0) reject(key + "/from", "is missing", pointers_ ? kPointerRemedy : kPlaceRemedy);
  made.minus = place(value.minus, key + "/minus");
  made.deviation = place(value.deviation, key + "/deviation");
  made.samples = place(value.samples, key + "/samples");
  if (!is_label_name(value.quantity))
    reject(key + "/quantity", "is no name of a quantity",
           "Use letters, digits and \"_\", with the unit: time_s");
  if (!unit_scale(value.unit, dimension_of_quantity(value.quantity), made.scale))
    reject(
        key + "/unit", fmt::format("is no unit of {}", dimension_text(value.quantity)),
        value.quantity.ends_with("_per_s") ? "Write samples/s or the like"
        : dimension_of_quantity(value.quantity) == Dimension::number
            ? "Write 1 for a number without a unit, or end the quantity's name with its SI unit: time_s"
            : fmt::format("Write the unit of {}", dimension_example(dimension_of_quantity(value.quantity))));
  for (const auto& label : members(value.labels, key + "/labels").items()) {
    const std::string where = key + "/labels/" + label.key(), text = scalar_text(label.value());
    check_label(label.key(), where);
    if (text.empty()) reject(where, "is no text or number", "Write \"out_of_place\" or the like");
    made.labels[label.key()] = printable(text);
  }
  values_.push_back(std::move(made));
}

void Mapping::add_labels(const RawValue& labels) {
  for (const auto& label : members(labels, "labels").items()) {
    check_label(label.key(), "labels/" + label.key());
    labels_.emplace_back(label.key(), place(label.value(), "labels/" + label.key()));
  }
}

void Mapping::add_constants(const RawValue& constants) {
  for (const auto& constant : members(constants, "constants").items()) {
    std::string problem, remedy;
    if (!set_constant(constants_, constant.key(), scalar_text(constant.value()), problem, remedy))
      reject("constants/" + constant.key(), problem, remedy);
  }
}

void Mapping::add_filters(const RawValue& where) {
  for (const auto& filter : members(where, "where").items()) {
    const std::string key = "where/" + filter.key();
    Filter made;
    int number = 0;
    const bool by_number = !pointers_ && read_count(filter.key(), 1, number);
    made.place = by_number ? place(Json(number), key) : place(Json(filter.key()), key);
    const Json list = filter.value().is_array() ? filter.value() : Json::array({filter.value()});
    for (const Json& each : list) {
      if (each.is_structured() || each.is_null())
        reject(key, "is no value, and no list of values", "Write \"ring\", 4 or [2, 4]");
      made.admitted.push_back(scalar_text(each));
    }
    filters_.push_back(std::move(made));
  }
}

}  // namespace simsgd
