#include "analysis/questions/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/frame/frame.hpp"

namespace simsgd::questions {

namespace {

constexpr const char *kUndecided = "undecided", *kNobody = "nobody arrives";

struct ComparedCell {
  std::vector<Value> place;  ///< on the other axes
  Value value;
  const Measure* measure = nullptr;
  CellSummary baseline, summary;
  statistics::Comparison comparison;
  std::optional<statistics::Estimate> efficiency;
  double corrected_p = 1;
  std::string verdict;
};

/// Axes that make the cells: all that vary but `by` and what it determines.
std::vector<std::size_t> other_axes(const Frame& frame, std::size_t by) {
  std::vector<std::size_t> others;
  for (const std::size_t axis : frame.varying())
    if (axis != by && !frame.determines(by, axis)) others.push_back(axis);
  return others;
}

bool has_efficiency(const std::string& by, const Measure& measure) {
  return (by == "workers" || by.ends_with("/workers")) &&
         (measure.name == "throughput_samples_per_s" || measure.name == "time_to_target_s");
}

/// Those of the seeds that both have, so that the means differ by the mean difference.
std::vector<Sample> paired(const std::vector<Sample>& samples, const std::vector<Sample>& others) {
  const auto counts = [](const Sample& each) {
    return each.kind == Sample::Kind::value || each.kind == Sample::Kind::censored;
  };
  std::vector<Sample> kept = samples;
  std::erase_if(kept, [&](const Sample& each) {
    return counts(each) && std::ranges::none_of(others, [&](const Sample& other) {
             return counts(other) && other.point->seed == each.point->seed;
           });
  });
  return kept;
}

bool is_of_time(const Measure& measure) { return measure.unit == "s" || measure.unit == "1/s"; }

void correct(std::vector<ComparedCell>& cells) {
  std::vector<statistics::Comparison> comparisons;
  for (const ComparedCell& each : cells) comparisons.push_back(each.comparison);
  const std::vector<double> corrected = statistics::corrected(comparisons);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].corrected_p = corrected[i];
    cells[i].verdict = verdict_text(cells[i].comparison, corrected[i], *cells[i].measure);
  }
}

std::vector<ComparedCell> compared_cells(const Frame& frame, std::size_t by, std::size_t baseline,
                                         const std::vector<std::size_t>& others,
                                         const std::vector<Measure>& measures) {
  // Of each place on the other axes, the values of `by` that have points there.
  std::vector<std::size_t> axes = others;
  axes.push_back(by);
  const std::vector<Group> groups = frame.groups(axes);
  std::vector<std::vector<const Group*>> places;
  for (const Group& group : groups) {
    const bool same = !places.empty() &&
                      std::equal(group.at.begin(), group.at.end() - 1, places.back().front()->at.begin());
    if (!same) places.emplace_back();
    places.back().push_back(&group);
  }
  std::vector<ComparedCell> cells;
  for (const Measure& measure : measures)
    for (const std::vector<const Group*>& place : places) {
      std::map<std::size_t, std::vector<Sample>> samples;  // by value of the axis
      std::vector<statistics::Runs> runs;
      for (const Group* group : place) {
        samples[group->at.back()] = samples_of(frame, group->points, measure);
        runs.push_back(runs_of(samples[group->at.back()]));
      }
      const std::vector<Sample>& of_baseline = samples[baseline];
      const std::optional<double> tau = statistics::common_tau(runs);  // one for all values of the axis
      for (const Group* group : place) {
        if (group->at.back() == baseline) continue;
        const std::vector<Sample>& of_value = samples[group->at.back()];
        const std::optional<double> model_error =
            off_by(frame.details().scenario, measure.name, points_of(of_baseline), points_of(of_value));
        ComparedCell cell{
            {},
            frame.axes()[by].values[group->at.back()],
            &measure,
            summarise(paired(of_baseline, of_value), {}, tau, false),
            summarise(paired(of_value, of_baseline), {}, tau, false),
            statistics::compare(runs_of(of_baseline), runs_of(of_value), tau, measure.better, model_error),
            {},
            1,
            ""};
        for (std::size_t i = 0; i < others.size(); ++i)
          cell.place.push_back(frame.axes()[others[i]].values[group->at[i]]);
        const std::optional<double>&one = frame.axes()[by].values[baseline].number,
              &other = cell.value.number;
        if (has_efficiency(frame.axes()[by].name, measure) && cell.comparison.speed_up && one && other)
          cell.efficiency = statistics::efficiency(*cell.comparison.speed_up, *other / *one);
        cells.push_back(std::move(cell));
      }
    }
  correct(cells);
  return cells;
}

