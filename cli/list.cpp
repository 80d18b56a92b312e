// simsgd list: what there is of each kind, from the plug-ins' own tables and the scenario files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "algorithms/registry.hpp"
#include "cli/graphs.hpp"
#include "cli/list_files.hpp"
#include "cli/list_keys.hpp"
#include "cli/networks.hpp"
#include "cli/verbs.hpp"
#include "sim/activities.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/cluster/stragglers/registry.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/distributions/registry.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/models/registry.hpp"
#include "sim/learn/optimizers/registry.hpp"
#include "sim/recording/metrics.hpp"
#include "sim/stacks/stack.hpp"
#include "topologies/graph_registry.hpp"
#include "topologies/registry.hpp"

namespace simsgd {

namespace {

// One thing that can be listed. `details` are lines for `list KIND NAME`.
struct Item {
  std::string name, summary, citation;
  std::vector<std::string> details;
  Json properties = Json::object();
  Json facts{};    // of a graph, what --json adds; null: nothing
  Json numbers{};  // of a file, the same
  Json kernels{};  // of a device, the same
  Json uses{};     // of an algorithm, the same
};

template <class P>
Item item_of(const P& plugin, std::vector<std::string> details = {}) {
  Json form;
  plugin.form(form);
  form["properties"].erase("name");
  const PluginInfo& info = plugin.info;
  return {info.name, info.summary, info.citation, std::move(details), std::move(form["properties"])};
}

template <class Plugins>
std::vector<Item> items_of(const Plugins& plugins) {
  std::vector<Item> items;
  for (const auto& plugin : plugins) items.push_back(item_of(plugin));
  return items;
}

std::vector<Item> algorithms() {
  std::vector<Item> items;
  for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
    std::vector<std::string> traffic, activities, metrics;
    for (const Traffic kind : plugin.uses.sends) traffic.push_back(traffic_name(kind));
    for (const Activity each : plugin.uses.activities) {
      activities.push_back(activity_name(each));
      metrics.push_back(activity_metric(each));
    }
    std::vector<std::string> lines = {"Sends: " + plugin.bytes};
    if (!traffic.empty()) lines.push_back(fmt::format("Kinds of traffic: {}", fmt::join(traffic, ", ")));
    if (!metrics.empty())
      lines.push_back(fmt::format("Spends time of its own on: {}", fmt::join(metrics, ", ")));
    items.push_back(item_of(plugin, std::move(lines)));
    items.back().uses = {{"traffic", traffic}, {"activities", activities}};
  }
  return items;
}

std::vector<Item> schedules() {
  std::vector<Item> items;
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    Item item = item_of(
        plugin, {"Operation: " + op_name(plugin.op), "Time on equal, dedicated links: " + plugin.formula});
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

// With the properties that they have with so many workers. The one that `name` asks for must exist if
// anything is asked of it; the others are described where they can be made.
std::vector<Item> graphs(const std::string& name, const GraphOptions& options) {
  std::vector<Item> items;
  for (const GraphPlugin& plugin : graph_plugins()) {
    Item& item = items.emplace_back(item_of(plugin));
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

std::vector<Item> files(const std::string& folder) {
  std::vector<Item> items;
  for (ListedFile& file : listed_files(folder))
    items.push_back({file.name,
                     file.summary,
                     file.source,
                     std::move(file.lines),
                     Json::object(),
                     {},
                     file.numbers,
                     file.kernels});
  return items;
}

struct ListVerb {
  std::string kind, name;
  bool json = false, dot = false;
  GraphOptions graph;
  std::string cluster;
};

struct Kind {
  std::string name, summary;
  std::function<std::vector<Item>(const ListVerb&)> items;
};

// Of kinds that need no options.
template <class Items>
auto plain(Items items) {
  return [items](const ListVerb&) { return items(); };
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"algorithms", "training methods (\"algorithm\")", plain(algorithms)},
      {"clusters", "cluster files (\"cluster\": {\"use\": ...})", plain([] { return files("clusters"); })},
      {"data", "data sets (\"learner\": {\"data\": ...})", plain([] { return items_of(data_plugins()); })},
      {"devices", "device files (\"cluster\": {\"device\": {\"use\": ...}})",
       plain([] { return files("devices"); })},
      {"distributions", "distributions of delays, compute factors and jitter",
       plain([] { return items_of(distribution_plugins()); })},
      {"graphs", "logical graphs: who averages with whom (\"algorithm\": {\"graph\": ...})",
       [](const ListVerb& verb) { return graphs(verb.name, verb.graph); }},
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
       plain([] { return files("workloads"); })},
  };
  return table;
}

std::string type_text(const Json& schema) {
  if (schema.contains("x-plugin")) return schema.at("x-plugin").get<std::string>();
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
  fmt::print("{}\n  {}\n", printable(item.name), printable(item.summary));
  for (const std::string& line : item.details) fmt::print("  {}\n", printable(line));
  if (!item.citation.empty()) fmt::print("  Source: {}\n", item.citation);
  if (item.properties.empty()) return;
  fmt::print("  Parameters:\n");
  for (const auto& [name, schema] : item.properties.items()) {
    const std::string otherwise =
        schema.contains("default") ? fmt::format(", default {}", schema.at("default").dump()) : "";
    fmt::print("    {} ({}{}): {}\n", name, type_text(schema), otherwise, schema.value("description", ""));
  }
}

[[noreturn]] void unknown(const std::string& what, const std::string& found,
                          const std::vector<std::string>& names) {
  const std::string near = nearest(found, names);
  throw ConfigError(
      InputError{what, "", "is unknown", found,
                 (near.empty() ? "" : "Did you mean " + near + "? ") + "There are " + one_of(names)});
}

Json item_json(const Item& item) {
  Json json = {{"name", item.name},
               {"summary", item.summary},
               {"source", item.citation},
               {"parameters", item.properties}};
  if (!item.facts.is_null()) json["graph"] = item.facts;
  if (!item.numbers.is_null()) json["numbers"] = item.numbers;
  if (!item.kernels.is_null()) json["kernels"] = item.kernels;
  if (!item.uses.is_null()) json["uses"] = item.uses;
  return json;
}

template <class P>
const P* plugin_named(const std::vector<P>& plugins, const std::string& name) {
  const auto found =
      std::find_if(plugins.begin(), plugins.end(), [&](const P& plugin) { return plugin.info.name == name; });
  return found == plugins.end() ? nullptr : &*found;
}

// What the options of graphs and networks ask for; false where there is something left to list.
bool draw(const ListVerb& verb) {
  const bool network = verb.kind == "topologies" && !verb.name.empty() && verb.dot;
  const bool one = (verb.kind == "graphs" && !verb.name.empty()) || network;
  if (!one && (verb.dot || !verb.graph.set.empty()))
    throw ConfigError(InputError{
        verb.dot ? "--dot" : "--set", "",
        verb.dot ? "is about one logical graph or topology" : "is about one logical graph", verb.kind,
        "Write list graphs NAME " +
            std::string(verb.dot ? "--dot, or list topologies NAME --dot" : "--set /key=value")});
  if (!verb.cluster.empty() && !network)
    throw ConfigError(InputError{"--cluster", "", "is about the drawing of a topology", verb.kind,
                                 "Write list topologies NAME --dot --cluster FILE"});
  if (!verb.dot) return false;
  if (network) {
    const TopologyPlugin* plugin = plugin_named(topology_plugins(), verb.name);
    if (plugin == nullptr) return false;
    fmt::print("{}", drawn_network(*plugin, {verb.cluster, verb.graph.workers, verb.graph.set}));
    return true;
  }
  const GraphPlugin* plugin = plugin_named(graph_plugins(), verb.name);
  if (plugin == nullptr) return false;
  fmt::print("{}", to_dot(graph_of(*plugin, verb.graph)));
  return true;
}

void print_items(const std::vector<Item>& items, const ListVerb& verb) {
  std::vector<std::string> names;
  std::size_t width = 0;
  Json all = Json::array();
  for (const Item& item : items) width = std::max(width, item.name.size() + 2);
  bool found = false;
  for (const Item& item : items) {
    names.push_back(item.name);
    const bool asked = item.name == verb.name || std::filesystem::path(item.name).stem() == verb.name;
    if (!verb.name.empty() && !asked) continue;
    found = true;
    if (verb.json)
      all.push_back(item_json(item));
    else if (verb.name.empty())
      fmt::print("{:{}}{}\n", printable(item.name), width, printable(item.summary));
    else
      print_item(item);
  }
  if (verb.json) fmt::print("{}\n", all.dump(2));
  if (!found && !verb.name.empty()) unknown("NAME", verb.name, names);
}

// Neither a kind nor a key: which of either may have been meant.
[[noreturn]] void unknown_kind(const std::string& found) {
  std::vector<std::string> all = list_kinds(), near = keys_like(found);
  for (const std::string& key : key_names()) all.push_back(key);
  if (const std::string whole = nearest(found, all); !whole.empty()) near = {whole};
  throw ConfigError(InputError{"KIND", "", "is unknown", found,
                               (near.empty() ? "" : "Did you mean " + one_of(near) + "? ") + "There are " +
                                   one_of(list_kinds()) + ", and keys of scenario files"});
}

void print_kinds() {
  for (const Kind& kind : kinds()) fmt::print("{:14}{}\n", kind.name, kind.summary);
  fmt::print("{:14}{}\n", "KEY", "a key of scenario files, such as network or cluster/device/memory");
}

int list(const ListVerb& verb) {
  if (draw(verb)) return 0;
  if (verb.kind.empty()) print_kinds();
  for (const Kind& kind : kinds()) {
    if (kind.name != verb.kind) continue;
    print_items(kind.items(verb), verb);
    return 0;
  }
  const std::string key = verb.kind + (verb.name.empty() ? "" : "/" + verb.name);
  if (!key.empty() && !list_key(key, verb.json)) unknown_kind(key);
  return 0;
}

}  // namespace

