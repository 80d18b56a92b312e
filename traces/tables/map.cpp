#include "traces/tables/map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/reading/input.hpp"

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
  if (!value.json().is_object()) reject(key, "is not an object", "Write {\"name\": ...}");
  return value.json();
}

void check_label(const std::string& name, const std::string& key) {
  if (!is_label_name(name))
    reject(
        key, "cannot be the name of a label",
        "Use letters, digits and \"_\", but not the name of a column such as operation, which has its own key");
}

// Rates by their names, for the sentence.
std::string dimension_text(const std::string& quantity) {
  return quantity.ends_with("_per_s") ? "a rate"
                                      : std::string(dimension_name(dimension_of_quantity(quantity)));
}

std::string_view cell_at(const MapCells& cells, int place) {
  return place < 0 ? std::string_view() : trimmed(cells[static_cast<std::size_t>(place)]);
}

// As numbers where both are.
bool same_cell(std::string_view cell, std::string_view value) {
  double a = 0, b = 0;
  return cell == value || (read_number(cell, a) && read_number(value, b) && a == b);
}

// "5 us" is a number in a unit of its own; "abc" is none.
bool has_own_unit(std::string_view cell) {
  return !cell.empty() && (is_digit(cell[0]) || (cell.size() > 1 && cell[0] == '-' && is_digit(cell[1]))) &&
         cell.find_first_not_of("0123456789.+-eE") != std::string_view::npos;
}

bool read_cell(std::string_view cell, double& value, ImportedFile& file) {
  if (read_number(cell, value)) return true;
  if (cell.empty())
    file.understand("empty cells");
  else
    file.ignore(has_own_unit(cell) ? "cells that contain a unit" : "cells that are not finite numbers");
  return false;
}

/// Rows lack what the constants say: theirs stays otherwise.
void complete_with(const ImportConstants& constants, Measurement& row) {
  if (row.operation.empty()) row.operation = constants.operation;
  if (row.campaign.empty()) row.campaign = constants.campaign;
  if (row.workers == 0) row.workers = constants.workers;
  if (row.nodes == 0) row.nodes = constants.nodes;
  for (const auto& [name, value] : constants.labels) row.labels.emplace(name, value);
}

}  // namespace

void MapValue::fields(Fields& f) {
  f.raw("from", from, place_schema("Where the value stands"));
  f.raw("minus", minus, place_schema("What is subtracted from it, in the same unit: the begin of an end"));
  f.raw(
      "over", over,
      {{"type", {"string", "integer", "array"}},
       {"description",
        "What it is divided by, a column or JSON pointer, or a list of them: a batch over samples a second is a step's time"}});
  f.text("quantity", quantity, "What it is, by a name with its SI unit: time_s, throughput_samples_per_s")
      .required();
  f.text("unit", unit, "Unit that it is written in: us, GB/s, 1").required();
  f.raw("deviation", deviation, place_schema("Its standard deviation or half-width, in the same unit"));
  f.raw("samples", samples, place_schema("How many samples it is the mean of"));
  f.raw("labels", labels, object_schema("What tells it from the other values of its row"));
}

void MapBytes::fields(Fields& f) {
  f.raw("from", from, place_schema("Where the size stands"));
  f.text("unit", unit, "Unit that it is written in: B, KiB, MB").required();
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
  f.raw(
      "labels", labels,
      object_schema(
          "Label: column or JSON pointer, or {\"from\": ..., \"over\": ..., \"times\": 1} for a quotient times a number, rounded to a whole one"));
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
    problem = "is not a whole number of at least 1";
    remedy = "Write " + name + " as 8";
  } else if (is_label_name(name)) {
    constants.labels[name] = printable(value);
    if (name != "batch" || read_count(value, 1, constants.batch)) return true;
    problem = "is not a whole number of at least 1";
    remedy = "Write batch as 32, samples per worker and step";
  } else {
    problem = "is not the name of a constant";
    remedy = "Use operation, workers, nodes, campaign, or a label of letters, digits and \"_\"";
  }
  return problem.empty();
}

Mapping::Mapping(const MapFields& map, bool pointers) : pointers_(pointers) {
  for (std::size_t i = 0; i < map.values.size(); ++i) add_value(map.values[i], fmt::format("values/{}", i));
  if (values_.empty()) reject("values", "is empty", "Name at least one place of a value");
  if (map.bytes) {
    bytes_ = place(map.bytes->from, "bytes/from");
    if (bytes_ < 0) reject("bytes/from", "is missing", pointers ? kPointerRemedy : kPlaceRemedy);
    if (!unit_scale(map.bytes->unit, Dimension::bytes, bytes_scale_))
      reject("bytes/unit", "is not a unit of bytes", "Write a unit such as B, KiB or MB");
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
      if (Json::json_pointer(text).empty()) reject(key, "is not a column or its number", kPointerRemedy);
      return one_more({text, 0, key});
    } catch (const Json::exception&) {
      reject(key, "is not a JSON pointer", kPointerRemedy);
    }
  }
  reject(key, pointers_ ? "is not a JSON pointer" : "is not a column",
         pointers_ ? kPointerRemedy : kPlaceRemedy);
}

std::vector<int> Mapping::places_of(const Json& list, const std::string& key) {
  if (!list.is_array()) return {place(list, key)};
  std::vector<int> places;
  for (const Json& each : list) places.push_back(place(each, key));
  return places;
}

