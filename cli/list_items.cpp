#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/list.hpp"
#include "results/text_table.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/reference.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/cluster/stragglers/registry.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/distributions/registry.hpp"
#include "sim/learn/codec.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/models/registry.hpp"
#include "sim/learn/optimizers/registry.hpp"
#include "sim/plugin.hpp"
#include "sim/record.hpp"
#include "sim/recording/metrics.hpp"
#include "sim/stacks/stack.hpp"
#include "topologies/topology.hpp"

namespace simsgd {

namespace {

template <class P>
ListedItem item_of(const P& plugin, std::vector<std::string> details = {}) {
  Json form;
  plugin.form(form);
  form["properties"].erase("name");
  const PluginInfo& info = plugin.info;
  return {info.name, info.summary, info.citation, std::move(details), std::move(form["properties"])};
}

template <class Plugins>
std::vector<ListedItem> items_of(const Plugins& plugins) {
  std::vector<ListedItem> items;
  for (const auto& plugin : plugins) items.push_back(item_of(plugin));
  return items;
}

std::vector<ListedItem> algorithms() {
  std::vector<ListedItem> items;
  for (const AlgorithmPlugin& plugin : training_methods()) {
    std::vector<std::string> traffic, activities, metrics;
    for (const Traffic kind : plugin.uses.sends) traffic.push_back(traffic_name(kind));
    for (const Activity each : plugin.uses.activities) {
      activities.push_back(activity_name(each));
      metrics.push_back(activity_metric(each));
    }
    std::vector<std::string> lines = {"Sends: " + plugin.bytes};
    if (!traffic.empty()) lines.push_back(fmt::format("Kinds of traffic: {}", fmt::join(traffic, ", ")));
    if (!metrics.empty()) lines.push_back(fmt::format("Also spends time on: {}", fmt::join(metrics, ", ")));
    if (!plugin.library.empty()) lines.push_back("From the library " + plugin.library);
    items.push_back(item_of(plugin, std::move(lines)));
    items.back().uses = {{"traffic", traffic}, {"activities", activities}};
  }
  return items;
}

std::vector<ListedItem> schedules() {
  std::vector<ListedItem> items;
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    ListedItem item = item_of(
        plugin, {"Operation: " + op_name(plugin.op), "Time on equal, dedicated links: " + plugin.formula});
    item.summary = op_name(plugin.op) + ": " + item.summary;
    items.push_back(std::move(item));
  }
  return items;
}

std::vector<ListedItem> metric_items() {
  std::vector<ListedItem> items;
  for (const Metric& metric : metrics())
    items.push_back(
        {metric.name, fmt::format("[{}] {}", metric.unit, metric.definition), "", {}, Json::object()});
  return items;
}

// With the properties that they have with so many workers. The one that `name` asks for must exist if
// anything is asked of it; the others are described where they can be made.
std::vector<ListedItem> graphs(const std::string& name, const GraphOptions& options) {
  std::vector<ListedItem> items;
  for (const GraphPlugin& plugin : graph_plugins()) {
    ListedItem& item = items.emplace_back(item_of(plugin));
    if (!name.empty() && plugin.info.name != name) continue;
    const bool must_exist = !name.empty() && (options.workers > 0 || !options.set.empty());
    const std::optional<LogicalGraph> graph =
        must_exist ? graph_of(plugin, options) : example_of(plugin, options);
    if (!graph) continue;
    item.facts = graph_facts(*graph);
    item.details = graph_lines(item.facts);
  }
  return items;
}

std::string text_at(const Json& json, const std::string& key) {
  return json.contains(key) && json.at(key).is_string() ? json.at(key).get<std::string>() : "";
}

/// Of a tensor as a file has it: a size, or rows and columns.
double parameters_of(const Json& tensor) {
  return tensor.is_array() ? tensor.at(0).get<double>() * tensor.at(1).get<double>() : tensor.get<double>();
}

double sum_of(const Json& layers, const std::string& key) {
  double sum = 0;
  for (const Json& layer : layers) {
    if (!layer.contains(key)) continue;
    const Json& value = layer.at(key);
    if (value.is_number()) sum += value.get<double>();
    if (value.is_string()) sum += parse_quantity(value.get<std::string>(), Dimension::flop).value;
    for (const Json& tensor : value.is_array() ? value : Json::array()) sum += parameters_of(tensor);
  }
  return sum;
}

/// What a workload file says, its layers summed up.
Json workload_numbers(const Json& file) {
  Json numbers = file;
  const Json layers = file.value("layers", Json::array());
  numbers.erase("layers");
  numbers["layers"] = layers.size();
  numbers["parameters"] = sum_of(layers, "tensors");
  numbers["forward_flop_per_sample"] = sum_of(layers, "forward_flop");
  numbers["activations_per_sample"] = sum_of(layers, "activations");
  return numbers;
}

std::string one_device_line(const Json& time) {
  if (time.contains("step_cost"))
    return fmt::format("one device: {}, by samples: {} ({})", text_at(time, "device"),
                       time["step_cost"].dump(), text_at(time, "source"));
  const std::string step = time.contains("samples_per_s") ? time["samples_per_s"].dump() + " samples/s"
                           : time["forward_backward"].is_string()
                               ? time["forward_backward"].get<std::string>()
                               : time["forward_backward"].dump() + " s";
  return fmt::format("one device: {}, batch {}: {} ({})", text_at(time, "device"), time["batch"].dump(), step,
                     text_at(time, "source"));
}

std::string plain_text(const Json& value) {
  return value.is_number()   ? human_number(value.get<double>())
         : value.is_string() ? value.get<std::string>()
                             : value.dump();
}

bool is_table(const Json& value) { return value.is_array() && !value.empty() && value.at(0).is_object(); }

std::string cell_text(const Json& object, const std::string& key) {
  if (!object.contains(key)) return "";
  const Json& value = object.at(key);
  return value.is_number() ? fmt::format("{:.4g}", value.get<double>()) : plain_text(value);
}

/// What a row is of comes first, then its value; what else there is in the order in which it comes up.
std::vector<std::string> columns_of(const Json& objects) {
  std::vector<std::string> keys;
  const auto add = [&keys](const std::string& key) {
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  };
  for (const char* first : {"pointer", "file", "schedule", "name", "value", "low", "high"})
    for (const Json& object : objects)
      if (object.contains(first)) add(first);
  for (const Json& object : objects)
    for (const auto& member : object.items()) add(member.key());
  return keys;
}

/// Objects as rows, their keys as columns.
void add_table(const Json& objects, const std::string& title, std::vector<std::string>& lines) {
  const std::vector<std::string> keys = columns_of(objects);
  TextTable table;
  table.rows.push_back(keys);
  table.rows.front().front() = "    " + keys.front();
  for (const Json& object : objects) {
    table.rows.emplace_back();
    for (const std::string& key : keys) table.rows.back().push_back(cell_text(object, key));
    table.rows.back().front().insert(0, "    ");
  }
  lines.push_back(title + ":");
  std::istringstream rows(table.text());
  for (std::string line; std::getline(rows, line);) lines.push_back(line);
}

/// " B/s" behind a number that the reference gives a unit; empty for a text, which has its own.
std::string unit_of(const std::string& pointer, const Json& value) {
  static const auto units = [] {
    std::map<std::string, std::string> all;
    for (const ReferenceObject& object : reference())
      for (const ReferenceKey& key : object.keys)
        if (!key.unit.empty()) all.emplace(key.pointer, " " + key.unit);
    return all;
  }();
  const auto unit = value.is_number() ? units.find(pointer) : units.end();
  return unit == units.end() ? "" : unit->second;
}

/// "nic/bandwidth: 1 Gbps", for everything but names and sources; `at`: the pointer of the outermost object.
void add_lines(const Json& object, const std::string& at, const std::string& above,
               std::vector<std::string>& lines) {
  for (const auto& [key, value] : object.items()) {
    if (above.empty() && (key == "name" || key == "source")) continue;
    const std::string path = above + key;
    if (key == "one_device") {
      for (const Json& time : value) lines.push_back(one_device_line(time));
    } else if (value.is_object()) {
      add_lines(value, at, path + "/", lines);
    } else if (key == "draws") {
      lines.push_back(fmt::format("{}: {}", path, value.size()));
    } else if (is_table(value)) {
      add_table(value, path, lines);
    } else if (value.is_number() && std::abs(value.get<double>()) < 1e-3 && value != 0) {
      lines.push_back(fmt::format("{}: {:g}{}", path, value.get<double>(), unit_of(at + path, value)));
    } else if (key != "source") {
      lines.push_back(fmt::format("{}: {}{}", path, plain_text(value), unit_of(at + path, value)));
    }
  }
}

std::optional<Device> device_of(const Json& json) {
  try {
    auto device = options_of<Device>(json);
    device.complete();
    return device;
  } catch (const ParameterError&) {
    return std::nullopt;  // a file that is wrong is listed as it is; `simsgd check` says what is wrong
  }
}

/// What its kernels take, by their laws and for some sizes.
void add_kernels(const Json& json, ListedItem& file) {
  const std::optional<Device> device = device_of(json);
  if (!device) return;
  const std::vector<KernelDescription> kernels = describe_kernels(*device);
  TextTable table;
  for (const KernelDescription& kernel : kernels)
    for (const auto& [size, seconds] : kernel.samples)
      table.rows.push_back({"    " + size, human_time(seconds)});
  std::istringstream rows(table.text());
  file.kernels = Json::array();
  file.details.emplace_back("kernels, at nominal speed:");
  for (const KernelDescription& kernel : kernels) {
    file.details.push_back(fmt::format("  {}: {}", kernel.name, kernel.law));
    Json samples = Json::array(), unknown = Json::array();
    for (const auto& [size, seconds] : kernel.samples) {
      std::getline(rows, file.details.emplace_back());
      samples.push_back({{"size", size}, {"time_s", seconds}});
    }
    for (const UnknownCost& cost : unknown_costs(*device, kernel.kernel)) unknown.push_back(cost.key);
    file.kernels.push_back(
        {{"name", kernel.name}, {"law", kernel.law}, {"samples", samples}, {"unknown", unknown}});
  }
}

/// Nothing where the file holds no object.
std::optional<ListedItem> listed_file(const std::filesystem::path& path, const std::string& folder,
                                      const std::string& name) {
  std::ifstream stream(path);
  Json json = Json::parse(stream, nullptr, false, true);
  if (json.is_discarded() || !json.is_object()) return std::nullopt;
  json.erase("$schema");
  ListedItem file{name, text_at(json, "name"), text_at(json, "source")};
  file.numbers = folder == "workloads" ? workload_numbers(json) : json;
  const char* const at = folder == "clusters"  ? "/cluster/"
                         : folder == "devices" ? "/cluster/device/"
                                               : "/workload/";
  add_lines(file.numbers, at, "", file.details);
  if (folder == "devices") add_kernels(json, file);
  return file;
}

/// The files of a folder of scenarios/, the first of that name that is found, by name; and a file of the
/// user's own, where `asked` is the path of one.
std::vector<ListedItem> files(const std::string& folder, const std::string& asked) {
  std::vector<ListedItem> files;
  std::error_code none;
  for (const std::string& directory : search_path(folder, "")) {
    for (const auto& entry : std::filesystem::directory_iterator(directory, none))
      if (entry.path().extension() == ".json")
        if (auto file = listed_file(entry.path(), folder, folder + "/" + entry.path().filename().string()))
          files.push_back(std::move(*file));
    if (!files.empty()) break;
  }
  const bool shipped = std::ranges::any_of(files, [&](const auto& each) { return each.name == asked; });
  if (!shipped && asked.ends_with(".json") && std::filesystem::is_regular_file(asked, none))
    if (auto file = listed_file(asked, folder, asked)) files.push_back(std::move(*file));
  std::ranges::sort(files, [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

// Of kinds that need no options.
template <class Items>
auto plain(Items items) {
  return [items](const std::string&, const GraphOptions&) { return items(); };
}

}  // namespace

const std::vector<ListedKind>& listed_kinds() {
  static const std::vector<ListedKind> table = {
      {"algorithms", "training methods (\"algorithm\")", plain(algorithms)},
      {"clusters", "cluster files (\"cluster\": {\"use\": ...})",
       [](const std::string& name, const GraphOptions&) { return files("clusters", name); }},
      {"codecs", "how a message travels in fewer bits (\"algorithm\": {\"codec\": ...})",
       plain([] { return items_of(codec_plugins()); })},
      {"data", "data sets (\"learner\": {\"data\": ...})", plain([] { return items_of(data_plugins()); })},
      {"devices", "device files (\"cluster\": {\"device\": {\"use\": ...}})",
       [](const std::string& name, const GraphOptions&) { return files("devices", name); }},
      {"distributions", "distributions of delays, compute factors and jitter",
       plain([] { return items_of(distribution_plugins()); })},
      {"graphs", "logical graphs: who averages with whom (\"algorithm\": {\"graph\": ...})", graphs},
      {"metrics", "what a result holds", plain(metric_items)},
      {"models", "models that train (\"learner\": {\"model\": ...})",
       plain([] { return items_of(model_plugins()); })},
      {"optimizers", "how a gradient changes the model (\"optimizer\")",
       plain([] { return items_of(optimizer_plugins()); })},
      {"schedules", "schedules of collectives (\"network\")", plain(schedules)},
      {"stacks", "communication libraries (\"cluster\": {\"stack\": ...})",
       plain([] { return items_of(stack_plugins()); })},
      {"stragglers", "what makes workers late (\"stragglers\")",
       plain([] { return items_of(straggler_plugins()); })},
      {"topologies", "physical networks (\"cluster\": {\"topology\": ...})",
       plain([] { return items_of(topology_plugins()); })},
      {"workloads", "workload files (\"workload\": {\"use\": ...})",
       [](const std::string& name, const GraphOptions&) { return files("workloads", name); }},
  };
  return table;
}

std::vector<std::string> list_kinds() {
  std::vector<std::string> names;
  for (const ListedKind& kind : listed_kinds()) names.push_back(kind.name);
  return names;
}

}  // namespace simsgd
