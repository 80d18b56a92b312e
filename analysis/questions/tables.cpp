#include "analysis/questions/tables.hpp"
#include "sim/base/printable.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace simsgd::questions {

namespace {

constexpr double kLopsided = 0.005;  // of the width: arms that are shown as one

bool is_symmetric(double value, const statistics::Interval& interval) {
  const double below = value - interval.low, above = interval.high - value;
  if (std::isinf(below) || std::isinf(above)) return false;
  return std::fabs(above - below) <= kLopsided * (above + below);
}

std::string shown_end(double end, const CommonUnit& unit) {
  if (std::isinf(end)) return end > 0 ? "?" : "-?";
  return unit.show(end);
}

}  // namespace

CommonUnit unit_for(const std::string& si_unit, const std::vector<double>& values) {
  if (si_unit == "s") return common_time_unit(values);
  if (si_unit == "B") return common_bytes_unit(values);
  return common_unit(si_unit == "1" ? "" : si_unit, 1, values);
}

CommonUnit axis_unit(const std::string& si_unit, double largest) {
  if (si_unit != "s") return unit_for(si_unit, {largest});
  if (largest >= 3 * 3600.0) return {"h", 3600, 0};
  if (largest >= 600) return {"min", 60, 0};
  if (largest >= 1) return {"s", 1, 0};
  if (largest >= 1e-3) return {"ms", 1e-3, 0};
  return {"µs", 1e-6, 0};
}

std::string shown_estimate(double value, const std::optional<statistics::Interval>& interval,
                           const CommonUnit& unit, bool plus) {
  std::string text = (plus && value > 0 ? "+" : "") + unit.show(value);
  if (!interval || interval->low == interval->high) return text;
  if (is_symmetric(value, *interval)) return text + " ± " + unit.show(interval->half_width());
  return fmt::format("{} [{}, {}]", text, shown_end(interval->low, unit), shown_end(interval->high, unit));
}

std::string shown_cell(const CellSummary& summary, const CommonUnit& unit) {
  if (summary.above_seen()) return "> " + unit.show(summary.seen_until);
  if (!summary.value) return summary.failed > 0 ? "failed" : "-";
  return (summary.until ? "≥ " : "") + shown_estimate(*summary.value, summary.interval, unit);
}

std::string in_brackets(const CommonUnit& unit) { return unit.name.empty() ? "" : " (" + unit.name + ")"; }

std::string note_on_tau(const std::vector<double>& taus, const CommonUnit& unit) {
  std::string all;
  for (const double tau : taus)
    all += (all.empty() ? "" : ", ") + unit.show(tau) + (unit.name.empty() ? "" : " " + unit.name);
  return fmt::format(
      "Times are compared up to tau = {}, the earliest end of a cell whose last run missed the target{}. >: no run reaches the target by then; ≥: mean of min(T, tau) (Kaplan-Meier)",
      all, taus.size() > 1 ? ", one for each comparison" : "");
}

nlohmann::ordered_json finite_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json low_or_null(const std::optional<statistics::Interval>& interval) {
  return finite_or_null(interval ? std::optional(interval->low) : std::nullopt);
}

nlohmann::ordered_json high_or_null(const std::optional<statistics::Interval>& interval) {
  return finite_or_null(interval ? std::optional(interval->high) : std::nullopt);
}

namespace {

using Place = std::vector<std::size_t>;  // of each axis, which value

/// The choices that ran under one value of the circumstances.
struct Field {
  Place circumstances;
  std::vector<Place> choices;
  statistics::Contest contest;
  std::optional<std::size_t> next;  ///< the best of the others
  CellSummary best{};               ///< what the best one reaches

