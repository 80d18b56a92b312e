// mapped_csv: any table in text, by a map: columns by name or number.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/input.hpp"
#include "traces/tables/map.hpp"

namespace simsgd::importers {

namespace {

struct CsvMap : MapFields {
  bool header = true;
  std::string separator = ",", comment;

  void fields(Fields& f) {
    MapFields::fields(f);
    f.flag("header", header, "Whether the first row names the columns");
    f.text("separator", separator,
           "Between columns: one character, or \"blanks\" for any number of blanks and tabs");
    f.text("comment", comment, "The character with which lines begin that are skipped").most_characters(1);
  }
};

class MappedCsv final : public Importer {
 public:
  explicit MappedCsv(const CsvMap& map) : mapping_(map, false), header_(map.header) {
    if (map.separator != "blanks") {
      if (map.separator.size() != 1 || map.separator == "\"" || map.separator == "\n")
        reject("separator", "is not a single character", "Write \",\", \";\", \"\\t\" or \"blanks\"");
      separator_ = map.separator[0];
    }
    if (!map.comment.empty()) comment_ = map.comment[0];
    for (const MapPlace& place : mapping_.places())
      if (!header_ && place.number == 0)
        reject(place.key, "names a column of a file without a header", "Give the column's number, from 1");
  }

  void read(Input& input, ImportedFile& file) override {
    CsvReader reader(input, separator_, comment_);
    std::vector<std::string> fields;
    if (!reader.record(fields)) return;
    const std::size_t width = fields.size();
    const std::vector<std::size_t> columns = resolve(fields, file.name());
    MapCells cells(columns.size());
    for (bool more = !header_ || reader.record(fields); more; more = reader.record(fields)) {
      if (fields.size() != width || reader.open_quotes()) {
        file.ignore(reader.open_quotes() ? "rows with unbalanced quotation marks"
                                         : "rows that do not have the header's columns");
        continue;
      }
      for (std::size_t i = 0; i < columns.size(); ++i) cells[i] = fields[columns[i]];
      mapping_.add(cells, {}, reader.line(), file);
    }
  }

 private:
  // The column of each place, from 0.
  std::vector<std::size_t> resolve(const std::vector<std::string>& first, const std::string& file) const {
    std::vector<std::size_t> columns;
    std::vector<InputError> errors;
    std::vector<std::string> names;
    for (const std::string& name : first) names.emplace_back(trimmed(name));
    for (const MapPlace& place : mapping_.places()) {
      columns.push_back(0);
      if (place.number > 0) {
        columns.back() = static_cast<std::size_t>(place.number) - 1;
        if (columns.back() >= names.size())
          errors.push_back(
              {file, "", fmt::format("has no column {}, which the map's /{} names", place.number, place.key),
               "", fmt::format("It has {} columns", names.size())});
        continue;
      }
      const auto found = std::ranges::find(names, place.name);
      columns.back() = static_cast<std::size_t>(found - names.begin());
      if (found == names.end())
        errors.push_back(missing(place, names, file));
      else if (const auto again = std::find(found + 1, names.end(), place.name); again != names.end())
        errors.push_back(
            {file, "",
             fmt::format("has more than one column \"{}\", which the map's /{} names", printable(place.name),
                         place.key),
             "",
             fmt::format("Give the number of one: {} or {}", columns.back() + 1, again - names.begin() + 1)});
    }
    if (!errors.empty()) throw ConfigError(std::move(errors));
    return columns;
  }

  static InputError missing(const MapPlace& place, const std::vector<std::string>& names,
                            const std::string& file) {
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 40); ++i)
      shown.push_back(printable(names[i]));
    return {file, "",
            fmt::format("has no column \"{}\", which the map's /{} names", printable(place.name), place.key),
            "", suggestion(place.name, shown) + "Choose " + one_of(shown)};
  }

  Mapping mapping_;
  bool header_;
  char separator_ = 0, comment_ = 0;
};

}  // namespace

std::vector<ImportFormat> mapped_csv() {
  return {{{.name = "mapped_csv", .summary = "any table in text, by a map", .citation = ""},
           +[](const CsvMap& map, const ImportConstants&) -> std::unique_ptr<Importer> {
             return std::make_unique<MappedCsv>(map);
           }}};
}

}  // namespace simsgd::importers
