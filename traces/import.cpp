#include "traces/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/pointers.hpp"
#include "sim/base/printable.hpp"
#include "traces/reading/json.hpp"
#include "traces/tables/map.hpp"

namespace simsgd {

namespace {

constexpr const char* kMappedCsv = "mapped_csv";
constexpr const char* kMappedJson = "mapped_json";

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const ImportFormat& format : import_formats()) names.push_back(format.info.name);
  return names;
}

std::string most_frequent(const std::map<std::string, std::size_t>& counts) {
  std::string text;
  for (const auto& [reason, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", count, reason);
  return text;
}

// One call: its files, what reads them, and what was wrong.
class Import {
 public:
  explicit Import(const ImportOptions& options) : options_(options) {
    check_constants();
    read_map();
    check_format();
    if (!errors_.empty()) throw ConfigError(std::move(errors_));
  }

  void read(Input& input) {
    ImportedFile& file = files_.emplace_back(input.name(), constants_, seen_);
    try {
      if (input.head().find_first_not_of(" \t\r\n") == std::string_view::npos)
        throw ConfigError({input.name(), "", "is empty", "", "Name a file with measurements"});
      const ImportFormat& format = format_of(input);
      file.report.format = format.info.name;
      importer(format).read(input, file);
      if (input.cut()) file.ignore("truncated compressed files");
    } catch (const ConfigError& error) {
      file.need_no_row();
      failed(error);
    }
  }

  // What is wrong with the map shows with every file: once is enough.
  void failed(const ConfigError& error) {
    for (const InputError& each : error.errors())
      if (std::ranges::none_of(errors_, [&](const InputError& other) { return other.text() == each.text(); }))
        errors_.push_back(each);
  }

  Imported result() {
    for (auto& [name, importer] : importers_) importer->finish();
    for (const ImportedFile& file : files_)
      if (file.needs_row() && file.empty()) errors_.push_back(without_rows(file));
    if (!errors_.empty()) throw ConfigError(std::move(errors_));
    Imported all;
    for (ImportedFile& file : files_) {
      if (file.workload) settle_device(file);
      all.reports.push_back(std::move(file.report));
      all.steps.insert(all.steps.end(), file.steps.begin(), file.steps.end());
      if (file.workload) all.workloads.push_back(std::move(*file.workload));
      if (all.rows.empty())
        all.rows = std::move(file.rows);
      else
        all.rows.insert(all.rows.end(), std::make_move_iterator(file.rows.begin()),
                        std::make_move_iterator(file.rows.end()));
    }
    return all;
  }

 private:
  // As with the batch, what the user says of the device holds.
  void settle_device(ImportedFile& file) const {
    const auto set = constants_.labels.find("measured_on");
    if (set == constants_.labels.end()) return;
    std::string& device = file.workload->device;
    if (!device.empty() && device != set->second)
      file.ignore(
          fmt::format("values of measured_on that were set: the file tells {}, which is not used", device));
    device = set->second;
  }

  void check_constants() {
    for (const auto& [name, value] : options_.set) {
      std::string problem, remedy;
      if (!set_constant(constants_, name, value, problem, remedy))
        errors_.push_back({"--set", "", name + " " + problem, printable(value), remedy});
    }
  }

  void read_map() {
    try {
      if (options_.map.present())
        map_ = options_.map.json();
      else if (!options_.map_path.empty())
        map_ = parse_document(Input(options_.map_path).rest(), options_.map_path, true);
      else
        return;
      if (map_.is_object()) return;
      errors_.push_back({options_.map_path, "", "is not a map", "", "Write an object: {\"values\": [...]}"});
    } catch (const ConfigError& error) {
      errors_.insert(errors_.end(), error.errors().begin(), error.errors().end());
    }
  }

  bool has_map() const { return options_.map.present() || !options_.map_path.empty(); }

  void check_format() {
    if (options_.format.empty()) return;
    const bool mapped = options_.format == kMappedCsv || options_.format == kMappedJson;
    const std::vector<std::string> names = format_names();
    if (std::ranges::find(names, options_.format) == names.end()) {
      errors_.push_back({"--format", "", "is not a format", printable(options_.format),
                         which_there_are(options_.format, names)});
    } else if (mapped != has_map()) {
      errors_.push_back({"--format", "", mapped ? "needs a map" : "takes no map", options_.format,
                         mapped ? "Give one with --map" : "Leave out --map, or the format"});
    }
  }

  const ImportFormat& named(const std::string& name) const {
    return find_plugin(import_formats(), name, "format");
  }

  const ImportFormat& format_of(Input& input) const {
    if (!options_.format.empty()) return named(options_.format);
    const std::string_view head = input.head();
    if (has_map()) {
      const char first = head[head.find_first_not_of(" \t\r\n")];
      return named(first == '{' || first == '[' ? kMappedJson : kMappedCsv);
    }
    for (const ImportFormat& format : import_formats())
      if (format.detect != nullptr && format.detect(head)) return format;
    throw ConfigError(
        {input.name(), "", "has an unknown format", "",
         "Describe its columns or JSON pointers with --map, or name its format with --format: " +
             one_of(format_names())});
  }

  Importer& importer(const ImportFormat& format) {
    std::unique_ptr<Importer>& made = importers_[format.info.name];
    if (made != nullptr) return *made;
    try {
      made = format.make(has_map() ? map_ : Json::object(), constants_);
    } catch (const ParameterError& error) {
      importers_.erase(format.info.name);
      throw ConfigError({options_.map_path, error.key, error.problem, found_at(error.key), error.remedy});
    }
    return *made;
  }

  // What the map has there, as JSON.
  std::string found_at(const std::string& key) const {
    const Json* const found = key.empty() ? nullptr : value_at(map_, key);
    if (found == nullptr) return "";
    return printable(found->dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 200));
  }

  static InputError without_rows(const ImportedFile& file) {
    const std::string why = most_frequent(file.report.ignored);
    return {file.name(), "", "contains no usable measurement (" + file.report.format + ")", "",
            why.empty() ? "Name another file, or its format with --format" : "Left out: " + why};
  }

  const ImportOptions& options_;
  ImportConstants constants_;
  SeenPoints seen_;
  Json map_;
  std::deque<ImportedFile> files_;  // whose addresses stay
  std::map<std::string, std::unique_ptr<Importer>> importers_;
  std::vector<InputError> errors_;
};

}  // namespace

Imported import_files(const std::vector<std::string>& paths, const ImportOptions& options) {
  if (paths.empty()) throw ConfigError({"FILES", "", "is empty", "", "Name the files to import"});
  Import all(options);
  for (const std::string& path : paths) {
    try {
      Input input(path);
      all.read(input);
    } catch (const ConfigError& error) {  // it cannot be opened
      all.failed(error);
    }
  }
  return all.result();
}

Imported import_text(const std::string& name, const std::string& text, const ImportOptions& options) {
  Import all(options);
  Input input(name, text);
  all.read(input);
  return all.result();
}

}  // namespace simsgd
