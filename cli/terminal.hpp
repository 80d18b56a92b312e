// Text for a terminal: lines that are wider than it are broken between words. Elsewhere text stays as it is.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "analysis/faces/table.hpp"

namespace simsgd {

/// Columns of the terminal that stdout (1) or stderr (2) is: $COLUMNS, or what the terminal says. 0 where it
/// is none, or where neither tells.
std::size_t terminal_width(int stream = 1);

/// Lines go on below where their text began: after a gap of two blanks, as in "  --json    Print a document",
/// or else two blanks further in. A command goes on behind a backslash, so that it can be copied. With a
/// width of 0 the text stays as it is.
std::string wrapped(const std::string& text, std::size_t width);
/// Lines that begin with "- " alone: the notes below a table, which keeps its width.
std::string with_wrapped_notes(const std::string& text, std::size_t width);

/// A table as text. Columns that do not fit follow in further blocks, each with the columns that name the
/// rows; title and notes are broken between words. With a width of 0 it is the table in one piece.
std::string table_text(const Table& table, std::size_t width);

template <class... Values>
void print_wrapped(fmt::format_string<Values...> format, Values&&... values) {
  fmt::print("{}", wrapped(fmt::format(format, std::forward<Values>(values)...), terminal_width()));
}

/// Errors and what else goes to stderr.
template <class... Values>
void print_error(fmt::format_string<Values...> format, Values&&... values) {
  fmt::print(stderr, "{}", wrapped(fmt::format(format, std::forward<Values>(values)...), terminal_width(2)));
}

// Progress of long work on stderr: a line that is rewritten on a terminal, nothing elsewhere until it takes
// long.

struct SweepProgress;

/// "9 s", "2 min 05 s", "26 h 07 min", "12 days 3 h".
std::string clock_text(double seconds);

class Progress {
 public:
  /// `total` steps, or what else is counted; 0 where that is not known.
  Progress(std::string what, std::uint64_t total, std::string unit = "step");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::uint64_t done);
  /// Removes the line; the last thing before other output.
  void finish();

 private:
  std::string what_, unit_;
  std::uint64_t total_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_, last_;
};

/// Of a sweep: a bar on a terminal, a line for each point elsewhere.
class SweepBar {
 public:
  explicit SweepBar(bool terminal) : terminal_(terminal) {}
  ~SweepBar() { clear(); }
  SweepBar(const SweepBar&) = delete;
  SweepBar& operator=(const SweepBar&) = delete;

  void show(const SweepProgress& progress);
  /// Removes the bar; before other output.
  void clear();

 private:
  bool terminal_;
  std::string shown_;
};

/// "5/10 points, 12 s, about 14 s left".
std::string progress_text(const SweepProgress& progress);

}  // namespace simsgd
