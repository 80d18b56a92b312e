// Fits and judges what a book names, as far as its measurements are at hand.
#pragma once

#include <string>
#include <vector>

#include "analysis/book/lines.hpp"
#include "analysis/calibration/calibrate.hpp"

namespace simsgd::book {

struct BookSettings {
  CalibrationSettings calibration;
  std::string date;               ///< of today: "2026-01-31"
  std::vector<std::string> only;  ///< parts of the names of specs that are judged; empty: all
};

struct JudgedSet {
  SetSpec set;
  std::vector<Cell> cells;
  std::string skipped;  ///< why it was not judged now; "": it was
};

struct JudgedBook {
  Book book;
  std::vector<JudgedSet> sets;
  Lines lines;  ///< new ones of what was judged now, else the last
};

/// Throws ConfigError, RunError, Interrupted.
JudgedBook judge_book(const Book& book, const BookSettings& settings, Lines last);

}  // namespace simsgd::book
