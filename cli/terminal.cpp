#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "results/text_table.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kNarrowest = 30;  // below it, broken lines read worse than those that the terminal cuts

/// Where a line goes on.
std::size_t hanging(const std::string& line, std::size_t width) {
  if (line.starts_with("- ")) return 2;
  const std::size_t begin = line.find_first_not_of(' '), gap = line.find("  ", begin),
                    text = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  if (text != std::string::npos && shown_width(line.substr(0, text)) <= 2 * width / 3)
    return shown_width(line.substr(0, text));
  return begin == 0 || begin > width / 4 ? begin : begin + 2;
}

/// Of the last blank by which the line still fits, or else of the first one behind; npos without any.
std::size_t place_to_break(const std::string& line, std::size_t from, std::size_t width) {
  std::size_t found = std::string::npos;
  for (std::size_t blank = line.find(' ', from); blank != std::string::npos;
       blank = line.find(' ', blank + 1)) {
    if (found != std::string::npos && shown_width(line.substr(0, blank)) > width) break;
    if (blank + 1 < line.size()) found = blank;
  }
  return found;
}

std::string wrapped_line(std::string line, std::size_t width) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (shown_width(line) <= width || begin == std::string::npos) return line;
  const bool command = begin > 0 && line.compare(begin, 7, "simsgd ") == 0;  // not an error of a verb
  if (command && line.find('\'') != std::string::npos) return line;          // a break may lie in quotes
  const std::size_t indent = command ? begin + 4 : hanging(line, width), room = width - (command ? 2 : 0);
  std::string text;
  std::size_t from = begin;
  while (shown_width(line) > width) {
    const std::size_t blank = place_to_break(line, from, room);
    if (blank == std::string::npos) break;
    const std::size_t last = line.find_last_not_of(' ', blank), next = line.find_first_not_of(' ', blank);
    if (next == std::string::npos) break;
    text += line.substr(0, last + 1) + (command ? " \\\n" : "\n");
    line = std::string(indent, ' ') + line.substr(next);
    from = indent;
  }
  return text + line;
}

std::string wrapped_lines(const std::string& text, std::size_t width, const char* prefix) {
  if (width < kNarrowest) return text;
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    result += line.starts_with(prefix) ? wrapped_line(line, width) : line;
    if (end == std::string::npos) break;
    result += '\n';
    at = end + 1;
  }
  return result;
}

std::vector<std::size_t> widths_of(const Table& table) {
  std::vector<std::size_t> widths;
  const auto widen = [&widths](const std::vector<std::string>& cells) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], shown_width(printable(cells[i])));
  };
  widen(table.header);
  std::for_each(table.rows.begin(), table.rows.end(), widen);
  return widths;
}

/// Header and rows with these columns alone.
Table part_of(const Table& table, const std::vector<std::size_t>& columns) {
  const auto cut = [&columns](const std::vector<std::string>& cells) {
    std::vector<std::string> some;
    for (const std::size_t column : columns)
      if (column < cells.size()) some.push_back(cells[column]);
    return some;
  };
  Table part;
  part.align = table.align;  // the columns that name the rows come first in every part
  part.header = cut(table.header);
  std::transform(table.rows.begin(), table.rows.end(), std::back_inserter(part.rows), cut);
  return part;
}

std::vector<Table> parts_of(const Table& table, std::size_t width) {
  const std::vector<std::size_t> widths = widths_of(table);
  std::vector<std::size_t> names;
  std::size_t of_names = 0;
  for (std::size_t i = 0; i < std::min(table.align.find('r'), table.align.size()); ++i) {
    names.push_back(i);
    of_names += widths.at(i) + 2;
  }
  std::vector<Table> parts;
  std::vector<std::size_t> columns = names;
  std::size_t used = of_names;
  for (std::size_t i = names.size(); i < widths.size(); ++i) {
    if (columns.size() > names.size() && used + widths[i] > width) {
      parts.push_back(part_of(table, columns));
      columns = names;
      used = of_names;
    }
    columns.push_back(i);
    used += widths[i] + 2;
  }
  parts.push_back(part_of(table, columns));
  return parts;
}

}  // namespace

std::size_t terminal_width(int stream) {
  if (isatty(stream) == 0) return 0;
  const char* said = std::getenv("COLUMNS");
  if (const int columns = said == nullptr ? 0 : std::atoi(said); columns > 0)
    return static_cast<std::size_t>(columns);
  winsize size{};
  return ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string wrapped(const std::string& text, std::size_t width) { return wrapped_lines(text, width, ""); }
std::string with_wrapped_notes(const std::string& text, std::size_t width) {
  return wrapped_lines(text, width, "- ");
}

std::string table_text(const Table& table, std::size_t width) {
  if (width < kNarrowest) return formatted(table, TableFormat::text);
  std::string text = wrapped(printable(table.title), width) + "\n";
  for (const Table& part : parts_of(table, width)) text += "\n" + text_rows(part);
  if (!table.notes.empty()) text += "\n";
  for (const std::string& note : table.notes) text += wrapped(printable(note), width) + "\n";
  return text;
}

}  // namespace simsgd
