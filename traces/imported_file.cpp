#include "traces/imported_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/field.hpp"
#include "sim/base/printable.hpp"
#include "traces/reading/input.hpp"

namespace simsgd {

namespace {

constexpr double kMostBytes = 0x1p63;

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  hash ^= hash >> 29U;
}

void mix(std::uint64_t& hash, std::string_view text) { mix(hash, std::hash<std::string_view>{}(text)); }

std::uint64_t point_key(const Measurement& row) {
  std::uint64_t hash = 1, bytes = 0;
  static_assert(sizeof bytes == sizeof row.bytes);
  std::memcpy(&bytes, &row.bytes, sizeof bytes);
  mix(hash, bytes);
  mix(hash, (static_cast<std::uint64_t>(row.workers) << 32U) ^ static_cast<std::uint64_t>(row.nodes));
  mix(hash, row.quantity);
  mix(hash, row.operation);
  mix(hash, row.campaign);
  for (const auto& [name, value] : row.labels) {
    mix(hash, name);
    mix(hash, value);
  }
  return hash;
}

}  // namespace

Dimension dimension_of_quantity(std::string_view quantity) {
  constexpr std::pair<std::string_view, Dimension> kSuffixes[] = {
      {"_per_s", Dimension::number},     {"_per_step", Dimension::number}, {"_s", Dimension::time_s},
      {"_bytes", Dimension::bytes},      {"_Bps", Dimension::rate_Bps},    {"_flop", Dimension::flop},
      {"_flops", Dimension::rate_flops}, {"_W", Dimension::power_W}};
  for (const auto& [suffix, dimension] : kSuffixes)
    if (quantity.ends_with(suffix)) return dimension;
  return Dimension::number;
}

bool is_label_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || is_digit(c); }) &&
         !is_measurement_column(name);
}

bool SeenPoints::seen(const Measurement& row) { return !points_.insert(point_key(row)).second; }

bool ImportedFile::possible(const Measurement& row) {
  const bool sized = !std::isnan(row.bytes),
             number = dimension_of_quantity(row.quantity) == Dimension::number;
  const char* problem = nullptr;
  if (!std::isfinite(row.value))
    problem = "values that are not finite numbers";
  else if ((row.value < 0 && (!number || row.quantity.ends_with("_per_s"))) || (sized && row.bytes < 0))
    problem = "negative times, sizes or rates";
  else if (sized && !(row.bytes < kMostBytes))
    problem = "sizes of 2^63 bytes or more";
  if (problem != nullptr) ignore(problem);
  return problem == nullptr;
}

void ImportedFile::complete(Measurement& row) {
  const auto settle = [this](auto& own, const auto& said, const auto& none, const char* key) {
    if (said == none || own == said) return;
    if (own == none)
      own = said;
    else
      ignore(std::string("values of ") + key + " in --set that rows contradict; the rows' values are kept");
  };
  settle(row.operation, constants_.operation, std::string(), "operation");
  settle(row.campaign, constants_.campaign, std::string(), "campaign");
  settle(row.workers, constants_.workers, 0, "workers");
  settle(row.nodes, constants_.nodes, 0, "nodes");
  for (const auto& [name, value] : constants_.labels) {
    const auto [label, added] = row.labels.emplace(name, value);
    if (!added && label->second != value)
      ignore("values of " + name + " in --set that rows contradict; the rows' values are kept");
  }
}

void ImportedFile::expect(double fraction_read) {
  constexpr std::size_t kEnough = 4096;
  if (rows.size() < kEnough || rows.size() > kEnough + 8 || !(fraction_read > 0)) return;
  rows.reserve(
      std::min(most_rows, static_cast<std::size_t>(1.02 * static_cast<double>(rows.size()) / fraction_read)));
}

void ImportedFile::add(Measurement row) {
  if (!possible(row)) return;
  if (rows.size() == most_rows)
    throw ConfigError({name_, "", fmt::format("holds more than {} measurements", most_rows), "",
                       "Split it into several files, and import each by itself"});
  complete(row);
  if (row.source.empty()) row.source = name_;
  if (!(row.deviation >= 0)) row.deviation = kNotGiven;  // nor does it measure anything where it is negative
  if (seen_.seen(row)) understand("points that appear more than once; all are kept");
  ++report.rows;
  rows.push_back(std::move(row));
}

std::string network_name(const std::string& file, std::initializer_list<std::string_view> endings) {
  std::string name = file.substr(file.rfind('/') + 1);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const std::string_view ending : endings)
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
      break;
    }
  return printable(name);
}