/// For a table of `measures`: of each its unit, over both sides of all its cells.
std::map<const Measure*, CommonUnit> units_of(const std::vector<ComparedCell>& cells) {
  std::map<const Measure*, std::vector<double>> values;
  for (const ComparedCell& cell : cells)
    for (const CellSummary* each : {&cell.baseline, &cell.summary}) {
      if (each->value) values[cell.measure].push_back(*each->value);
      if (each->above_seen()) values[cell.measure].push_back(each->seen_until);
    }
  std::map<const Measure*, CommonUnit> units;
  for (const ComparedCell& cell : cells)
    units[cell.measure] = unit_for(cell.measure->unit, values[cell.measure]);
  return units;
}

std::string shown_ratio(const std::optional<statistics::Estimate>& ratio) {
  const auto three_digits = [](double value) { return grouped(value, value < 10 ? 3 : value < 100 ? 2 : 1); };
  if (!ratio) return "-";
  if (!ratio->interval || ratio->interval->low == ratio->interval->high) return three_digits(ratio->value);
  return fmt::format("{} [{}, {}]", three_digits(ratio->value), three_digits(ratio->interval->low),
                     three_digits(ratio->interval->high));
}

std::string shown_p(const ComparedCell& cell) {
  if (!cell.comparison.difference || !cell.comparison.difference->interval) return "-";
  return cell.corrected_p < 0.0001 ? "< 0.0001" : fmt::format("{:.4f}", cell.corrected_p);
}

void fill_shown(const std::vector<ComparedCell>& cells, const std::string& by,
                const std::vector<std::string>& others, Table& table) {
  const std::map<const Measure*, CommonUnit> units = units_of(cells);
  std::set<const Measure*> measures;
  bool efficient = false, directed = true;
  for (const ComparedCell& cell : cells) {
    measures.insert(cell.measure);
    efficient = efficient || cell.efficiency;
    directed = directed && cell.measure->better != Better::neither && is_of_time(*cell.measure);
  }
  const bool several = measures.size() > 1;
  if (several) table.header.emplace_back("metric");
  table.header.insert(table.header.end(), others.begin(), others.end());
  table.header.push_back(by);
  table.align.assign(table.header.size(), 'l');
  const std::string unit = several || units.empty() ? "" : in_brackets(units.begin()->second);
  for (const std::string& name : {std::string("pairs"), "baseline" + unit, "value" + unit,
                                  "difference" + unit, std::string(directed ? "speed-up" : "ratio")})
    table.header.push_back(name);
  if (efficient) table.header.emplace_back("efficiency");
  table.header.emplace_back("p (Holm)");
  table.header.emplace_back("verdict");
  for (const ComparedCell& cell : cells) {
    const CommonUnit& of_cell = units.at(cell.measure);
    std::vector<std::string> row;
    if (several) row.push_back(cell.measure->name + in_brackets(of_cell));
    for (const Value& each : cell.place) row.push_back(each.label);
    row.push_back(cell.value.label);
    row.push_back(std::to_string(cell.comparison.pairs));
    const auto without_interval = [&](CellSummary summary) {
      summary.interval.reset();
      return shown_cell(summary, of_cell);
    };
    row.push_back(without_interval(cell.baseline));
    row.push_back(without_interval(cell.summary));
    const auto& difference = cell.comparison.difference;
    row.push_back(
        (difference ? shown_estimate(difference->value, difference->interval, of_cell, true) : "-") +
        (cell.comparison.off_by ? " (deterministic)" : ""));
    row.push_back(shown_ratio(directed ? cell.comparison.speed_up : cell.comparison.ratio));
    if (efficient) row.push_back(shown_ratio(cell.efficiency));
    row.push_back(shown_p(cell));
    row.push_back(cell.verdict +
                  (cell.comparison.until ? " until " + of_cell.show(*cell.comparison.until) : "") +
                  (cell.verdict == kUndecided ? " within ± " + of_cell.show(*cell.comparison.off_by) : ""));
    table.rows.push_back(std::move(row));
  }
}

