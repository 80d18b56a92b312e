// What a report draws: charts with their data, already aggregated, and the marks that stand for them. Pages,
// tables, CSV files and figures (analysis/faces) are all made from this; none of them computes anything.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/frame/frame.hpp"
#include "analysis/statistics/intervals.hpp"

namespace simsgd::questions {

/// Empty where there is no value: a single seed has no interval.
using Cell = std::variant<std::monostate, double, std::string>;

struct Column {
  std::string field;  ///< in marks: "low"; that of an axis may stand in an expression: "axis_0"
  std::string name;   ///< in CSV: "speedup_low", "cluster/workers"
  std::string title;  ///< for people
  std::string unit;   ///< SI; empty for text, "1" for ratios and counts
};

/// An axis that readers choose a value of.
struct ChartAxis {
  std::string field, name;
  std::vector<std::string> labels;
};

/// A direction of the drawing: what is along it.
struct Direction {
  enum class Scale { usual, from_zero, spread, doubling, tenfold };
  std::string field, title;
  Scale scale = Scale::usual;   ///< spread: as far as values go
  std::string format = {};      ///< of numbers, as d3 writes them; empty: as they are
  std::string unit = {};        ///< SI: values are shown in a unit of their size
  std::vector<double> ticks{};  ///< empty: where they fall
  ChartAxis axis = {};          ///< of texts, their order
};

/// How rows are drawn.
struct Marks {
  enum class Kind {
    lines,      ///< value along x, its interval low to high a band; points
    intervals,  ///< for each value of the series a point, low to high a rule; a triangle at `until` without
                ///< value
    parts,      ///< stacked bars along x, `told` by colour
    bars,       ///< a bar of x for each text of y, the longest first
    boxes,      ///< p5, p25, p50, p75, p95 and mean for each text of y
    dots,       ///< points at x and y
    ratios,     ///< for each text of y many points at x, from its first tick to its last, on both sides of 1
    places,     ///< the series by colour at texts x and y; hatched where `tied` or `undecided` say so
  } kind = Kind::lines;
  Direction x, y = {};
  double largest = 0;                                 ///< shown of what has a unit
  std::vector<std::pair<double, double>> ideal = {};  ///< a dashed line behind the marks
  std::optional<double> level = {};                   ///< a dashed line across
  ChartAxis told = {};                                ///< by colour, where it is not the series
  std::string joined = {};  ///< a column: the dots that say "yes" there are joined by a dashed line
  bool points = true;       ///< of lines: shown
};

struct Chart {
  std::string name;         ///< "speedup": of files, and of --chart
  std::string title;        ///< "Speed-up"
  std::string caption;      ///< what is drawn, and how it was aggregated
  std::string description;  ///< for who does not see it
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< a cell for each column
  std::vector<std::string> filters;     ///< fields of which one value is shown at a time
  std::optional<ChartAxis> series;      ///< told by colour
  Marks marks{};
};

struct GridCell {
  std::vector<std::size_t> at;           ///< of each axis, which value
  std::vector<const ResultPoint*> runs;  ///< that ended well, in the order of their seeds
};

/// What charts show of a frame: the axes that readers choose from, and the runs of each cell, which differ by
/// seed alone. Axes that another one determines (zipped with it) are left out, and so are those of one value.
struct Grid {
  std::vector<frame::Axis> axes;
  std::vector<GridCell> cells;            ///< some have no run
  std::optional<std::size_t> series;      ///< axis that is told by colour: the algorithm, else a short one
  std::optional<std::size_t> workers;     ///< axis of /cluster/workers
  std::optional<std::size_t> stragglers;  ///< axis that varies stragglers, or goes with one that does
  /// Axes of values drawn at random, over which is averaged as over seeds.
  std::vector<std::string> averaged;
  std::size_t seeds = 1;  ///< runs of the fullest cell

  ChartAxis axis(std::size_t place) const;
  /// Whether any run has it.
  bool has_metric(const std::string& metric) const;
  /// Cells with runs that differ in the series alone.
  std::vector<std::vector<const GridCell*>> compared() const;
  std::vector<std::string> filters_without(const std::vector<std::optional<std::size_t>>& without) const;
  /// Fields of axes that only happen.
  std::vector<std::string> circumstances() const;
};
Grid make_grid(const frame::Frame& frame);

/// Values of a metric in a cell's runs, those that have it.
std::vector<double> values_of(const GridCell& cell, const std::string& metric);

/// What charts are made of.
struct ChartSource {
  const frame::Frame& frame;
  const Grid& grid;

  /// Without rows: a column for each axis, and these.
  Chart chart(const std::vector<Column>& columns) const;
};
void add_row(Chart& chart, const ChartSource& source, const GridCell& cell, const std::vector<Cell>& values);
/// A value with the ends of its interval: three cells.
std::vector<Cell> with_ends(const std::optional<double>& value,
                            const std::optional<statistics::Interval>& interval);

/// A chart, or a sentence that says why there is none.
using MadeChart = std::variant<Chart, std::string>;

struct ChartKind {
  const char* name;
  const char* title;
  const char* summary;  ///< a sentence for help and docs
  MadeChart (*make)(const ChartSource& source);
};
/// In the order of the page.
const std::vector<ChartKind>& chart_kinds();

MadeChart pareto_chart(const ChartSource& source);
MadeChart winners_chart(const ChartSource& source);

}  // namespace simsgd::questions
