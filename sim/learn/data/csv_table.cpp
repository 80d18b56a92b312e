#include "sim/learn/data/csv_table.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

namespace simsgd {

namespace {

std::string read_all(DataFile& file) {
  constexpr std::size_t kBlock = 1u << 20;
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kBlock);
    const std::size_t got = file.read({reinterpret_cast<std::uint8_t*>(text.data()) + before, kBlock});
    text.resize(before + got);
    if (got < kBlock) return text;
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes the text up to `separator` (or all of it) from the front of `text`.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

std::size_t append_fields(std::string_view line, char delimiter, std::vector<std::string>& fields) {
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    more = line.find(delimiter) != std::string_view::npos;
    fields.emplace_back(trimmed(take(line, delimiter)));
  }
  return count;
}

}  // namespace

CsvTable read_csv(const FileSource& source, const CsvFormat& format) {
  DataFile file(source);
  const std::string text = read_all(file);
  std::string_view rest = text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);  // byte-order mark
  CsvTable table;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = take(rest, '\n');
    if (trimmed(line).empty()) continue;
    if (table.columns.empty() && format.header) {
      append_fields(line, format.delimiter, table.columns);
      continue;
    }
    const std::size_t count = append_fields(line, format.delimiter, table.fields);
    for (std::size_t c = 1; table.columns.size() < count && table.lines.empty() && !format.header; ++c)
      table.columns.push_back(std::to_string(c));
    if (count != table.columns.size())
      file.fail(fmt::format("has {} fields in line {}, where the first line has {}", count, number,
                            table.columns.size()));
    table.lines.push_back(number);
  }
  if (table.rows() == 0) file.fail("holds no rows");
  return table;
}

float csv_number(const FileSource& source, const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string& text = table.field(row, column);
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    reject_file(source, fmt::format("has \"{}\" in line {}, column \"{}\", which is not a finite number",
                                    text, table.lines[row], table.columns[column]));
  return value;
}

}  // namespace simsgd
