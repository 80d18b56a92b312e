// One line for each set of the book: how far off its cells were, when that was judged. A committed file keeps
// the last ones (scenarios/book/judged.json), for sets whose measurements are not at hand.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/book/book.hpp"
#include "analysis/parameter_draws.hpp"

namespace simsgd::book {

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

}  // namespace simsgd::book