std::vector<std::string> list_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  return names;
}

void add_list(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("list", "List algorithms, topologies, clusters, metrics, ...");
  auto settings = std::make_shared<ListVerb>();
  verb->add_option("KIND", settings->kind, "What to list, or a key of scenario files; without it, the kinds");
  verb->add_option("NAME", settings->name, "One of them, with its parameters and source");
  verb->add_flag("--json", settings->json, "As JSON");
  verb->add_option("--workers", settings->graph.workers,
                   "Of a logical graph, nodes of a drawn topology; by default 16")
      ->check(CLI::Range(1, 1 << 16));
  verb->add_option("--seed", settings->graph.seed, "Of a logical graph that is drawn at random")
      ->default_val(1);
  verb->add_option("--set", settings->graph.set,
                   "A parameter of a logical graph or drawn topology, /key=value; repeatable")
      ->allow_extra_args(false);
  verb->add_flag("--dot", settings->dot, "Draw a logical graph or a topology: DOT, for Graphviz");
  verb->add_option("--cluster", settings->cluster,
                   "Draw the topology as this cluster file or scenario has it");
  verb->footer(
      "Examples:\n  simsgd list algorithms allreduce_sgd\n  simsgd list cluster/device/memory\n"
      "  simsgd list graphs torus --workers 24 --set /rows=4 --dot | dot -Tsvg > torus.svg\n"
      "  simsgd list topologies fat_tree --dot --set /leaf_nodes=4 | dot -Tsvg > fat_tree.svg");
  verb->callback([settings, &exit_code] { exit_code.value = list(*settings); });
}

}  // namespace simsgd
