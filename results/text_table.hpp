// Text in columns, and numbers for people who compare them.
#pragma once

#include <string>
#include <vector>

namespace simsgd {

/// Rows of cells; the first `left` columns are aligned left, the others right; two blanks between columns. A
/// row without cells is an empty line, a row of one cell "-" a rule over the whole width. Lines have no
/// blanks at their ends.
struct TextTable {
  std::size_t left = 1;
  std::vector<std::vector<std::string>> rows;
  std::string text() const;
};

/// Characters that a UTF-8 text takes on a terminal (one for each code point).
std::size_t shown_width(const std::string& text);
std::string pad_left(const std::string& text, std::size_t width);
std::string pad_right(const std::string& text, std::size_t width);

/// With so many decimals, and thousands separated by commas: "1,729.5".
std::string grouped(double value, int decimals);

/// A share of a whole: "51 %", and "<1 %" or ">99 %" of what is neither nothing nor all.
std::string shown_share(double share);

/// One unit for values that are to be compared: the largest in which the smallest of them (but 0) is at least
/// 1 (minutes, hours and days: 2), and decimals with which that one has at least three digits. SI where all
/// are 0.
struct CommonUnit {
  std::string name;
  double size = 1;  ///< in SI
  int decimals = 0;
  std::string show(double value) const { return grouped(value / size, decimals); }
};
CommonUnit common_time_unit(const std::vector<double>& seconds);
CommonUnit common_bytes_unit(const std::vector<double>& bytes);
/// A given unit: only the decimals are chosen.
CommonUnit common_unit(const std::string& name, double size, const std::vector<double>& values);

}  // namespace simsgd
