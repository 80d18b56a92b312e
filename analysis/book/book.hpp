// The book: which predictions of which calibrations are judged. scenarios/book/book.json is the one that
// README and docs/accuracy.md tell of.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/parameter_draws.hpp"
#include "analysis/questions/study_report.hpp"

namespace simsgd::book {

/// Cells that are judged together: one line of the table.
struct SetSpec {
  std::string name;         ///< what is predicted: "ResNet-50: numbers of workers left out in turn"
  std::string measured_on;  ///< "Piz Daint, one P100 a node (WAGMA-SGD)"; sets of one machine stand together
  std::string spec;         ///< a calibration
  std::string left_out;     ///< the column of its parts that were left out in turn; or
  std::string test;         ///< a test of it
  /// How far its cells are unseen: "left out" of a fit whose model was made with them in sight, "blind" where
  /// nobody had looked at them, "explored" where they were in sight and nothing was left out but them.
  std::string seen;
  std::string cause;  ///< why its worst cells are off
};

struct Book {
  std::string file, name;
  std::vector<SetSpec> sets;
};

/// Throws ConfigError with everything that is wrong with it.
Book load_book(const std::string& path);

// One line for each set of the book: how far off its cells were, when that was judged. A committed file keeps
// the last ones (scenarios/book/judged.json), for sets whose measurements are not at hand.

/// One measured value, and what was predicted of it.
struct Cell {
  std::string name;
  double measured = 0, predicted = 0;
  std::vector<Interval> intervals;  ///< by ascending level; empty: none

  double error() const { return predicted / measured - 1; }
};

struct WorstCell {
  std::string name;
  double error = 0;
};

/// How many cells an interval was given of, and how many of these it held.
struct Coverage {
  double level = 0.9;
  std::size_t inside = 0, told = 0;
  double width = 0;  ///< mean of high / low - 1
  double share = 0;  ///< inside, with the cells' weights in means: of sizes, each octave counts the same
};

struct Line {
  std::string date;  ///< of the judging: "2026-01-31"
  std::size_t cells = 0;
  double mean = 0, median = 0, worst = 0;  ///< of relative errors without their signs
  double bias = 0;                         ///< mean of those with signs
  std::vector<Coverage> coverage;          ///< by ascending level
  std::optional<double> noise;             ///< of one measurement, relative
  std::vector<WorstCell> worst_cells;      ///< the ten that are furthest off

  const Coverage* at(double level) const;
};

/// `weights` of the cells in means; empty: all alike.
Line line_of(const std::vector<Cell>& cells, const std::vector<double>& weights, std::optional<double> noise,
             const std::string& date);

/// By "MACHINE: NAME" of a set.
using Lines = std::map<std::string, Line>;
std::string key_of(const SetSpec& set);

nlohmann::ordered_json lines_json(const Lines& lines);
/// Throws ConfigError where the file is none of this program.
Lines read_lines(const std::string& file);

// Fits and judges what a book names, as far as its measurements are at hand.

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

// For people and programs (book_text.cpp): a line for each set, the worst cells, how much the intervals hold.

std::string book_text(const JudgedBook& judged);
/// docs/accuracy.md; `command` made it.
std::string book_markdown(const JudgedBook& judged, const std::string& command);
/// The same in short, a line for each machine: README.md has it.
std::string book_by_machine(const JudgedBook& judged);
nlohmann::ordered_json book_json(const JudgedBook& judged);

// The book as a report: one chart with a dot for each cell, and the table.

/// `command`: what makes it again. Of sets that were not judged now there is the line alone.
questions::Report book_report(const JudgedBook& judged, const std::string& command);

}  // namespace simsgd::book
