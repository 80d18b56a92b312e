// simsgd list: what there is of each kind, from the plug-ins' own tables and the scenario files.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "algorithms/registry.hpp"
#include "cli/verbs.hpp"
#include "scenarios/json_source.hpp"
#include "scenarios/metrics.hpp"
#include "sim/base/distribution_json.hpp"
#include "sim/base/errors.hpp"
#include "sim/cluster/stragglers/registry.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/models/registry.hpp"
#include "topologies/registry.hpp"

namespace simsgd {

namespace {

// One thing that can be listed. `details` are lines for `list KIND NAME`.
struct Item {
  std::string name, summary, citation;
  std::vector<std::string> details;
  Json properties = Json::object();
};

Item item_of(const PluginInfo& info, std::vector<std::string> details = {}) {
  return {info.name, info.summary, info.citation, std::move(details), info.properties};
}

template <class Plugins>
std::vector<Item> items_of(const Plugins& plugins) {
  std::vector<Item> items;
  for (const auto& plugin : plugins) items.push_back(item_of(plugin.info));
  return items;
}

std::vector<Item> algorithms() {
  std::vector<Item> items;
  for (const AlgorithmPlugin& plugin : algorithm_plugins())
    items.push_back(item_of(plugin.info, {"Sends: " + plugin.bytes}));
  return items;
}

std::vector<Item> schedules() {
  std::vector<Item> items;
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    Item item = item_of(plugin.info, {"Operation: " + op_name(plugin.op),
                                      "Time on equal, dedicated links: " + plugin.formula});
    item.summary = op_name(plugin.op) + ": " + item.summary;
    items.push_back(std::move(item));
  }
  return items;
}

std::vector<Item> metric_items() {
  std::vector<Item> items;
  for (const Metric& metric : metrics())
    items.push_back(
        {metric.name, fmt::format("[{}] {}", metric.unit, metric.definition), "", {}, Json::object()});
  return items;
}

std::vector<Item> distributions() {
  std::vector<Item> items;
  for (const DistributionPlugin& plugin : distribution_plugins())
    items.push_back(item_of(plugin.info(DrawUnit::seconds)));
  return items;
}

std::string text_of(const Json& json, const std::string& key) {
  return json.contains(key) && json.at(key).is_string() ? json.at(key).get<std::string>() : "";
}

// The files of a folder of scenarios/, by their own "name" and "source"; the first folder of that name that
// is found.
std::vector<Item> files(const std::string& folder) {
  std::vector<Item> items;
  for (const std::string& directory : search_path(folder, "")) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
      if (entry.path().extension() != ".json") continue;
      std::ifstream stream(entry.path());
      const Json json = Json::parse(stream, nullptr, false, true);
      if (json.is_discarded() || !json.is_object()) continue;
      items.push_back({folder + "/" + entry.path().filename().string(),
                       text_of(json, "name"),
                       text_of(json, "source"),
                       {},
                       Json::object()});
    }
    if (!items.empty()) break;
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.name < b.name; });
  return items;
}

struct Kind {
  std::string name, summary;
  std::function<std::vector<Item>()> items;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"algorithms", "training methods (\"algorithm\")", algorithms},
      {"clusters", "cluster files (\"cluster\": {\"use\": ...})", [] { return files("clusters"); }},
      {"data", "data sets (\"learner\": {\"data\": ...})", [] { return items_of(data_plugins()); }},
      {"devices", "device files (\"cluster\": {\"device\": {\"use\": ...}})",
       [] { return files("devices"); }},
      {"distributions", "distributions of delays, compute factors and jitter", distributions},
      {"metrics", "what a result holds", metric_items},
      {"models", "models that train (\"learner\": {\"model\": ...})",
       [] { return items_of(model_plugins()); }},
      {"schedules", "schedules of collectives (\"network\")", schedules},
      {"stragglers", "what makes workers late (\"stragglers\")",
       [] { return items_of(straggler_plugins()); }},
      {"topologies", "physical networks (\"cluster\": {\"topology\": ...})",
       [] { return items_of(topology_plugins()); }},
      {"workloads", "workload files (\"workload\": {\"use\": ...})", [] { return files("workloads"); }},
  };
  return table;
}

std::string type_text(const Json& schema) {
  if (schema.contains("x-quantity")) return schema.at("x-quantity").get<std::string>();
  if (schema.contains("enum")) {
    std::string names;
    for (const Json& value : schema.at("enum"))
      names += (names.empty() ? "" : " | ") + (value.is_string() ? value.get<std::string>() : value.dump());
    return names;
  }
  if (!schema.contains("type")) return "";
  return schema.at("type").is_string() ? schema.at("type").get<std::string>() : schema.at("type").dump();
}

void print_item(const Item& item) {
  fmt::print("{}\n  {}\n", item.name, item.summary);
  for (const std::string& line : item.details) fmt::print("  {}\n", line);
  if (!item.citation.empty()) fmt::print("  Source: {}\n", item.citation);
  if (item.properties.empty()) return;
  fmt::print("  Parameters:\n");
  for (const auto& [name, schema] : item.properties.items()) {
    const std::string otherwise =
        schema.contains("default") ? fmt::format(", default {}", schema.at("default").dump()) : "";
    fmt::print("    {} ({}{}): {}\n", name, type_text(schema), otherwise, schema.value("description", ""));
  }
}

struct ListVerb {
  std::string kind, name;
  bool json = false;
};

[[noreturn]] void unknown(const std::string& what, const std::string& found,
                          const std::vector<std::string>& names) {
  const std::string near = nearest(found, names);
  throw ConfigError(
      InputError{what, "", "is unknown", found,
                 (near.empty() ? "" : "Did you mean " + near + "? ") + "There are " + one_of(names)});
}

Json item_json(const Item& item) {
  return {{"name", item.name},
          {"summary", item.summary},
          {"source", item.citation},
          {"parameters", item.properties}};
}

int list(const ListVerb& verb) {
  if (verb.kind.empty()) {
    for (const Kind& kind : kinds()) fmt::print("{:14}{}\n", kind.name, kind.summary);
    return 0;
  }
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) {
    names.push_back(kind.name);
    if (kind.name != verb.kind) continue;
    std::vector<std::string> items;
    Json all = Json::array();
    bool found = false;
    std::size_t width = 0;
    for (const Item& item : kind.items()) width = std::max(width, item.name.size() + 2);
    for (const Item& item : kind.items()) {
      items.push_back(item.name);
      if (!verb.name.empty() && item.name != verb.name) continue;
      found = true;
      if (verb.json)
        all.push_back(item_json(item));
      else if (verb.name.empty())
        fmt::print("{:{}}{}\n", item.name, width, item.summary);
      else
        print_item(item);
    }
    if (verb.json) fmt::print("{}\n", all.dump(2));
    if (!found && !verb.name.empty()) unknown("NAME", verb.name, items);
    return 0;
  }
  unknown("KIND", verb.kind, names);
}

}  // namespace

void add_list(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("list", "List algorithms, topologies, clusters, metrics, ...");
  auto settings = std::make_shared<ListVerb>();
  verb->add_option("KIND", settings->kind, "What to list; without it, the kinds");
  verb->add_option("NAME", settings->name, "One of them, with its parameters and source");
  verb->add_flag("--json", settings->json, "As JSON");
  verb->footer("Example:\n  simsgd list algorithms allreduce_sgd");
  verb->callback([settings, &exit_code] { exit_code.value = list(*settings); });
}

}  // namespace simsgd