void fill_records(const std::vector<ComparedCell>& cells, const std::string& by, const Value& baseline,
                  const std::vector<std::string>& others, Table& table) {
  for (const ComparedCell& cell : cells) {
    Table::Record record;
    for (std::size_t i = 0; i < others.size(); ++i) record.emplace_back(others[i], record_of(cell.place[i]));
    record.insert(record.end(), {{by, record_of(cell.value)},
                                 {"baseline", record_of(baseline)},
                                 {"metric", cell.measure->name},
                                 {"unit", cell.measure->unit},
                                 {"pairs", cell.comparison.pairs},
                                 {"baseline_value", finite_or_null(cell.baseline.value)},
                                 {"value", finite_or_null(cell.summary.value)}});
    const auto add_estimate = [&record](const std::string& name, const auto& estimate) {
      const auto interval = estimate ? estimate->interval : std::nullopt;
      record.emplace_back(name, finite_or_null(estimate ? std::optional(estimate->value) : std::nullopt));
      record.emplace_back(name + "_low", low_or_null(interval));
      record.emplace_back(name + "_high", high_or_null(interval));
    };
    const auto& difference = cell.comparison.difference;
    add_estimate("difference", difference);
    add_estimate("ratio", cell.comparison.ratio);
    add_estimate("speed_up", cell.comparison.speed_up);
    add_estimate("efficiency", cell.efficiency);
    const bool tested = difference && difference->interval;
    record.insert(record.end(),
                  {{"p", finite_or_null(tested ? std::optional(difference->p) : std::nullopt)},
                   {"p_holm", finite_or_null(tested ? std::optional(cell.corrected_p) : std::nullopt)},
                   {"verdict", cell.verdict},
                   {"until", finite_or_null(cell.comparison.until)},
                   {"failed", cell.summary.failed},
                   {"baseline_failed", cell.baseline.failed}});
    table.add(record);
  }
}

void explain(const std::vector<ComparedCell>& cells, Table& table) {
  const auto any = [&](auto holds) { return std::ranges::any_of(cells, holds); };
  for (const auto& [verdict, note] :
       {std::pair{"tie", "tie: the difference is not significant after Holm's correction over the rows"},
        {kUndecided, kUndecidedNote},
        {kNobody, "nobody arrives: no run of either side reaches the target by then; simulate longer"},
        {"one seed", "one seed: a difference without an interval; add \"seeds\" to the study"},
        {"no pair", "no pair: no seed has a result on both sides"}})
    if (any([verdict = verdict](const ComparedCell& cell) { return cell.verdict == verdict; }))
      table.notes.emplace_back(note);
  if (any([](const ComparedCell& cell) { return cell.comparison.until.has_value(); }))
    table.notes.emplace_back(
        "until: tau, the earliest end of a cell whose last run missed the target; times are compared up to there (restricted means)");
}

}  // namespace

std::string verdict_text(const statistics::Comparison& comparison, double corrected_p,
                         const Measure& measure) {
  if (comparison.pairs == 0) return "no pair";
  switch (statistics::verdict(comparison, corrected_p)) {
    case statistics::Verdict::unknown:
      return "one seed";
    case statistics::Verdict::unseen:
      return kNobody;
    case statistics::Verdict::undecided:
      return kUndecided;
    case statistics::Verdict::tie:
      return "tie";
    case statistics::Verdict::less:
    case statistics::Verdict::more:
      break;
  }
  const bool less = comparison.difference->value < 0;
  if (measure.better == Better::neither) return less ? "less" : "more";
  const bool good = less == (measure.better == Better::less);
  return is_of_time(measure) ? (good ? "faster" : "slower") : (good ? "better" : "worse");
}

Table baseline_table(const Frame& frame, const BaselineQuestion& question, std::vector<InputError> errors) {
  const std::optional<std::size_t> by = frame.axis("--by", question.by, errors);
  const std::optional<std::size_t> baseline =
      by ? frame.value("--baseline", *by, question.baseline, errors) : std::nullopt;
  const std::vector<Measure> measures = parse_measures(frame, question.measures, errors);
  if (!errors.empty()) throw ConfigError(errors);
  expect_results(frame);
  const Axis& axis = frame.axes()[*by];
  if (axis.values.size() < 2)
    throw ConfigError({"--by", "", "has a single value here, so there is nothing to compare", axis.name,
                       "Name another axis, or select more values with --where"});
  const Value& of_baseline = axis.values[*baseline];
  const std::vector<std::size_t> others = other_axes(frame, *by);
  const std::vector<ComparedCell> cells = compared_cells(frame, *by, *baseline, others, measures);
  std::vector<std::string> names;
  for (const std::size_t each : others) names.push_back(frame.axes()[each].name);
  Table table;
  table.title =
      fmt::format("{}: {} against {} = {}, paired by seed, 95 % intervals", frame.study().name,
                  measures.size() == 1 ? measures.front().name : "metrics", axis.name, of_baseline.label);
  table.facts = {{"study", frame.study().name}, {"id", frame.study().id}, {"level", statistics::kUsualLevel}};
  fill_shown(cells, axis.name, names, table);
  fill_records(cells, axis.name, of_baseline, names, table);
  explain(cells, table);
  for (const std::string& note : notes_on_missing(frame.rows())) table.notes.push_back(note);
  return table;
}

}  // namespace simsgd::questions
