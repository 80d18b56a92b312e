// simsgd list: what there is of each kind.
#include "cli/list.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/reference.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

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
  print_wrapped("{}\n  {}\n", printable(item.name), printable(item.summary));
  for (const std::string& line : item.details) print_wrapped("  {}\n", printable(line));
  if (!item.citation.empty()) print_wrapped("  Source: {}\n", item.citation);
  if (item.properties.empty()) return;
  print_wrapped("  Parameters:\n");
  for (const auto& [name, schema] : item.properties.items()) {
    const std::string otherwise =
        schema.contains("default") ? fmt::format(", default {}", schema.at("default").dump()) : "";
    print_wrapped("    {} ({}{}): {}\n", name, type_text(schema), otherwise, schema.value("description", ""));
  }
}

[[noreturn]] void unknown(const std::string& what, const std::string& found,
                          const std::vector<std::string>& names) {
  throw ConfigError(InputError{what, "", "is unknown", found, which_there_are(found, names)});
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
  const auto found = std::ranges::find_if(plugins, [&](const P& plugin) { return plugin.info.name == name; });
  return found == plugins.end() ? nullptr : &*found;
}

// What the options of graphs and networks ask for; false where there is something left to list.
bool draw(const ListVerb& verb) {
  const bool network = verb.kind == "topologies" && !verb.name.empty() && verb.dot;
  const bool one = (verb.kind == "graphs" && !verb.name.empty()) || network;
  if (!one && (verb.dot || !verb.graph.set.empty()))
    throw ConfigError(InputError{
        verb.dot ? "--dot" : "--set", "",
        verb.dot ? "applies to one logical graph or topology" : "applies to one logical graph", verb.kind,
        "Write list graphs NAME " +
            std::string(verb.dot ? "--dot, or list topologies NAME --dot" : "--set /key=value")});
  if (!verb.cluster.empty() && !network)
    throw ConfigError(InputError{"--cluster", "", "applies to the drawing of a topology", verb.kind,
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
      print_wrapped("{:{}}{}\n", printable(item.name), width, printable(item.summary));
    else
      print_item(item);
  }
  if (verb.json) fmt::print("{}\n", all.dump(2));
  if (!found && !verb.name.empty()) unknown("NAME", verb.name, names);
}

bool is_place(const std::string& token) {
  return token == "-" || token == "*" ||
         (!token.empty() && std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; }));
}

/// As the reference writes it: "/stragglers/*/mean" of "stragglers/0/mean".
std::string reference_pointer(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  if (text.empty()) return "";
  if (!text.starts_with('/')) text = "/" + text;
  std::string pointer;
  for (const std::string& token : tokens(text)) pointer = child(pointer, is_place(token) ? "*" : token);
  return pointer;
}

struct FoundKey {
  const ReferenceKey* key;
  const ReferenceObject* object;
};

/// A key may be there once for each plug-in that has it.
std::vector<FoundKey> keys_at(const std::string& pointer) {
  std::vector<FoundKey> found;
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys)
      if (key.pointer == pointer) found.push_back({&key, &object});
  return found;
}

std::vector<const ReferenceObject*> objects_at(const std::string& pointer) {
  std::vector<const ReferenceObject*> found;
  for (const ReferenceObject& object : reference())
    if (object.pointer == pointer || object.pointer == child(pointer, "*")) found.push_back(&object);
  return found;
}

/// As people write it: "stragglers/0/mean".
std::string written(const std::string& pointer) {
  std::string text;
  for (const std::string& token : tokens(pointer))
    text += (text.empty() ? "" : "/") + (token == "*" ? "0" : token);
  return text;
}

/// "of wagma", "of graph torus of d_psgd, sgp"; empty outside of plug-ins.
std::string owner(const ReferenceObject& object) {
  std::string text = object.plugin.empty() ? "" : " of " + object.plugin;
  if (!object.of.empty()) text += fmt::format(" of {}", fmt::join(object.of, ", "));
  return text;
}

std::string otherwise(const ReferenceKey& key) {
  if (key.required) return "required";
  if (!key.rule.empty()) return "default: " + key.rule;
  return key.default_value.empty() ? "may be left out" : "default " + key.default_value;
}

std::string with_unit(const ReferenceKey& key) {
  return key.unit.empty() ? key.type : fmt::format("{}, in {}", key.type, key.unit);
}

void print_key(const FoundKey& found) {
  const ReferenceKey& key = *found.key;
  print_wrapped("{}{}\n  {}\n", key.pointer, owner(*found.object), key.meaning);
  print_wrapped("  Type: {}\n", with_unit(key));
  if (!key.range.empty()) print_wrapped("  Range: {}\n", key.range);
  if (key.required)
    print_wrapped("  Required\n");
  else
    print_wrapped("  By default: {}\n", !key.rule.empty()           ? key.rule
                                        : key.default_value.empty() ? "none"
                                                                    : key.default_value);
  print_wrapped("  Example: {}\n", key.example);
  if (!key.source.empty()) print_wrapped("  Source: {}\n", key.source);
}

