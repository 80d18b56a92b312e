#include "analysis/calibration/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>

#include "analysis/calibration/uncertainty.hpp"

namespace simsgd {

namespace {

constexpr double kLeftOutLevel = 0.9;

const std::string& column_name(const LeftOut& part, const std::vector<std::string>& columns) {
  return *std::ranges::find_if(
      columns, [&](const std::string& column) { return part.part.starts_with(column + " "); });
}

/// Those of all parts but one.
std::vector<CountedError> other_errors(const Calibration& calibration,
                                       const std::vector<const LeftOut*>& parts, const LeftOut* but) {
  std::vector<CountedError> errors;
  for (const LeftOut* part : parts) {
    if (part == but) continue;
    const WeightedPoints what = weigh(calibration.points, part->which, calibration.spec.fit.octaves_equal);
    for (std::size_t i = 0; i < part->which.size(); ++i)
      errors.push_back({part->log_errors[i], what.weights[i] * count_of_part(part->which.size())});
  }
  return errors;
}

LeftOutColumn judged_column(const Calibration& calibration, const std::string& column,
                            const std::vector<const LeftOut*>& parts) {
  LeftOutColumn judged{column, {}, 0, 0, 0, 0};
  for (const LeftOut* part : parts) {
    const auto [half, reach] = reach_of_errors(other_errors(calibration, parts, part));
    for (std::size_t i = 0; i < part->which.size(); ++i) {
      const double measured = calibration.points.points[part->which[i]].measurement.value;
      LeftOutPoint point{measured * std::exp(part->log_errors[i]), 0, 0, 0, 0, part->log_errors[i]};
      judged.mean_error += std::fabs(std::expm1(point.log_error));
      if (reach > 0) {
        point.low = point.predicted * std::exp(-reach);
        point.high = point.predicted * std::exp(reach);
        point.half_low = point.predicted * std::exp(-half);
        point.half_high = point.predicted * std::exp(half);
        ++judged.with_interval;
        judged.inside += measured >= point.low && measured <= point.high ? 1 : 0;
        judged.mean_width += std::expm1(2 * reach);
      }
      judged.points[part->which[i]] = point;
    }
  }
  judged.mean_error /= static_cast<double>(judged.points.size());
  if (judged.with_interval > 0) judged.mean_width /= static_cast<double>(judged.with_interval);
  return judged;
}

std::string in_percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string off_by(double share) { return fmt::format("{:+.1f} %", 100 * share); }

std::string number(double value) { return fmt::format("{:.4g}", value); }

double mean_error_beside(const Calibration& calibration) {
  double sum = 0, count = 0;
  for (const JudgedPoint& each : calibration.fit.points) {
    sum += std::fabs(calibration.beside[each.point] / each.measured - 1);
    ++count;
  }
  return sum / count;
}

/// The interval of nine tenths, the last of a point's levels.
std::string tested_row(const std::string& name, const Judgement& judgement) {
  std::size_t inside = 0, with_interval = 0;
  double width = 0;
  for (const JudgedPoint& each : judgement.points) {
    if (each.intervals.empty()) continue;
    const Interval& interval = each.intervals.back();
    ++with_interval;
    inside += each.measured >= interval.low && each.measured <= interval.high ? 1 : 0;
    width += interval.high / interval.low - 1;
  }
  if (with_interval == 0) return "";
  const auto [low, high] = binomial_interval(inside, with_interval);
  return fmt::format("| no cell of it fitted: {} | {} | {} | {} | {} of {} ({} to {}) | {} |\n", name,
                     judgement.points.size(), in_percent(judgement.all.mean), in_percent(judgement.all.worst),
                     inside, with_interval, in_percent(low), in_percent(high),
                     in_percent(width / static_cast<double>(with_interval)));
}

std::string summary(const Calibration& calibration, const std::vector<LeftOutColumn>& columns) {
  std::string text =
      "| | cells | mean error | worst | inside 90 % (share, 95 % interval) | mean width of 90 % |\n|---|---|---|---|---|---|\n";
  const ErrorSummary& fit = calibration.fit.all;
  text +=
      fmt::format("| fitted | {} | {} | {} | | |\n", fit.count, in_percent(fit.mean), in_percent(fit.worst));
  for (const LeftOutColumn& each : columns) {
    double worst = 0;
    for (const auto& [i, point] : each.points)
      worst = std::max(worst, std::fabs(std::expm1(point.log_error)));
    const auto [low, high] = binomial_interval(each.inside, each.with_interval);
    text += fmt::format("| left out: {} | {} | {} | {} | {} of {} ({} to {}) | {} |\n", each.column,
                        each.points.size(), in_percent(each.mean_error), in_percent(worst), each.inside,
                        each.with_interval, in_percent(low), in_percent(high), in_percent(each.mean_width));
  }
  for (std::size_t t = 0; t < calibration.tests.size(); ++t)
    text += tested_row(calibration.spec.tests[t].name, calibration.tests[t].front());
  if (!calibration.beside.empty())
    text += fmt::format("| data sheets only | {} | {} | | | |\n", fit.count,
                        in_percent(mean_error_beside(calibration)));
  return text + "\n";
}

std::string numbers(const Calibration& calibration) {
  std::string text = "| fitted number | value | 90 % |\n|---|---|---|\n";
  for (const NumberInterval& each : number_intervals(calibration, kLeftOutLevel))
    text += fmt::format(
        "| `{}` | {} | {} |\n", each.pointer, number(each.value),
        each.known ? fmt::format("{} to {}", number(each.low), number(each.high)) : std::string("-"));
  const std::vector<double>& weights = calibration.best().weights;
  if (!weights.empty()) {
    double squares = 0;
    for (const double weight : weights) squares += weight * weight;
    text += fmt::format(
        "\nEnsemble of {} ({} members): their weights amount to {:.1f} equal members; the likeliest weighs {}.\n",
        calibration.model().ensemble.front().name, weights.size(), 1 / squares,
        in_percent(*std::ranges::max_element(weights)));
  }
  return text + "\n";
}

/// Columns in which points differ.
std::vector<std::string> telling_columns(const Calibration& calibration) {
  std::vector<std::string> telling;
  for (const char* column : {"workload", "batch", "algorithm", "workers", "quantity"}) {
    const auto of = [&](const JudgedPoint& each) {
      return column_of(calibration.points.points[each.point].measurement, column).value_or("");
    };
    const auto& points = calibration.fit.points;
    if (std::ranges::any_of(points, [&](const JudgedPoint& each) { return of(each) != of(points.front()); }))
      telling.emplace_back(column);
  }
  return telling;
}

std::string cells(const Calibration& calibration, const std::vector<LeftOutColumn>& columns) {
  const std::vector<std::string> telling = telling_columns(calibration);
  std::string head = "|", line = "|";
  for (const std::string& column : telling) head += " " + column + " |", line += "---|";
  head += " measured | fitted |", line += "---|---|";
  for (const LeftOutColumn& each : columns) head += " left out: " + each.column + " |", line += "---|";
  if (!calibration.beside.empty()) head += " data sheets |", line += "---|";
  std::string text = head + "\n" + line + "\n";
  for (const JudgedPoint& each : calibration.fit.points) {
    text += "|";
    for (const std::string& column : telling)
      text += " " + column_of(calibration.points.points[each.point].measurement, column).value_or("") + " |";
    text += fmt::format(" {} | {} |", number(each.measured), off_by(each.error()));
    for (const LeftOutColumn& column : columns) {
      const auto found = column.points.find(each.point);
      if (found == column.points.end()) {
        text += " |";
        continue;
      }
      const LeftOutPoint& point = found->second;
      text += fmt::format(
          " {}{} |", off_by(std::expm1(point.log_error)),
          point.high > 0 ? fmt::format(" ({} to {})", number(point.low), number(point.high)) : std::string());
    }
    if (!calibration.beside.empty())
      text += fmt::format(" {} |", off_by(calibration.beside[each.point] / each.measured - 1));
    text += "\n";
  }
  return text;
}

/// What was predicted and nothing of which was fitted.
std::string tested_cells(const Calibration& calibration) {
  std::string text;
  for (const std::vector<Judgement>& ways : calibration.tests) {
    for (const JudgedPoint& each : ways.front().points) {
      if (text.empty())
        text =
            "\n| workload | algorithm | workers | measured | predicted | 90 % |\n|---|---|---|---|---|---|\n";
      const Measurement& point = calibration.points.points[each.point].measurement;
      text += fmt::format("| {} | {} | {} | {} | {} |", column_of(point, "workload").value_or(""),
                          column_of(point, "algorithm").value_or(""), point.workers, number(each.measured),
                          off_by(each.error()));
      text += each.intervals.empty() ? " |\n"
                                     : fmt::format(" {} to {} |\n", number(each.intervals.back().low),
                                                   number(each.intervals.back().high));
    }
  }
  return text;
}

}  // namespace

std::pair<double, double> binomial_interval(std::size_t inside, std::size_t count) {
  using boost::math::beta_distribution;
  const auto k = static_cast<double>(inside), n = static_cast<double>(count);
  const double low = inside == 0 ? 0 : boost::math::quantile(beta_distribution<>(k, n - k + 1), 0.025);
  const double high = inside == count ? 1 : boost::math::quantile(beta_distribution<>(k + 1, n - k), 0.975);
  return {low, high};
}

std::vector<LeftOutColumn> left_out_columns(const Calibration& calibration) {
  const std::vector<std::string>& names = calibration.spec.fit.leave_out;
  std::vector<LeftOutColumn> columns;
  for (const std::string& name : names) {
    std::vector<const LeftOut*> parts;
    for (const LeftOut& part : calibration.models[calibration.chosen].left_out)
      if (column_name(part, names) == name) parts.push_back(&part);
    if (!parts.empty()) columns.push_back(judged_column(calibration, name, parts));
  }
  return columns;
}

std::string calibration_markdown(const Calibration& calibration) {
  const std::vector<LeftOutColumn> columns = left_out_columns(calibration);
  return fmt::format("## {}\n\n`simsgd calibrate {} --markdown`\n\n", calibration.spec.name,
                     calibration.spec.file) +
         summary(calibration, columns) + numbers(calibration) + cells(calibration, columns) +
         tested_cells(calibration);
}

}  // namespace simsgd
