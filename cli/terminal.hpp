// Text for a terminal: lines that are wider than it are broken between words. Elsewhere text stays as it is.
#pragma once

#include <fmt/format.h>

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

}  // namespace simsgd
