#include "analysis/questions/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/frame/cell.hpp"
#include "analysis/questions/tables.hpp"

namespace simsgd::questions {

namespace {

// More values than a person chooses from, and no two cells alike: they were drawn.
constexpr std::size_t kMostChoices = 200;
constexpr std::size_t kMostSeries = 24;

bool asked_for(const frame::Axis& axis) {
  return axis.pointer == "/cluster/workers" || axis.pointer == "/algorithm" ||
         axis.pointer == "/algorithm/name";
}

/// Those that readers choose from; what draws at random goes to `averaged`.
std::vector<std::size_t> kept_axes(const frame::Frame& frame, std::vector<std::string>& averaged) {
  const std::vector<frame::Axis>& axes = frame.axes();
  const auto drawn = [&](std::size_t axis) { return axes[axis].values.size() > kMostChoices; };
  std::vector<std::size_t> kept;
  for (const std::size_t axis : frame.varying()) {
    const bool special = asked_for(axes[axis]);
    if (!special && drawn(axis)) {
      averaged.push_back(axes[axis].name);
      continue;
    }
    bool told = false;
    for (const std::size_t other : frame.varying()) {
      if (special || other == axis || drawn(other) || !frame.determines(other, axis)) continue;
      // Of two that determine each other the first stays, or the one that charts ask for.
      told = told || asked_for(axes[other]) || other < axis || !frame.determines(axis, other);
    }
    if (!told) kept.push_back(axis);
  }
  return kept;
}

std::optional<std::size_t> series_axis(const std::vector<frame::Axis>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].pointer.starts_with("/algorithm") && axes[i].values.size() <= kMostSeries) return i;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].pointer != "/cluster/workers" && axes[i].values.size() <= kMostSeries) return i;
  return std::nullopt;
}

}  // namespace

Grid make_grid(const frame::Frame& frame) {
  Grid grid;
  const std::vector<std::size_t> kept = kept_axes(frame, grid.averaged);
  for (const std::size_t axis : kept) {
    const std::size_t place = grid.axes.size();
    grid.axes.push_back(frame.axes()[axis]);
    if (grid.axes.back().pointer == "/cluster/workers" && grid.axes.back().is_numeric()) grid.workers = place;
    for (const std::size_t other : frame.varying())
      if (!grid.stragglers && frame.axes()[other].pointer.starts_with("/stragglers") &&
          frame.determines(axis, other))
        grid.stragglers = place;
  }
  grid.series = series_axis(grid.axes);
  for (const frame::Group& group : frame.groups(kept)) {
    grid.cells.push_back({group.at, group.runs()});
    grid.seeds = std::max(grid.seeds, grid.cells.back().runs.size());
  }
  return grid;
}

std::vector<double> values_of(const GridCell& cell, const std::string& metric) {
  std::vector<double> values;
  for (const ResultPoint* run : cell.runs)
    if (const auto value = metric_in(run->metrics, metric)) values.push_back(*value);
  return values;
}

ChartAxis Grid::axis(std::size_t place) const {
  return {"axis_" + std::to_string(place), axes[place].name, axes[place].labels()};
}

bool Grid::has_metric(const std::string& metric) const {
  return std::ranges::any_of(cells, [&](const GridCell& cell) { return !values_of(cell, metric).empty(); });
}

std::vector<std::vector<const GridCell*>> Grid::compared() const {
  std::map<std::vector<std::size_t>, std::vector<const GridCell*>> groups;
  for (const GridCell& cell : cells) {
    std::vector<std::size_t> at = cell.at;
    if (series) at[*series] = 0;
    if (!cell.runs.empty()) groups[at].push_back(&cell);
  }
  std::vector<std::vector<const GridCell*>> all;
  for (auto& each : groups) all.push_back(std::move(each.second));
  return all;
}

std::vector<std::string> Grid::filters_without(const std::vector<std::optional<std::size_t>>& without) const {
  std::vector<std::string> filters;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::ranges::find(without, std::optional(i)) == without.end()) filters.push_back(axis(i).field);
  return filters;
}

std::vector<std::string> Grid::circumstances() const {
  std::vector<std::string> fields;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].circumstance) fields.push_back(axis(i).field);
  return fields;
}

Chart ChartSource::chart(const std::vector<Column>& columns) const {
  Chart chart{};
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    chart.columns.push_back({grid.axis(i).field, grid.axes[i].name, grid.axes[i].name, ""});
  chart.columns.insert(chart.columns.end(), columns.begin(), columns.end());
  if (grid.series) chart.series = grid.axis(*grid.series);
  chart.filters = grid.filters_without({grid.series});
  return chart;
}

