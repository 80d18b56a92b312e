// Records of a CSV file (RFC 4180), which may stand on several lines; and one field, written.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/reading/input.hpp"

namespace simsgd {

class CsvReader {
 public:
  /// `separator` between fields; 0: any number of blanks and tabs, and no quotation marks. `comment`: lines
  /// that begin with it are skipped; 0: none do.
  CsvReader(Input& input, char separator, char comment = 0)
      : input_(input), separator_(separator), comment_(comment) {}

  /// The next one that is not empty; false after the last. Replaces `fields`.
  bool record(std::vector<std::string>& fields);
  /// In which the record began, from 1.
  std::size_t line() const { return line_; }
  /// Whether quotation marks were open at the end of the file: the last record is not whole.
  bool open_quotes() const { return open_quotes_; }

 private:
  void split(std::string_view text, std::vector<std::string>& fields);

  Input& input_;
  char separator_, comment_;
  std::size_t line_ = 0;
  bool open_quotes_ = false;
  std::string joined_;  // of a record on several lines
};

/// Columns by the names that the first record gives them, blanks aside.
class CsvColumns {
 public:
  explicit CsvColumns(const std::vector<std::string>& names);

  bool has(std::string_view name) const { return at_.contains(name); }
  /// Throws ConfigError with all of `needed` that are not there.
  void require(std::span<const char* const> needed, const std::string& file, const std::string& found,
               const std::string& remedy) const;
  /// Without blanks at its ends; empty where there is no such column.
  std::string_view of(const std::vector<std::string>& record, std::string_view name) const;
  /// A number; `otherwise` where the cell is empty; nothing where it is no number.
  std::optional<double> number(const std::vector<std::string>& record, std::string_view name,
                               double otherwise) const;
  std::size_t width() const { return width_; }

 private:
  std::map<std::string, std::size_t, std::less<>> at_;
  std::size_t width_;
};

/// In quotation marks where it must be.
void append_csv(std::string& out, std::string_view field);

}  // namespace simsgd
