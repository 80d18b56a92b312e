#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "analysis/runs/sweep.hpp"
#include "results/text_table.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

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

using WallClock = std::chrono::steady_clock;

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::min(seconds, 1e15)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 2LL * 86400) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} days {} h", whole / 86400, whole / 3600 % 24);
}

Progress::Progress(std::string what, std::uint64_t total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      terminal_(isatty(2) != 0),
      begin_(WallClock::now()),
      last_(begin_) {}

Progress::~Progress() { finish(); }

void Progress::at(std::uint64_t done) {
  const WallClock::time_point now = WallClock::now();
  const double since_last = std::chrono::duration<double>(now - last_).count();
  if (since_last < (terminal_ ? 0.2 : 30.0)) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  std::string line = fmt::format("{}: {} {}", what_, unit_, human_number(static_cast<double>(done)));
  if (total_ > 0 && done > 0)
    line += fmt::format(" of {}, about {} left", human_number(static_cast<double>(total_)),
                        clock_text(elapsed / static_cast<double>(done) * static_cast<double>(total_ - done)));
  if (terminal_)
    fmt::print(stderr, "\r\x1b[K{}", line);
  else
    fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::finish() {
  if (shown_ && terminal_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

std::string progress_text(const SweepProgress& progress) {
  std::string text = fmt::format("{}/{} points", progress.ended, progress.total);
  if (progress.elapsed_s < 1) return text;
  text += ", " + clock_text(progress.elapsed_s);
  if (progress.ended > 0 && progress.ended < progress.total)
    text +=
        fmt::format(", about {} left", clock_text(progress.elapsed_s / static_cast<double>(progress.ended) *
                                                  static_cast<double>(progress.total - progress.ended)));
  return text;
}

void SweepBar::show(const SweepProgress& progress) {
  if (!terminal_) {
    if (progress.last == nullptr) return;
    const std::string label = printable(progress.last->point.label);
    fmt::print(stderr, "{}{}{} ({})\n", label, label.empty() ? "" : ": ", status_name(progress.status),
               progress_text(progress));
    std::fflush(stderr);
    return;
  }
  constexpr std::size_t kBarWidth = 30;
  const std::size_t full = progress.total > 0 ? kBarWidth * progress.ended / progress.total : kBarWidth;
  const std::string line = fmt::format("[{}{}] {}", std::string(full, '#'),
                                       std::string(kBarWidth - full, '.'), progress_text(progress));
  if (line == shown_) return;
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
  shown_ = line;
}

void SweepBar::clear() {
  if (terminal_ && !shown_.empty()) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_.clear();
}

}  // namespace simsgd
