// Documents that are made from the program's own tables: docs/reference.md and docs/reference/, the reference
// of the scenario language, docs/results.md, and the schemas.
#include "tests/analysis/committed_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/faces/table.hpp"
#include "analysis/runs/database.hpp"
#include "results/curves.hpp"
#include "results/document.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/reference.hpp"
#include "scenarios/language/schema.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::test::committed {

namespace {

using markdown::code;
using markdown::heading;
using markdown::row_text;

constexpr const char* kStale =
    R"(<!-- Made from the program's own fields. Where it is stale a test fails, which writes it anew:
     SIMSGD_WRITE_DOCS=1 build/release/tests/simsgd_tests --source-file='*analysis/reference.cpp' -->
)";

constexpr const char* kKeyIntroduction =
    R"(What each key of a scenario means, with its type, unit, range and default. `simsgd list KEY` shows the same (`simsgd list network`,
`simsgd list cluster/device/memory`), and an editor that knows the schema completes the keys.
[How to read the tables](#how-to-read-the-tables) explains types, pointers and `use`.

| keys of | page |
|---|---|
)";

/// A page of docs/reference/, and the sections of a scenario that it shows.
struct Page {
  std::string file, title, says;
  std::vector<std::string> sections;
};

const std::vector<Page>& pages() {
  static const std::vector<Page> all = {
      {"algorithms.md",
       "Keys of training methods",
       "What each option of each training method means",
       {"algorithm"}},
      {"cluster.md",
       "Keys of a cluster",
       "How a scenario describes its machines: devices, nodes, topology, and the library that communicates",
       {"cluster"}},
      {"network.md",
       "Keys of the network",
       "How a scenario says how communication is simulated, with jitter and slow links",
       {"network"}},
      {"workload.md",
       "Keys of a workload",
       "How a scenario says what a step computes, and how long that takes",
       {"workload"}},
      {"learner.md",
       "Keys of what learns",
       "How a scenario chooses the model, its data, and the optimizer",
       {"learner", "optimizer"}},
      {"stragglers.md",
       "Keys of stragglers and crashes",
       "How a scenario makes workers late, and how it crashes them",
       {"stragglers", "failures"}},
      {"study.md",
       "Keys of a study",
       "How a scenario varies values and seeds, and what its results are held against",
       {"axes", "seeds", "claim", "expected"}}};
  return all;
}

/// The page that shows a pointer, from docs/: the first one has what no other page shows.
std::string page_of(const std::string& pointer) {
  const std::vector<std::string> path = tokens(pointer);
  for (const Page& page : pages())
    if (!path.empty() &&
        std::find(page.sections.begin(), page.sections.end(), path[0]) != page.sections.end())
      return "reference/" + page.file;
  return "reference.md";
}

/// The keys' pointer, as a link where another page shows them.
std::string place_of(const std::string& pointer, const std::string& seen_from) {
  const std::string page = page_of(pointer), name = page.substr(page.find('/') + 1);
  if (page_of(seen_from) == page) return code(pointer);
  return "[" + code(pointer) + "](" + name + ")";
}

constexpr const char* kHowToRead = R"(
## How to read the tables
- A scenario is a JSON file with `//` comments. An unknown key is an error.
- A key is written as a JSON pointer, as `--set` takes it; `*` stands for any element of a list.
- Types time, bytes, bandwidth, flop, flops and power are numbers in the SI unit, or text with a unit: `0.005` or `"5 ms"`,
  `125000000` or `"1 Gbps"`.
- An "object by its name" is one of several plug-ins. Its key `name` chooses which; each has keys of its own.
- In every object `"use": "file.json"` inserts the object of a file; the keys next to it override it, key by key.
  That of a device's `gemm` may be a CSV file of measured products ([compute.md](compute.md#kernels-of-a-device)).
- `"$schema"`, at the top of a file, tells editors where its schema is: `schemas/scenario.schema.json`, and likewise for `study`,
  `cluster`, `device` and `workload`. `simsgd schema KIND` prints them.
)";

std::string default_text(const ReferenceKey& key) {
  if (key.required) return "required";
  std::string text = key.rule.empty() ? code(key.default_value) : key.rule;
  if (text.empty()) text = "none";
  return key.source.empty() ? text : text + " (" + key.source + ")";
}

/// Names of metrics are listed once, in docs/results.md.
std::string type_cell(const ReferenceKey& key) {
  const std::vector<Metric>& all = metrics();
  const auto is_metric = [&](const std::string& value) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Metric& metric) { return value == "\"" + metric.name + "\""; });
  };
  constexpr std::size_t kMostNamed = 5;
  const bool metric =
      key.values.size() > kMostNamed && std::all_of(key.values.begin(), key.values.end(), is_metric);
  if (!metric) return key.type;
  return std::string("a [metric](") + (page_of(key.pointer) == "reference.md" ? "" : "../") +
         "results.md#metrics)";
}