  /// How far a choice is behind the best, as a share of the better value.
  std::optional<double> behind(std::size_t choice, Better better) const {
    if (!contest.best || !contest.means[choice]) return std::nullopt;
    const double one = *contest.means[*contest.best], other = *contest.means[choice];
    const double ratio = better == Better::less ? other / one : one / other;
    return std::isfinite(ratio) ? std::optional(ratio - 1) : std::nullopt;
  }
};

std::vector<std::size_t> axes_that(const Frame& frame, bool happen) {
  std::vector<std::size_t> axes;
  for (const std::size_t axis : frame.varying())
    if (frame.axes()[axis].circumstance == happen) axes.push_back(axis);
  return axes;
}

std::vector<Field> fields_of(const Frame& frame, const std::vector<std::size_t>& circumstances,
                             const std::vector<std::size_t>& choices, const Measure& measure) {
  std::vector<std::size_t> axes = circumstances;
  axes.insert(axes.end(), choices.begin(), choices.end());
  std::map<Place, std::vector<Group>> found;
  const auto middle = static_cast<std::ptrdiff_t>(circumstances.size());
  for (Group& group : frame.groups(axes)) {
    const Place happens(group.at.begin(), group.at.begin() + middle);
    group.at.erase(group.at.begin(), group.at.begin() + middle);
    found[happens].push_back(std::move(group));
  }
  std::vector<Field> fields;
  for (const auto& [happens, groups] : found) {
    Field field{happens, {}, {}, {}};
    std::vector<std::vector<Sample>> samples;
    for (const Group& group : groups) {
      field.choices.push_back(group.at);
      samples.push_back(samples_of(frame, group.points, measure));
    }
    field.contest = contest(frame, measure, samples);
    if (field.contest.best)
      field.best = summarise(
          samples[*field.contest.best], {}, field.contest.tau,
          is_deterministic(frame.details().scenario, measure.name, points_of(samples[*field.contest.best])));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto behind = i == field.contest.best ? std::nullopt : field.behind(i, measure.better);
      if (behind && (!field.next || *behind < *field.behind(*field.next, measure.better))) field.next = i;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string shown_place(const Frame& frame, const std::vector<std::size_t>& axes, const Place& place) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < axes.size(); ++i)
    labels.push_back(frame.axes()[axes[i]].values[place[i]].label);
  return fmt::format("{}", fmt::join(labels, ", "));
}

/// "certain", "tie with 2 others", "undecided with 1 other", "one seed".
std::string how_sure(const Field& field) {
  const auto count = [&](statistics::Verdict verdict) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < field.choices.size(); ++i)
      found +=
          i != *field.contest.best && field.contest.against_best[i] && field.contest.verdicts[i] == verdict;
    return found;
  };
  const auto others = [](const char* what, std::size_t all) {
    return fmt::format("{} with {}", what, counted(all, "other"));
  };
  const std::size_t ties = count(statistics::Verdict::tie), undecided = count(statistics::Verdict::undecided);
  if (ties > 0 && undecided > 0) return others("tie or undecided", ties + undecided);
  if (ties > 0) return others("tie", ties);
  if (undecided > 0) return others("undecided", undecided);
  return count(statistics::Verdict::unknown) > 0 ? "one seed" : "certain";
}

/// For people: with how far the model may be off in the differences that are undecided.
std::string shown_sure(const Field& field, const CommonUnit& unit) {
  double off_by = 0;
  for (std::size_t i = 0; i < field.choices.size(); ++i)
    if (field.contest.verdicts[i] == statistics::Verdict::undecided)
      off_by = std::max(off_by, *field.contest.against_best[i]->off_by);
  return how_sure(field) + (off_by > 0 ? ", within ± " + unit.show(off_by) : "");
}

struct Overall {
  Place choice;
  double mean = 0, worst = 0;  ///< behind the best of each circumstance, as a share
};

/// Of choices that have a value wherever any has one.
std::optional<Overall> best_overall(const std::vector<Field>& fields, Better better) {
  std::map<Place, std::vector<double>> behind;
  std::size_t decided = 0;
  for (const Field& field : fields) {
    if (!field.contest.best) continue;
    ++decided;
    for (std::size_t i = 0; i < field.choices.size(); ++i)
      if (const auto share = field.behind(i, better)) behind[field.choices[i]].push_back(*share);
  }
  std::optional<Overall> best;
  for (const auto& [choice, shares] : behind) {
    if (shares.size() < decided) continue;
    Overall one{choice, 0, 0};
    for (const double share : shares) {
      one.mean += std::log1p(share) / static_cast<double>(shares.size());
      one.worst = std::max(one.worst, share);
    }
    one.mean = std::expm1(one.mean);
    if (!best || one.mean < best->mean) best = one;
  }
  return decided > 1 ? best : std::nullopt;
}

Measure measure_asked(const Frame& frame, const WinnersQuestion& question, std::vector<InputError>& errors) {
  if (question.measure.empty()) {
    if (const auto usual = headline_measure(frame)) return *usual;
    if (errors.empty()) expect_results(frame);
    errors.push_back({"--metric", "",
                      "must be given: no run has a time to target, throughput or time of a step", "",
                      which_there_are("", metrics_of(frame.rows()))});
    return {};
  }
  const std::vector<Measure> measures = parse_measures(frame, {question.measure}, errors);
  if (measures.empty()) return {};
  if (measures.front().better == Better::neither)
    errors.push_back({"--metric", "", "cannot rank choices: neither a higher nor a lower value is better",
                      question.measure, "Choose a metric such as time_to_target_s"});
  return measures.front();
}