void add_row(Chart& chart, const ChartSource& source, const GridCell& cell, const std::vector<Cell>& values) {
  std::vector<Cell>& row = chart.rows.emplace_back();
  for (std::size_t i = 0; i < cell.at.size(); ++i)
    row.emplace_back(source.grid.axes[i].values[cell.at[i]].label);
  row.insert(row.end(), values.begin(), values.end());
}

std::vector<Cell> with_ends(const std::optional<double>& value,
                            const std::optional<statistics::Interval>& interval) {
  std::vector<Cell> cells(3);
  if (value) cells[0] = *value;
  if (interval) {
    cells[1] = interval->low;
    cells[2] = interval->high;
  }
  return cells;
}

// Who wins where: the best value of the series axis in each cell of two others, and who is tied with it
// (statistics::contest). Cost against time: what each choice costs and how long it takes, to the target or
// for a million samples, and the choices that no other one beats in both.

namespace {

constexpr double kSamples = 1e6;

const char* title_of(const frame::Measure& measure) {
  if (measure.name == "time_to_target_s") return "time to target";
  return measure.name == "throughput_samples_per_s" ? "throughput" : "time of a step";
}

struct Choice {
  const GridCell* cell;
  double time_s = 0, cost_usd = 0;
  std::size_t seeds = 0;
  bool front = true;
  bool alone = false;  ///< no other choice is met under its circumstances
};

/// Of a cell all of whose runs arrive; means over its seeds.
std::optional<Choice> choice_of(const GridCell& cell, bool to_target) {
  std::vector<double> times, costs;
  for (const ResultPoint* run : cell.runs) {
    const auto metric = [&](const char* name) { return metric_in(run->metrics, name).value_or(0); };
    const double cost_usd = metric("cost_usd"), ran_s = metric("simulated_time_s"),
                 throughput = metric("throughput_samples_per_s");
    const double time_s = to_target ? metric("time_to_target_s") : throughput > 0 ? kSamples / throughput : 0;
    if (!(cost_usd > 0 && ran_s > 0 && time_s > 0)) return std::nullopt;
    times.push_back(time_s);
    costs.push_back(time_s * cost_usd / ran_s);
  }
  if (times.empty()) return std::nullopt;
  return Choice{&cell, statistics::mean(times), statistics::mean(costs), times.size()};
}

/// Which none beats that is met under the same circumstances.
void mark_front(const Grid& grid, std::vector<Choice>& choices) {
  std::map<std::vector<std::size_t>, std::vector<Choice*>> together;
  for (Choice& choice : choices) {
    std::vector<std::size_t> happens;
    for (std::size_t axis = 0; axis < grid.axes.size(); ++axis)
      if (grid.axes[axis].circumstance) happens.push_back(choice.cell->at[axis]);
    together[happens].push_back(&choice);
  }
  for (auto& [happens, group] : together) {
    std::ranges::sort(group, [](const Choice* a, const Choice* b) {
      return std::pair(a->time_s, a->cost_usd) < std::pair(b->time_s, b->cost_usd);
    });
    group.front()->alone = group.size() == 1;
    const Choice* last = nullptr;  // on the front: the cheapest so far
    for (Choice* choice : group) {
      const bool same = last && choice->time_s == last->time_s && choice->cost_usd == last->cost_usd;
      choice->front = same || !last || choice->cost_usd < last->cost_usd;
      if (choice->front) last = choice;
    }
  }
}

}  // namespace

