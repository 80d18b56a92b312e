#include "cli/list_items.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/list_files.hpp"
#include "scenarios/language/training_methods.hpp"
#include "sim/activities.hpp"
#include "sim/cluster/stragglers/registry.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/distributions/registry.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/models/registry.hpp"
#include "sim/learn/optimizers/registry.hpp"
#include "sim/recording/metrics.hpp"
#include "sim/stacks/stack.hpp"
#include "topologies/registry.hpp"

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
    if (!metrics.empty())
      lines.push_back(fmt::format("Spends time of its own on: {}", fmt::join(metrics, ", ")));
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

std::vector<ListedItem> files(const std::string& folder, const std::string& asked) {
  std::vector<ListedItem> items;
  for (ListedFile& file : listed_files(folder, asked))
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