std::string key_row(const ReferenceKey& key) {
  return row_text({code(last_key(key.pointer)), key.meaning, type_cell(key), key.unit, key.range,
                   default_text(key), code(key.example)});
}

std::string table(const std::vector<ReferenceKey>& keys) {
  std::string text = heading({"key", "meaning", "type", "unit", "range", "default", "example"});
  for (const ReferenceKey& key : keys) text += key_row(key);
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

/// Where plug-ins are chosen and have no keys in common: only their names.
bool is_choice(const ReferenceObject& object) {
  return object.plugin.empty() && object.keys.size() == 1 && last_key(object.keys[0].pointer) == "name" &&
         object.keys[0].values.size() > 1;
}

std::string choice_text(const ReferenceKey& name) {
  std::string text;
  for (const std::string& value : name.values)
    text += (text.empty() ? "" : ", ") + value.substr(1, value.size() - 2);  // without quotes
  return "\nIts `name` is one of " + code(text) + ".\n";
}

std::string body_text(const ReferenceObject& object) {
  if (is_choice(object)) return introduction(object) + choice_text(object.keys[0]);
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

/// Keys that every plug-in at a pointer has, and in the same words: they stand once, with the plug-ins'
/// names.
std::vector<ReferenceObject> with_common_keys_once(std::vector<ReferenceObject> all) {
  constexpr std::size_t kLeastCommon = 4;
  std::map<std::string, std::vector<ReferenceObject*>> kinds, names;
  for (ReferenceObject& object : all)
    (object.plugin.empty() ? names : kinds)[object.pointer].push_back(&object);
  for (auto& [pointer, plugins] : kinds) {
    if (plugins.size() < 2 || names[pointer].size() != 1) continue;
    const auto has = [](const ReferenceObject& object, const ReferenceKey& key) {
      return std::any_of(object.keys.begin(), object.keys.end(),
                         [&](const ReferenceKey& each) { return key_row(each) == key_row(key); });
    };
    std::vector<ReferenceKey> common;
    for (const ReferenceKey& key : plugins.front()->keys)
      if (std::all_of(plugins.begin(), plugins.end(), [&](const auto* plugin) { return has(*plugin, key); }))
        common.push_back(key);
    if (common.size() < kLeastCommon) continue;
    ReferenceObject shared = *names[pointer].front();
    shared.keys.insert(shared.keys.end(), common.begin(), common.end());
    for (ReferenceObject* plugin : plugins)
      std::erase_if(plugin->keys, [&](const ReferenceKey& key) { return has(shared, key); });
    shared.meaning += ". All kinds have the keys of this table";
    *names[pointer].front() = std::move(shared);
  }
  return all;
}

/// Objects that are alike stand together, below the first one's title.
struct Alike {
  const ReferenceObject* first;
  std::vector<std::string> others;
};

/// Where each of the plug-ins at a pointer has the keys of one elsewhere: that pointer.
std::string model_of_all(const std::string& pointer, const std::vector<ReferenceObject>& all,
                         const std::vector<const ReferenceObject*>& whole) {
  std::string found;
  for (const ReferenceObject& object : all) {
    if (object.pointer != pointer || object.plugin.empty()) continue;
    const auto model = std::find_if(whole.begin(), whole.end(), [&](const ReferenceObject* each) {
      const auto different = each->pointer == pointer ? std::nullopt : differences(object, *each);
      return different && different->empty() && (found.empty() || found == each->pointer);
    });
    if (model == whole.end()) return "";
    found = (*model)->pointer;
  }
  return found;
}

/// Each table once: where one before has nearly the same keys, those that differ.
std::string alike_text(const Alike& each, std::vector<const ReferenceObject*>& whole) {
  std::string text = "\n" + title(*each.first) + "\n";
  if (!each.others.empty()) text += "The same keys: " + names_text(each.others) + ".\n\n";
  for (const ReferenceObject* model : whole)
    if (const auto different = differences(*each.first, *model))
      return text + introduction(*each.first) + "\nThe keys of " +
             place_of(model->pointer, each.first->pointer) +
             (model->pointer == each.first->pointer ? " of " + names_text(model->of) : "") +
             (different->empty() ? ".\n" : ", but for:\n" + table(*different));
  whole.push_back(each.first);
  return text + body_text(*each.first);
}

/// Of each page, from docs/: its sections.
std::map<std::string, std::string> objects_text() {
  std::vector<Alike> all;
  std::map<std::pair<std::string, std::string>, std::size_t> places;  // by plug-in and body
  const std::vector<ReferenceObject> objects = with_common_keys_once(reference());
  for (const ReferenceObject& object : objects) {
    const auto [place, fresh] = places.try_emplace({object.plugin, body_text(object)}, all.size());
    if (fresh)
      all.push_back({&object, {}});
    else
      all[place->second].others.push_back(object.pointer);
  }
  std::map<std::string, std::string> texts;
  std::vector<const ReferenceObject*> whole;
  std::map<std::string, std::string> told;  // of a pointer, where the keys of its plug-ins stand
  for (const Alike& each : all) {
    const ReferenceObject& object = *each.first;
    if (told.contains(object.pointer)) continue;
    std::string& text = texts[page_of(object.pointer)];
    const std::string model = each.others.empty() ? model_of_all(object.pointer, objects, whole) : "";
    if (model.empty()) {
      text += alike_text(each, whole);
      continue;
    }
    told[object.pointer] = model;
    text += "\n" + title(object) + "\n" + introduction(object) + "\nThe kinds and keys of " +
            place_of(model, object.pointer) + ".\n";
  }
  return texts;
}

std::string limits_text() {
  return fmt::format(
      "- A value without an upper bound in these tables is at most {:g} s, {:g} bytes, {:g} B/s, {:g} flop, or {:g} as a plain number.\n",
      largest_of("time"), largest_of("bytes"), largest_of("bandwidth"), largest_of("flop"), largest_of(""));
}

std::string metrics_table_text() {
  std::string text = heading({"metric", "unit", "definition"});
  for (const Metric& metric : metrics())
    text += row_text({code(metric.name), metric.unit, metric.definition});
  return text;
}

std::string document_table_text() {
  std::string text = heading({"key", "unit", "definition"});
  for (const DocumentKey& key : document_keys())
    text += row_text({code(key.pointer), key.unit, key.definition});
  return text;
}

std::string curve_text(const Curve& curve) {
  std::string text = "\n### " + curve.file + "\n" + curve.definition + ".\n" +
                     heading({"column", "unit", "definition", "empty"});
  for (const CurveColumn& column : curve.columns)
    if (column.in_file)
      text += row_text({code(column.name), column.unit, column.definition,
                        column.when_empty.empty() ? "never" : column.when_empty});
  return text;
}

std::string store_text(const StoreTable& table) {
  std::string text = "\n### " + table.name + "\n" + table.definition + ".\n" +
                     heading({"column", "unit", "definition", "NULL"});
  for (const StoreColumn& column : table.columns)
    text += row_text({code(column.name), column.unit, column.definition,
                      column.when_empty.empty() ? "never" : "where " + column.when_empty});
  return text;
}

constexpr const char* kIntroduction =
    "# What comes out of a run\n"
    "<!-- Made from the program's tables. Where it is stale a test fails, which writes it anew:\n"
    "     SIMSGD_WRITE_DOCS=1 build/release/tests/simsgd_tests --source-file='*analysis/reference.cpp' -->\n"
    "What a run writes, and what each of its numbers means. A run, simulated or real, gives one JSON document. In a directory it\n"
    "is `result.json`, with its curves as CSV and, where one was recorded, its timeline: `timeline.json` for Perfetto, and\n"
    "`kineto/rank<N>.json` in the shape of PyTorch's profiler. A sweep keeps its runs in an SQLite file. All numbers are in SI\n"
    "units; the unit of what has none is \"1\".\n\n"
    "A file that a command writes appears under its name whole or not at all, even where several commands write it at once. If the\n"
    "name is a link, the file that it leads to is replaced, and the link stays. A device, a FIFO or `/dev/stdout` is written into.\n";

}  // namespace

std::string results_reference() {
  std::string text = kIntroduction;
  text += "\n## Metrics\nPer step means: a worker's total over its steps, then the mean over workers.\n" +
          metrics_table_text();
  text += "\n## The document\nIn a key, `*` stands for any name or place.\n" + document_table_text();
  text += "\n## Curves\n";
  for (const Curve& curve : curves()) text += curve_text(curve);
  text += curve_text({"steps", kStepsFile,
                      "Every worker and step, where a run was asked for it (--steps); the first 2^20",
                      step_columns()});
  text += "\n## The result store\n";
  for (const StoreTable& table : store_tables()) text += store_text(table);
  return text;
}

std::map<std::string, std::string> key_reference() {
  std::map<std::string, std::string> all = objects_text();
  std::string first = std::string("# Every key of scenario files\n") + kStale + kKeyIntroduction;
  for (const Page& page : pages()) {
    first += row_text(
        {names_text(page.sections), "[" + page.title + "](reference/" + page.file + "): " + page.says});
    std::string& text = all["reference/" + page.file];
    text.insert(0, fmt::format("# {}\n{}{}. [How to read the tables](../reference.md#how-to-read-the-tables) "
                               "explains types and `use`.\n",
                               page.title, kStale, page.says));
  }
  std::string& whole = all["reference.md"];
  whole = first + whole + kHowToRead + limits_text();
  return all;
}

std::map<std::string, std::string> committed_documents() {
  std::map<std::string, std::string> all = {{"docs/results.md", results_reference()}};
  for (auto& [name, text] : key_reference()) all["docs/" + name] = std::move(text);
  for (auto& [name, text] : schema_files()) all["schemas/" + name] = std::move(text);
  return all;
}

}  // namespace simsgd::test::committed