/// `told`: whether what the object is has been said, of the key that holds it.
void print_object(const ReferenceObject& object, bool told) {
  const std::string pointer = object.pointer.empty() ? "/" : object.pointer;
  if (!told) print_wrapped("{}{}\n  {}\n", pointer, owner(object), object.meaning);
  if (!object.source.empty()) print_wrapped("  Source: {}\n", object.source);
  if (!object.keys.empty()) print_wrapped("  Keys:\n");
  for (const ReferenceKey& key : object.keys)
    print_wrapped("    {} ({}{}{}; {}): {}\n", last_key(key.pointer), with_unit(key),
                  key.range.empty() ? "" : ", ", key.range, otherwise(key), key.meaning);
}

void add_owner(Json& json, const ReferenceObject& object) {
  if (!object.plugin.empty()) json["plugin"] = object.plugin;
  if (!object.of.empty()) json["of"] = object.of;
}

Json object_json(const ReferenceObject& object) {
  Json json = {{"pointer", object.pointer}, {"meaning", object.meaning}, {"keys", Json::array()}};
  add_owner(json, object);
  if (!object.source.empty()) json["source"] = object.source;
  for (const ReferenceKey& key : object.keys) json["keys"].push_back(to_json(key));
  return json;
}

/// Prints the key that `text` names, or every key of the object: "network", "cluster/device",
/// "/stragglers/0/mean". False where there is none.
bool list_key(const std::string& text, bool json) {
  const std::string pointer = reference_pointer(text);
  const std::vector<FoundKey> keys = keys_at(pointer);
  const std::vector<const ReferenceObject*> objects = objects_at(pointer);
  if (keys.empty() && objects.empty()) return false;
  if (json) {
    fmt::print("{}\n", key_json(text).dump(2));
    return true;
  }
  for (const FoundKey& found : keys) print_key(found);
  for (const ReferenceObject* object : objects)
    print_object(*object,
                 keys.size() == 1 && object == objects.front() && object->meaning == keys[0].key->meaning);
  return true;
}

/// Those keys whose last word is `text` or the nearest to it: what may have been meant.
std::vector<std::string> keys_like(const std::string& text) {
  std::vector<std::string> last;
  for (const std::string& name : key_names()) last.push_back(last_key(name));
  const std::string near = nearest(text, last);
  std::vector<std::string> found;
  for (const std::string& name : key_names())
    if (!near.empty() && last_key(name) == near) found.push_back(name);
  return found;
}

// Neither a kind nor a key: which of either may have been meant.
[[noreturn]] void unknown_kind(const std::string& found) {
  std::vector<std::string> all = list_kinds(), near = keys_like(found);
  for (const std::string& key : key_names()) all.push_back(key);
  if (const std::string whole = nearest(found, all); !whole.empty()) near = {whole};
  throw ConfigError(InputError{"KIND", "", "is unknown", found,
                               (near.empty() ? "" : "Did you mean " + one_of(near) + "? ") + "Choose " +
                                   one_of(list_kinds()) + ", or a key of scenario files"});
}

void print_kinds() {
  for (const ListedKind& kind : listed_kinds()) print_wrapped("{:14}{}\n", kind.name, kind.summary);
  print_wrapped("{:14}{}\n", "KEY", "a key of scenario files, such as network or cluster/device/memory");
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
  verb->add_option("KIND", settings->kind,
                   "Kind of thing to list, or a key of scenario files; without it, all kinds");
  verb->add_option("NAME", settings->name, "Show this one, with its parameters and source");
  verb->add_flag("--json", settings->json, "As JSON");
  verb->add_option("--workers", settings->graph.workers,
                   "Workers of a logical graph, or nodes of a drawn topology (default: 16)")
      ->check(CLI::Range(1, 1 << 16));
  verb->add_option("--seed", settings->graph.seed, "Seed of a random logical graph")->default_val(1);
  verb->add_option("--set", settings->graph.set,
                   "Set a parameter of a logical graph or topology (repeatable): /key=value")
      ->allow_extra_args(false);
  verb->add_flag("--dot", settings->dot, "Draw a logical graph or a topology as DOT, for Graphviz");
  verb->add_option("--cluster", settings->cluster, "Draw the topology of this cluster file or scenario");
  verb->footer(
      "Examples:\n  simsgd list algorithms allreduce_sgd\n  simsgd list cluster/device/memory\n"
      "  simsgd list graphs torus --workers 24 --set /rows=4 --dot | dot -Tsvg > torus.svg\n"
      "  simsgd list topologies fat_tree --dot --set /leaf_nodes=4 | dot -Tsvg > fat_tree.svg");
  verb->callback([settings, &exit_code] { exit_code.value = list(*settings); });
}

Json key_json(const std::string& text) {
  const std::string pointer = reference_pointer(text);
  Json all = Json::array();
  for (const FoundKey& found : keys_at(pointer))
    add_owner(all.emplace_back(to_json(*found.key)), *found.object);
  for (const ReferenceObject* object : objects_at(pointer)) all.push_back(object_json(*object));
  return all;
}

std::vector<std::string> key_names() {
  std::set<std::string> names;
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys) names.insert(written(key.pointer));
  return {names.begin(), names.end()};
}

}  // namespace simsgd
