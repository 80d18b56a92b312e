// docs/reference.md: the reference of the scenario language as a page.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/faces/reference.hpp"
#include "analysis/markdown.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/reference.hpp"
#include "scenarios/language/schema.hpp"

namespace simsgd {

namespace {

using markdown::code;

constexpr const char* kKeyIntroduction =
    R"(# Every key of scenario files
<!-- Made from the program's own fields. Where it is stale a test fails, which writes it anew:
     SIMSGD_WRITE_DOCS=1 build/release/tests/simsgd_tests --source-file='*analysis/reference.cpp' -->
What each key of a scenario means, its type, unit, range and default. A scenario is a JSON file with `//` comments. `simsgd list KEY`
shows the same (`simsgd list network`, `simsgd list cluster/device/memory`), and an editor that knows the schema completes
the keys. A key is written here as a JSON pointer, as `--set` takes it; `*` stands for any element of a list.

- Types time, bytes, bandwidth, flop, flops and power are numbers in the SI unit, or text with a unit: `0.005` or `"5 ms"`,
  `125000000` or `"1 Gbps"`.
- An "object by its name" is one of several plug-ins, which its key `name` chooses; each has keys of its own.
- In every object `"use": "file.json"` takes over the object of a file; the keys beside it change that, key by key.
- `"$schema"`, at the top of a file, tells editors where its schema is: `schemas/scenario.schema.json`, `study`, `cluster`,
  `device` and `workload` likewise (`simsgd schema KIND` prints them).
- An unknown key is an error.
)";

std::string default_text(const ReferenceKey& key) {
  if (key.required) return "required";
  std::string text = key.rule.empty() ? code(key.default_value) : key.rule;
  if (text.empty()) text = "none";
  return key.source.empty() ? text : text + " (" + key.source + ")";
}

std::string table(const std::vector<ReferenceKey>& keys) {
  std::string text = markdown::heading({"key", "meaning", "type", "unit", "range", "default", "example"});
  for (const ReferenceKey& key : keys)
    text += markdown::row_text({code(last_key(key.pointer)), key.meaning, key.type, key.unit, key.range,
                                default_text(key), code(key.example)});
  return text;
}

std::string title(const ReferenceObject& object) {
  if (object.pointer.empty()) return "## The scenario";
  const std::string text = code(object.pointer) + (object.plugin.empty() ? "" : ": " + code(object.plugin));
  const bool section = object.plugin.empty() && tokens(object.pointer).size() == 1;
  return (section ? "## " : "### ") + text;
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + code(name);
  return text;
}

/// Plug-ins' summaries have no capital.
std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

std::string introduction(const ReferenceObject& object) {
  std::string text = sentence(object.meaning);
  if (!object.of.empty()) text += " Of " + names_text(object.of) + ".";
  if (!object.source.empty()) text += " Source: " + object.source + ".";
  return text + "\n";
}

std::string body_text(const ReferenceObject& object) {
  return introduction(object) + (object.keys.empty() ? "" : table(object.keys));
}

/// The keys that stand otherwise in `object` than in `model`; nothing where they are not nearly the same
/// keys.
std::optional<std::vector<ReferenceKey>> differences(const ReferenceObject& object,
                                                     const ReferenceObject& model) {
  if (object.plugin != model.plugin || object.keys.size() != model.keys.size()) return std::nullopt;
  std::vector<ReferenceKey> different;
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    if (last_key(object.keys[i].pointer) != last_key(model.keys[i].pointer)) return std::nullopt;
    if (table({object.keys[i]}) != table({model.keys[i]})) different.push_back(object.keys[i]);
  }
  if (3 * different.size() > object.keys.size()) return std::nullopt;
  return different;
}

/// Objects that are alike stand together, below the first one's title.
struct Alike {
  const ReferenceObject* first;
  std::vector<std::string> others;
};

/// Each table once: where one before has nearly the same keys, those that differ.
std::string alike_text(const Alike& each, std::vector<const ReferenceObject*>& whole) {
  std::string text = "\n" + title(*each.first) + "\n";
  if (!each.others.empty()) text += "The same keys: " + names_text(each.others) + ".\n\n";
  for (const ReferenceObject* model : whole)
    if (const auto different = differences(*each.first, *model))
      return text + introduction(*each.first) + "\nThe keys of " + code(model->pointer) +
             (model->pointer == each.first->pointer ? " of " + names_text(model->of) : "") +
             (different->empty() ? ".\n" : ", but for:\n" + table(*different));
  whole.push_back(each.first);
  return text + body_text(*each.first);
}

std::string objects_text() {
  std::vector<Alike> all;
  std::map<std::pair<std::string, std::string>, std::size_t> places;  // by plug-in and body
  for (const ReferenceObject& object : reference()) {
    const auto [place, fresh] = places.try_emplace({object.plugin, body_text(object)}, all.size());
    if (fresh)
      all.push_back({&object, {}});
    else
      all[place->second].others.push_back(object.pointer);
  }
  std::string text;
  std::vector<const ReferenceObject*> whole;
  for (const Alike& each : all) text += alike_text(each, whole);
  return text;
}

std::string limits_text() {
  return fmt::format(
      "- What has no upper bound below is at most {:g} s, {:g} bytes, {:g} B/s, {:g} flop and {:g} as a plain number.\n",
      largest_of("time"), largest_of("bytes"), largest_of("bandwidth"), largest_of("flop"), largest_of(""));
}

}  // namespace

std::string key_reference() { return kKeyIntroduction + limits_text() + objects_text(); }

std::map<std::string, std::string> committed_documents() {
  std::map<std::string, std::string> all = {{"docs/reference.md", key_reference()},
                                            {"docs/results.md", results_reference()}};
  for (auto& [name, text] : schema_files()) all["schemas/" + name] = std::move(text);
  return all;
}

}  // namespace simsgd
