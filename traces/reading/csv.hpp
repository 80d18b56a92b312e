// Records of a CSV file (RFC 4180), which may stand on several lines; and one field, written.
#pragma once

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

/// In quotation marks where it must be.
void append_csv(std::string& out, std::string_view field);

}  // namespace simsgd