int settled_batch(ImportedFile& file, int told) {
  const int set = file.constants().batch;
  if (set == 0) return told;
  if (told > 0 && told != set)
    file.ignore(fmt::format("values of batch in --set that replace the file's {}", told));
  return set;
}

void per_sample(RecordedLayer& layer, int batch) {
  layer.activations /= batch;
  if (layer.type != "conv" && layer.type != "fc") return;
  for (const std::vector<double>& tensor : layer.tensors)
    if (tensor.size() == 2) {
      layer.forward_flop = 2 * tensor[1] * layer.activations;
      return;
    }
}

void add_pass_times(ImportedFile& file, const RecordedWorkload& network) {
  const auto add = [&](const char* quantity, double seconds) {
    if (!(seconds > 0)) return;
    file.add({.quantity = quantity, .workers = 1, .value = seconds, .labels = {{"workload", network.name}}});
  };
  add("forward_s", network.forward_s());
  add("backward_s", network.backward_s());
}

namespace {

double sum_of_given(const std::vector<RecordedLayer>& layers, double RecordedLayer::*time) {
  double sum = 0;
  for (const RecordedLayer& layer : layers)
    if (!std::isnan(layer.*time)) sum += layer.*time;
  return sum;
}

OrderedJson number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::fabs(value) < kExact) return static_cast<std::int64_t>(value);
  return value;
}

OrderedJson layer_json(const RecordedLayer& layer) {
  OrderedJson json = {{"name", layer.name}, {"type", layer.type}, {"tensors", OrderedJson::array()}};
  for (const std::vector<double>& shape : layer.tensors) {
    if (shape.size() == 1) {
      json["tensors"].push_back(number(shape[0]));
    } else {
      OrderedJson matrix = OrderedJson::array();
      for (const double side : shape) matrix.push_back(number(side));
      json["tensors"].push_back(std::move(matrix));
    }
  }
  const auto put = [&json](const char* key, double value) {
    if (!std::isnan(value)) json[key] = number(value);
  };
  put("forward", layer.forward_s);
  put("backward", layer.backward_s);
  put("forward_flop", layer.forward_flop);
  put("activations", layer.activations);
  return json;
}

std::string text_of_json(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

double RecordedWorkload::parameters() const {
  double sum = 0;
  for (const RecordedLayer& layer : layers)
    for (const std::vector<double>& shape : layer.tensors) {
      double numbers = 1;
      for (const double side : shape) numbers *= side;
      sum += numbers;
    }
  return sum;
}

double RecordedWorkload::forward_s() const { return sum_of_given(layers, &RecordedLayer::forward_s); }
double RecordedWorkload::backward_s() const { return sum_of_given(layers, &RecordedLayer::backward_s); }

std::string workload_file(const RecordedWorkload& workload, const std::string& file) {
  if (workload.layers.empty())
    throw ConfigError({file, "", "contains no layer of a network", "", "Leave out --workload"});
  if (workload.batch < 1)
    throw ConfigError({file, "", "does not say the batch of the workload", "",
                       "Give it with --set batch=32, samples per worker and step"});
  std::string text = fmt::format("{{\n  \"name\": {},\n  \"source\": {},\n  \"batch\": {},\n",
                                 text_of_json(workload.name), text_of_json(workload.source), workload.batch);
  if (workload.forward_s() + workload.backward_s() > 0) {
    text += fmt::format("  \"layer_times_batch\": {},\n", workload.batch);
    if (!workload.device.empty())
      text += fmt::format("  \"measured_on\": {},\n", text_of_json(workload.device));
  }
  if (workload.forward_gap_s + workload.backward_gap_s > 0)
    text += fmt::format("  \"host_gap\": {},\n", text_of_json({{"forward", workload.forward_gap_s},
                                                               {"backward", workload.backward_gap_s}}));
  text += "  \"layers\": [";
  const char* separator = "\n    ";
  for (const RecordedLayer& layer : workload.layers) {
    text += separator + text_of_json(layer_json(layer));
    separator = ",\n    ";
  }
  return text + "\n  ]\n}\n";
}

std::string straggler_file(std::vector<RecordedStep> steps) {
  std::ranges::stable_sort(steps, [](const RecordedStep& a, const RecordedStep& b) {
    return std::tie(a.worker, a.step) < std::tie(b.worker, b.step);
  });
  std::string text = "worker,step,compute_s\n";
  for (const RecordedStep& step : steps)
    text += fmt::format("{},{},{}\n", step.worker, step.step, step.compute_s);
  return text;
}

}  // namespace simsgd
