// mapped_json: any JSON document by a map: JSON pointers into each of its records, and into the document
// itself for what all of them share.
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/pointers.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/reading/json.hpp"
#include "traces/tables/map.hpp"

namespace simsgd::importers {

namespace {

struct JsonMap : MapFields {
  std::string records;
  RawValue document;

  void fields(Fields& f) {
    MapFields::fields(f);
    f.text("records", records,
           "JSON pointer to the list, or object, of records; by default the document itself");
    f.raw("document", document,
          {{"type", "object"},
           {"description",
            "As constants, by JSON pointers into the document: {\"workers\": \"/world_size\"}"}});
  }
};

std::vector<std::string> pointer_at(const std::string& text, const std::string& key) {
  try {
    (void)Json::json_pointer(text);
  } catch (const Json::exception&) {
    reject(key, "is not a JSON pointer", "Write \"/steps\", or leave it out");
  }
  return tokens(text);
}

// Null where there is nothing: the library's own look-up throws for some of what others write.
const Json& at_pointer(const Json& document, const std::vector<std::string>& tokens) {
  static const Json kNothing;
  const Json* at = &document;
  for (const std::string& token : tokens) {
    if (at->is_array()) {
      const std::optional<std::size_t> index = list_index(token);
      if (!index || *index >= at->size()) return kNothing;
      at = &(*at)[*index];
    } else {
      at = &member(*at, token);
    }
  }
  return *at;
}

class MappedJson final : public Importer {
 public:
  explicit MappedJson(const JsonMap& map)
      : mapping_(map, true), records_text_(map.records), records_(pointer_at(map.records, "records")) {
    for (const MapPlace& place : mapping_.places()) places_.push_back(tokens(place.name));
    if (!map.document.present()) return;
    if (!map.document.json().is_object())
      reject("document", "is not an object", "Write {\"workers\": \"/world_size\"}");
    for (const auto& constant : map.document.json().items()) {
      const std::string key = "document/" + constant.key();
      ImportConstants trial;
      std::string problem, remedy;
      if (!set_constant(trial, constant.key(), "1", problem, remedy)) reject(key, problem, remedy);
      if (!constant.value().is_string()) reject(key, "is not a JSON pointer", "Write \"/world_size\"");
      const std::string text = constant.value().get<std::string>();
      shared_.push_back({constant.key(), text, pointer_at(text, key)});
    }
  }

  void read(Input& input, ImportedFile& file) override {
    const Json document = parse_document(input.rest(), input.name());
    const Json& records = at_pointer(document, records_);
    if (!records.is_structured())
      throw ConfigError({file.name(), records_text_, "is not a list of records",
                         records.is_null() ? "" : printable(scalar_text(records)),
                         "Set the map's /records to a JSON pointer to it"});
    const ImportConstants constants = shared(document, file.name());
    const bool alone = records.is_object() && records_.empty();  // the document is the one record
    if (alone) return add(records, constants, file);
    for (const Json& record : records) add(record, constants, file);
  }

 private:
  struct Shared {
    std::string name, text;
    std::vector<std::string> tokens;
  };

  ImportConstants shared(const Json& document, const std::string& file) const {
    ImportConstants constants;
    std::vector<InputError> errors;
    for (const Shared& each : shared_) {
      const Json& value = at_pointer(document, each.tokens);
      const std::string text = scalar_text(value);
      std::string problem = value.is_null() ? "is missing" : "is neither text nor a number",
                  remedy = "Correct the map's /document/" + each.name;
      if (!text.empty()) {
        problem.clear();
        if (set_constant(constants, each.name, text, problem, remedy)) continue;
      }
      errors.push_back({file, each.text, problem, printable(text), remedy});
    }
    if (!errors.empty()) throw ConfigError(std::move(errors));
    return constants;
  }

  void add(const Json& record, const ImportConstants& constants, ImportedFile& file) const {
    std::vector<std::string> texts;
    for (const auto& tokens : places_) texts.push_back(scalar_text(at_pointer(record, tokens)));
    const MapCells cells(texts.begin(), texts.end());
    mapping_.add(cells, constants, 0, file);
  }

  Mapping mapping_;
  std::string records_text_;
  std::vector<std::string> records_;
  std::vector<std::vector<std::string>> places_;
  std::vector<Shared> shared_;
};

}  // namespace

std::vector<ImportFormat> mapped_json() {
  return {{{.name = "mapped_json", .summary = "any JSON document, by a map", .citation = ""},
           +[](const JsonMap& map, const ImportConstants&) -> std::unique_ptr<Importer> {
             return std::make_unique<MappedJson>(map);
           }}};
}

}  // namespace simsgd::importers