void fill(const Frame& frame, const std::vector<Field>& fields, const std::vector<std::size_t>& circumstances,
          const std::vector<std::size_t>& choices, const Measure& measure, Table& table) {
  std::vector<double> values, taus;
  for (const Field& field : fields) {
    if (field.best.value) values.push_back(*field.best.value);
    const auto& compared = field.contest.against_best;
    if (std::ranges::any_of(compared, [](const auto& each) { return each && each->until; }) &&
        std::ranges::find(taus, *field.contest.tau) == taus.end())
      taus.push_back(*field.contest.tau);
  }
  const CommonUnit unit = unit_for(measure.unit, values);
  if (!taus.empty()) table.notes.push_back(note_on_tau(taus, unit));
  for (const std::size_t axis : circumstances) table.header.push_back(frame.axes()[axis].name);
  table.header.insert(table.header.end(),
                      {"best", measure.name + in_brackets(unit), "next", "behind", "how sure"});
  table.align.assign(circumstances.size() + 1, 'l');
  for (const std::size_t axis : circumstances) table.fields.push_back(frame.axes()[axis].name);
  for (const std::size_t axis : choices) table.fields.push_back("best " + frame.axes()[axis].name);
  for (const char* field :
       {"metric", "unit", "value", "low", "high", "next", "next_behind", "how_sure", "until"})
    table.fields.emplace_back(field);
  for (const Field& field : fields) {
    if (!field.contest.best) continue;
    const Place& best = field.choices[*field.contest.best];
    std::vector<std::string> row;
    std::vector<OrderedJson> record;
    for (std::size_t i = 0; i < circumstances.size(); ++i) {
      const Value& value = frame.axes()[circumstances[i]].values[field.circumstances[i]];
      row.push_back(value.label);
      record.push_back(record_of(value));
    }
    for (std::size_t i = 0; i < choices.size(); ++i)
      record.push_back(record_of(frame.axes()[choices[i]].values[best[i]]));
    const std::optional<double> behind =
        field.next ? field.behind(*field.next, measure.better) : std::nullopt;
    const std::string next = field.next ? shown_place(frame, choices, field.choices[*field.next]) : "-";
    row.insert(row.end(), {shown_place(frame, choices, best), shown_cell(field.best, unit), next,
                           behind ? fmt::format("{:.1f} %", 100 * *behind) : "-", shown_sure(field, unit)});
    record.insert(record.end(), {measure.name, measure.unit, finite_or_null(field.best.value),
                                 low_or_null(field.best.interval), high_or_null(field.best.interval), next,
                                 finite_or_null(behind), how_sure(field), finite_or_null(field.best.until)});
    table.rows.push_back(std::move(row));
    table.records.push_back(std::move(record));
  }
}

void explain(const Frame& frame, const std::vector<Field>& fields, const std::vector<std::size_t>& choices,
             const Measure& measure, Table& table) {
  std::size_t alone = 0, nobody = 0;
  bool unsure = false, undecided = false;
  for (const Field& field : fields) {
    if (field.contest.best) {
      const std::string sure = how_sure(field);
      unsure = unsure || sure.starts_with("tie");
      undecided = undecided || sure.find("undecided") != std::string::npos;
      continue;
    }
    const auto ran =
        std::ranges::count_if(field.contest.means, [](const auto& mean) { return mean.has_value(); });
    ++(ran < 2 && field.choices.size() < 2 ? alone : nobody);
  }
  if (const auto overall = best_overall(fields, measure.better)) {
    const std::string name = shown_place(frame, choices, overall->choice);
    table.notes.push_back(fmt::format(
        "Best over all circumstances: {}, on average {:.1f} % behind the best of each, at worst {:.1f} %",
        name, 100 * overall->mean, 100 * overall->worst));
    table.facts["overall"] = {
        {"best", name}, {"behind_mean", overall->mean}, {"behind_worst", overall->worst}};
  }
  if (unsure)
    table.notes.emplace_back("tie: the difference over the seeds is not significant after Holm's correction");
  if (undecided) table.notes.emplace_back(kUndecidedNote);
  if (alone > 0)
    table.notes.push_back(
        fmt::format("No winner in {} circumstances, where only one choice was simulated", alone));
  if (nobody > 0)
    table.notes.push_back(fmt::format("No winner in {} circumstances, where fewer than two choices {}",
                                      nobody,
                                      measure.name == "time_to_target_s" ? "arrive" : "have a result"));
}

}  // namespace

std::optional<Measure> headline_measure(const Frame& frame) {
  for (const char* name : {"time_to_target_s", "throughput_samples_per_s", "iteration_time_mean_s"}) {
    std::vector<InputError> none;
    if (!parse_measures(frame, {name}, none).empty() && none.empty()) return measure_of_metric(name);
  }
  return std::nullopt;
}

Table winners_table(const Frame& frame, const WinnersQuestion& question, std::vector<InputError> errors) {
  const Measure measure = measure_asked(frame, question, errors);
  const std::vector<std::size_t> circumstances = axes_that(frame, true), choices = axes_that(frame, false);
  if (choices.empty())
    errors.push_back(
        {frame.study().name, "", "has no axis of choices", "",
         "Vary the algorithm, its settings or the number of workers, or list in the study's \"circumstances\" the axes that nobody chooses"});
  if (!errors.empty()) throw ConfigError(errors);
  expect_results(frame);
  const std::vector<Field> fields = fields_of(frame, circumstances, choices, measure);
  Table table;
  std::vector<std::string> names;
  for (const std::size_t axis : choices) names.push_back(frame.axes()[axis].name);
  table.title = fmt::format("{}: best {} by {}, {}", frame.study().name, fmt::join(names, ", "), measure.name,
                            measure.better == Better::less ? "least first" : "most first");
  table.facts = {{"study", frame.study().name}, {"id", frame.study().id}};
  fill(frame, fields, circumstances, choices, measure, table);
  explain(frame, fields, choices, measure, table);
  for (const std::string& note : notes_on_missing(frame.rows())) table.notes.push_back(note);
  return table;
}

}  // namespace simsgd::questions
