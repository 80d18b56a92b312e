// Text tables: one row per line, fields separated by one character, plain or compressed with gzip. No quotes.
// Blank lines are skipped, blanks around fields and a carriage return at the end of a line are dropped.
#pragma once

#include <string>
#include <vector>

#include "sim/learn/data/file.hpp"

namespace simsgd {

struct CsvFormat {
  char delimiter = ',';
  bool header = true;  ///< the first line names the columns; else they are called "1", "2", ...
};

struct CsvTable {
  std::vector<std::string> columns;
  std::vector<std::string> fields;  ///< of all rows, row after row
  std::vector<std::size_t> lines;   ///< in the file, of every row, from 1
  std::size_t rows() const { return lines.size(); }
  const std::string& field(std::size_t row, std::size_t column) const {
    return fields[row * columns.size() + column];
  }
};

/// Throws ParameterError if the file cannot be read, is empty, or a row is shorter or longer than the first
/// line.
CsvTable read_csv(const FileSource& source, const CsvFormat& format);

/// The field as a finite number; throws ParameterError with line and column.
float csv_number(const FileSource& source, const CsvTable& table, std::size_t row, std::size_t column);

}  // namespace simsgd