MadeChart pareto_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  if (!grid.has_metric("cost_usd")) return "No device here has a price (/cluster/device/price_usd_per_h).";
  const bool to_target = grid.has_metric("time_to_target_s");
  std::vector<Choice> choices;
  std::size_t ran = 0;
  for (const GridCell& cell : grid.cells) {
    ran += cell.runs.empty() ? 0U : 1U;
    if (const auto choice = choice_of(cell, to_target)) choices.push_back(*choice);
  }
  if (choices.empty()) return "No setting has a cost and a time for all of its seeds.";
  mark_front(grid, choices);
  if (std::ranges::all_of(choices, [](const Choice& choice) { return choice.alone; }))
    return "No two choices ran under the same circumstances.";
  Chart chart = source.chart({{"time_s", "time_s", "time", "s"},
                              {"cost_usd", "cost_usd", "cost", "USD"},
                              {"front", "front", "unbeaten", ""},
                              {"seeds", "seeds", "seeds", "1"}});
  chart.marks = {Marks::Kind::dots,
                 {"time_s", "time", Direction::Scale::spread, "", "s"},
                 {"cost_usd", "cost (USD)", Direction::Scale::spread}};
  chart.marks.joined = "front";
  for (const Choice& choice : choices) {
    add_row(chart, source, *choice.cell,
            {choice.time_s, choice.cost_usd, choice.alone ? Cell() : Cell(choice.front ? "yes" : "no"),
             static_cast<double>(choice.seeds)});
    chart.marks.largest = std::max(chart.marks.largest, choice.time_s);
  }
  chart.filters = grid.circumstances();
  chart.caption = fmt::format(
      "What {} costs, and how long it takes: means over seeds of every choice. The dashed line joins the choices that no other choice beats in both.{}",
      to_target ? "reaching the target" : "a million samples",
      choices.size() < ran
          ? fmt::format(" {} settings are left out because a seed misses the target.", ran - choices.size())
          : "");
  chart.description = "Cost against time, a dot for each choice, and the Pareto front";
  return chart;
}

MadeChart winners_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  if (!grid.series) return "No axis of this study has values that could be compared by colour.";
  const frame::Axis& series = grid.axes[*grid.series];
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    if (i != *grid.series) others.push_back(i);
  if (others.size() < 2)
    return fmt::format("This chart needs two axes besides {}; this study has {}.", series.name,
                       others.empty() ? "none" : "one");
  const std::optional<frame::Measure> measure = headline_measure(source.frame);
  if (!measure) return "No run has a time to target, a throughput or a time of a step.";
  Chart chart = source.chart({{"value", "best_" + measure->name, title_of(*measure), measure->unit},
                              {"tied", "tied_with", "tied with", ""},
                              {"undecided", "undecided_with", "undecided with", ""},
                              {"off_by", "undecided_within", "undecided within ±", measure->unit},
                              {"until", "until_s", "tau", "s"}});
  chart.columns[*grid.series].title = "best " + series.name;
  bool certain = true;
  for (const std::vector<const GridCell*>& cells : grid.compared()) {
    std::vector<std::vector<frame::Sample>> samples;
    for (const GridCell* cell : cells)
      samples.push_back(frame::samples_of(source.frame, cell->runs, *measure));
    const statistics::Contest found = frame::contest(source.frame, *measure, samples);
    if (!found.best) continue;
    const auto named = [&](statistics::Verdict verdict) {
      std::string names;
      for (std::size_t i = 0; i < cells.size(); ++i)
        if (found.verdicts[i] == verdict)
          names += (names.empty() ? "" : ", ") + series.values[cells[i]->at[*grid.series]].label;
      return names;
    };
    std::optional<double> off_by;  // at most, in a difference that is undecided
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (found.verdicts[i] == statistics::Verdict::undecided)
        off_by = std::max(off_by, found.against_best[i]->off_by);
    for (std::size_t i = 0; i < cells.size(); ++i)
      certain = certain && (i == *found.best || found.verdicts[i] != statistics::Verdict::unknown);
    add_row(
        chart, source, *cells[*found.best],
        {*found.means[*found.best], named(statistics::Verdict::tie), named(statistics::Verdict::undecided),
         off_by ? Cell(*off_by) : Cell(), found.tau ? Cell(*found.tau) : Cell()});
  }
  if (chart.rows.empty())
    return fmt::format("No cell has two values of {} with {} to compare.", series.name, measure->name);
  const std::size_t across = others[0], down = others[1];
  chart.filters = grid.filters_without({grid.series, across, down});
  chart.caption = fmt::format(
      "Best by {}{}. Hatched cells are ties, where the difference over the same seeds is not significant after Holm's correction, or undecided, where deterministic runs differ by less than the model's error.{}{}",
      title_of(*measure), measure->better == Better::less ? " (least)" : " (most)",
      measure->name == "time_to_target_s"
          ? " Times are compared up to tau, the earliest end of a compared cell whose last run missed the target."
          : "",
      certain ? "" : " With a single seed, differences have no interval, and only equal values are hatched.");
  chart.description = fmt::format("The best {} in each cell of {} and {}; ties are hatched", series.name,
                                  grid.axes[across].name, grid.axes[down].name);
  chart.marks.kind = Marks::Kind::places;
  chart.marks.x.axis = grid.axis(across);
  chart.marks.y.axis = grid.axis(down);
  return chart;
}

}  // namespace simsgd::questions
