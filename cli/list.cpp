// simsgd list: what there is of each kind.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/list_items.hpp"
#include "cli/list_keys.hpp"
#include "cli/verbs.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "topologies/graphs/graph.hpp"
#include "topologies/topology.hpp"

namespace simsgd {

namespace {

struct ListVerb {
  std::string kind, name;
  bool json = false, dot = false;
  GraphOptions graph;
  std::string cluster;
};

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

void print_item(const ListedItem& item) {
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

Json item_json(const ListedItem& item) {
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

void print_items(const std::vector<ListedItem>& items, const ListVerb& verb) {
  std::vector<std::string> names;
  std::size_t width = 0;
  Json all = Json::array();
  for (const ListedItem& item : items) width = std::max(width, item.name.size() + 2);
  bool found = false;
  for (const ListedItem& item : items) {
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
  for (const ListedKind& kind : listed_kinds()) fmt::print("{:14}{}\n", kind.name, kind.summary);
  fmt::print("{:14}{}\n", "KEY", "a key of scenario files, such as network or cluster/device/memory");
}

int list(const ListVerb& verb) {
  if (draw(verb)) return 0;
  if (verb.kind.empty()) print_kinds();
  for (const ListedKind& kind : listed_kinds()) {
    if (kind.name != verb.kind) continue;
    print_items(kind.items(verb.name, verb.graph), verb);
    return 0;
  }
  const std::string key = verb.kind + (verb.name.empty() ? "" : "/" + verb.name);
  if (!key.empty() && !list_key(key, verb.json)) unknown_kind(key);
  return 0;
}

}  // namespace

void add_list(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("list", "List algorithms, topologies, clusters, metrics, ...");
  auto settings = std::make_shared<ListVerb>();
  verb->add_option("KIND", settings->kind, "What to list, or a key of scenario files; without it, the kinds");
  verb->add_option("NAME", settings->name, "One of them, with its parameters and source");
  verb->add_flag("--json", settings->json, "As JSON");
  verb->add_option("--workers", settings->graph.workers,
                   "Workers of a logical graph, or nodes of a drawn topology (default: 16)")
      ->check(CLI::Range(1, 1 << 16));
  verb->add_option("--seed", settings->graph.seed, "Seed of a logical graph that is drawn at random")
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