void Mapping::add_value(const MapValue& value, const std::string& key) {
  Value made;
  made.quantity = value.quantity;
  made.from = place(value.from, key + "/from");
  if (made.from < 0) reject(key + "/from", "is missing", pointers_ ? kPointerRemedy : kPlaceRemedy);
  made.minus = place(value.minus, key + "/minus");
  if (value.over.present()) made.over = places_of(value.over.json(), key + "/over");
  made.deviation = place(value.deviation, key + "/deviation");
  made.samples = place(value.samples, key + "/samples");
  if (!is_label_name(value.quantity))
    reject(key + "/quantity", "cannot be the name of a quantity",
           "Use letters, digits and \"_\", with the unit: time_s");
  if (!unit_scale(value.unit, dimension_of_quantity(value.quantity), made.scale))
    reject(
        key + "/unit", fmt::format("is not a unit of {}", dimension_text(value.quantity)),
        value.quantity.ends_with("_per_s") ? "Write a unit such as samples/s"
        : dimension_of_quantity(value.quantity) == Dimension::number
            ? "Write 1 for a number without a unit, or end the quantity's name with its SI unit: time_s"
            : fmt::format("Write the unit of {}", dimension_example(dimension_of_quantity(value.quantity))));
  for (const auto& label : members(value.labels, key + "/labels").items()) {
    const std::string where = key + "/labels/" + label.key(), text = scalar_text(label.value());
    check_label(label.key(), where);
    if (text.empty()) reject(where, "is neither text nor a number", "Write a label such as \"out_of_place\"");
    made.labels[label.key()] = printable(text);
  }
  values_.push_back(std::move(made));
}

void Mapping::add_labels(const RawValue& labels) {
  for (const auto& label : members(labels, "labels").items()) {
    const std::string key = "labels/" + label.key();
    check_label(label.key(), key);
    Label made{label.key(), -1, {}, 1};
    if (!label.value().is_object()) {
      made.from = place(label.value(), key);
    } else {
      const bool scaled = label.value().contains("times");
      if (!label.value().contains("from") || !label.value().contains("over") ||
          label.value().size() != (scaled ? 3 : 2) || (scaled && !label.value().at("times").is_number()))
        reject(key, "is neither a place nor a quotient",
               "Write {\"from\": \"global_batch\", \"over\": \"gpus\"}");
      made.times = scaled ? label.value().at("times").get<double>() : 1;
      made.from = place(label.value().at("from"), key + "/from");
      made.over = places_of(label.value().at("over"), key + "/over");
    }
    labels_.push_back(std::move(made));
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
        reject(key, "is neither a value nor a list of values", "Write \"ring\", 4 or [2, 4]");
      made.admitted.push_back(scalar_text(each));
    }
    filters_.push_back(std::move(made));
  }
}

bool Mapping::admitted(const MapCells& cells) const {
  return std::ranges::all_of(filters_, [&cells](const Filter& filter) {
    const std::string_view cell = cell_at(cells, filter.place);
    return std::ranges::any_of(filter.admitted,
                               [cell](const std::string& value) { return same_cell(cell, value); });
  });
}

bool Mapping::divide(const std::vector<int>& over, const MapCells& cells, double& value,
                     ImportedFile& file) const {
  for (const int place : over) {
    double divisor = 0;
    if (!read_cell(cell_at(cells, place), divisor, file)) return false;
    if (divisor == 0) {
      file.ignore("values divided by 0");
      return false;
    }
    value /= divisor;
  }
  return true;
}

bool Mapping::describe(const MapCells& cells, Measurement& row, ImportedFile& file) const {
  row.operation = printable(std::string(cell_at(cells, operation_)));
  row.campaign = printable(std::string(cell_at(cells, campaign_)));
  for (const Label& label : labels_) {
    const std::string_view cell = cell_at(cells, label.from);
    if (cell.empty()) continue;
    std::string text(cell);
    if (!label.over.empty()) {
      double value = 0;
      if (!read_cell(cell, value, file) || !divide(label.over, cells, value, file)) return false;
      text = fmt::format("{:.0f}", label.times * value);
    }
    row.labels[label.name] = printable(text);
  }
  const auto count = [&cells](int place, int& value) {
    const std::string_view cell = cell_at(cells, place);
    return cell.empty() || read_count(cell, 1, value);
  };
  if (!count(workers_, row.workers) || !count(nodes_, row.nodes)) {
    file.ignore("rows whose workers or nodes are not whole numbers");
    return false;
  }
  const std::string_view size = cell_at(cells, bytes_);
  if (!size.empty() && !read_number(size, row.bytes)) {
    file.ignore("sizes that are not numbers");
    return false;
  }
  row.bytes = in_si(row.bytes, bytes_scale_);
  return true;
}

void Mapping::add(const MapCells& cells, const ImportConstants& constants, std::size_t line,
                  ImportedFile& file) const {
  if (!admitted(cells)) return file.understand("rows that \"where\" excludes");
  Measurement row;
  row.line = line;
  if (!describe(cells, row, file)) return;
  complete_with(constants_, row);
  complete_with(constants, row);
  for (const Value& value : values_) add_one(value, cells, row, file);
}

void Mapping::add_one(const Value& value, const MapCells& cells, Measurement row, ImportedFile& file) const {
  double minus = 0, samples = 0;
  if (!read_cell(cell_at(cells, value.from), row.value, file)) return;
  if (value.minus >= 0 && !read_cell(cell_at(cells, value.minus), minus, file)) return;
  row.value -= minus;
  if (!divide(value.over, cells, row.value, file)) return;
  row.value = in_si(row.value, value.scale);
  row.quantity = value.quantity;
  const std::string_view deviation = cell_at(cells, value.deviation);
  if (!deviation.empty() && read_cell(deviation, row.deviation, file))
    row.deviation = in_si(row.deviation, value.scale);
  if (read_number(cell_at(cells, value.samples), samples) && samples >= 1 && samples < 0x1p53)
    row.samples = static_cast<std::uint64_t>(samples);
  for (const auto& [name, text] : value.labels) row.labels[name] = text;
  file.add(std::move(row));
}

}  // namespace simsgd
