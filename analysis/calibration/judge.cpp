#include "analysis/calibration/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analysis/calibration/fitted_range.hpp"
#include "sim/base/random.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

constexpr std::uint64_t kNoiseSeed = 1;

int octave_of(const Point& point) {
  return point.bytes() > 0 ? static_cast<int>(std::floor(std::log2(point.bytes()))) : -1;
}

}  // namespace

double weighted_quantile(std::vector<std::pair<double, double>> values, double probability) {
  std::sort(values.begin(), values.end());
  double sum = 0, all = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (sum >= probability * all * (1 - 1e-12)) return value;
  }
  return values.back().first;
}

ErrorSummary summarise_errors(const std::vector<JudgedPoint>& points, const std::vector<double>& weights) {
  ErrorSummary summary;
  summary.count = points.size();
  if (points.empty()) return summary;
  std::vector<std::pair<double, double>> errors;
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double error = points[i].error();
    errors.emplace_back(std::fabs(error), weights[i]);
    summary.mean += weights[i] * std::fabs(error);
    summary.bias += weights[i] * error;
    sum += weights[i];
    if (std::fabs(error) >= summary.worst) {
      summary.worst = std::fabs(error);
      summary.worst_point = points[i].point;
    }
  }
  summary.mean /= sum;
  summary.bias /= sum;
  summary.median = weighted_quantile(errors, 0.5);
  summary.p95 = weighted_quantile(errors, 0.95);
  for (std::size_t level = 0; level < points.front().intervals.size(); ++level) {
    const auto within = std::count_if(points.begin(), points.end(), [level](const JudgedPoint& each) {
      return each.measured >= each.intervals[level].low && each.measured <= each.intervals[level].high;
    });
    summary.inside.emplace_back(points.front().intervals[level].level,
                                static_cast<double>(within) / static_cast<double>(points.size()));
  }
  return summary;
}

double judged_by(const ErrorSummary& summary, const std::string& statistic) {
  if (statistic == "median") return summary.median;
  if (statistic == "p95") return summary.p95;
  if (statistic == "worst") return summary.worst;
  return summary.mean;
}

std::optional<double> noise_of(const std::vector<Measurement>& all) {
  std::map<std::string, std::vector<double>> repeats;
  for (const Measurement& each : all) {
    if (!(each.value > 0)) continue;
    std::string key =
        fmt::format("{} {} {} {} {}", each.quantity, each.operation, each.workers, each.nodes, each.bytes);
    for (const auto& [name, value] : each.labels)
      if (name != "placement") key += fmt::format("\n{}={}", name, value);
    repeats[key].push_back(std::log(each.value));
  }
  double squares = 0, freedom = 0;
  for (const auto& [key, values] : repeats) {
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    freedom += static_cast<double>(values.size() - 1);
  }
  if (freedom == 0) return std::nullopt;
  return std::sqrt(squares / freedom);
}

std::vector<double> interpolate(const Points& points, const std::vector<std::size_t>& known,
                                const std::vector<std::size_t>& wanted) {
  const auto series = [&](std::size_t i) {
    const Measurement& each = points.points[i].measurement;
    return std::tuple(each.quantity, each.operation, each.workers, each.nodes);
  };
  std::map<decltype(series(0)), std::map<double, std::vector<double>>> of;
  for (const std::size_t i : known)
    if (points.points[i].bytes() > 0)
      of[series(i)][std::log(points.points[i].bytes())].push_back(
          std::log(points.points[i].measurement.value));
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  std::vector<double> values;
  for (const std::size_t i : wanted) {
    values.push_back(kNotGiven);
    const auto found = of.find(series(i));
    if (found == of.end() || !(points.points[i].bytes() > 0)) continue;
    const double x = std::log(points.points[i].bytes());
    const auto above = found->second.lower_bound(x - 1e-12);
    if (above == found->second.end()) continue;
    if (std::fabs(above->first - x) < 1e-12) {
      values.back() = std::exp(mean(above->second));
    } else if (above != found->second.begin()) {
      const auto below = std::prev(above);
      const double place = (x - below->first) / (above->first - below->first);
      values.back() = std::exp(mean(below->second) * (1 - place) + mean(above->second) * place);
    }
  }
  return values;
}

namespace {

/// `values[d][i]`: of draw d and point i. With the noise of a measurement of its own.
std::vector<Interval> intervals_of(const std::vector<std::vector<double>>& values, std::size_t i,
                                   double predicted, double widening, double noise) {
  std::vector<double> possible;
  for (std::size_t draw = 0; draw < values.size(); ++draw) {
    Stream stream({.seed = kNoiseSeed,
                   .purpose = Purpose::resampling,
                   .entity = static_cast<std::uint32_t>(i + 2),
                   .step = draw});
    possible.push_back(predicted * std::pow(values[draw][i] / predicted, widening) *
                       std::exp(noise * stream.normal()));
  }
  std::vector<Interval> intervals;
  for (const double level : kIntervalLevels)
    intervals.push_back({level, quantile(possible, (1 - level) / 2), quantile(possible, (1 + level) / 2)});
  return intervals;
}

void summarise_parts(const Points& points, Judgement& judgement, bool octaves_equal) {
  std::map<std::size_t, const JudgedPoint*> by_number;
  std::vector<std::size_t> which;
  for (const JudgedPoint& each : judgement.points) {
    by_number[each.point] = &each;
    which.push_back(each.point);
  }
  judgement.all = summarise_errors(judgement.points, weigh(points, which, octaves_equal).weights);
  std::map<int, std::vector<std::size_t>> workers, octaves;
  for (const std::size_t i : which) {
    workers[points.points[i].measurement.workers].push_back(i);
    octaves[octave_of(points.points[i])].push_back(i);
  }
  const auto part = [&](const std::vector<std::size_t>& some) {
    std::vector<JudgedPoint> judged;
    for (const std::size_t i : some) judged.push_back(*by_number.at(i));
    return summarise_errors(judged, weigh(points, some, octaves_equal).weights);
  };
  for (const auto& [number, some] : workers) judgement.by_workers[number] = part(some);
  for (const auto& [number, some] : octaves) judgement.by_octave[number] = part(some);
}

Judgement judged(const Points& points, const std::string& way, const std::vector<std::size_t>& which,
                 const std::vector<double>& predicted, double noise, bool octaves_equal) {
  Judgement judgement{way, {}, {}, {}, {}};
  for (std::size_t i = 0; i < which.size(); ++i)
    if (std::isfinite(predicted[i]))
      judgement.points.push_back(
          {which[i], points.points[which[i]].measurement.value, predicted[i], {}, noise});
  summarise_parts(points, judgement, octaves_equal);
  return judgement;
}

/// What each draw predicts of the points.
std::vector<std::vector<double>> drawn_values(const Judge& judge, const std::vector<std::size_t>& which,
                                              const std::vector<double>& predicted) {
  const Fitter& fitter = judge.fitter;
  const std::vector<Draw>& draws = judge.uncertainty.draws;
  if (draws.empty()) return {};
  if (!fitter.runs()) {
    std::vector<Patch> patches;
    for (const Draw& draw : draws) patches.push_back(scaled_patch(fitter.model(), draw.fitted, draw.factor));
    return fitter.predict(patches, which);
  }
  // Runs: as far as logarithms go straight with the parameters, instead of hundreds of simulations of each.
  const Eigen::MatrixXd slopes = slopes_of(fitter, judge.best, which);
  const std::vector<double> by_factor = sensitivities(fitter, judge.best, which);
  const std::vector<std::vector<double>> members = fitter.predict_members(judge.best, which);
  std::vector<std::vector<double>> values;
  for (const Draw& draw : draws) {
    const bool of_member = !members.empty() && !members[draw.fitted.member].empty();
    values.push_back(of_member ? members[draw.fitted.member] : predicted);
    const std::vector<double>& around = of_member && draw.fitted.member != judge.best.member
                                            ? judge.best.member_values[draw.fitted.member]
                                            : judge.best.values;
    for (std::size_t i = 0; i < which.size(); ++i) {
      double change = by_factor[i] * std::log(draw.factor);
      for (std::size_t p = 0; p < draw.fitted.values.size(); ++p)
        change += slopes(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(p)) *
                  (scale_of(fitter.model().parameters[p], draw.fitted.values[p]) -
                   scale_of(fitter.model().parameters[p], around[p]));
      values.back()[i] *= std::exp(change);
    }
  }
  return values;
}

Judgement judged_with_intervals(const Judge& judge, const std::vector<std::size_t>& which,
                                bool octaves_equal) {
  const Fitter& fitter = judge.fitter;
  const Points& points = fitter.points();
  const std::vector<double> predicted = fitter.predict(judge.best, which);
  const std::vector<std::vector<double>> values = drawn_values(judge, which, predicted);
  Judgement judgement{fitter.model().name, {}, {}, {}, {}};
  const FittedRange ranges(fitter, judge.uncertainty);
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (!std::isfinite(predicted[i])) continue;
    JudgedPoint point{which[i], points.points[which[i]].measurement.value, predicted[i], {}, judge.noise};
    if (!values.empty())
      point.intervals =
          intervals_of(values, i, predicted[i], ranges.widening(points.points[which[i]]), judge.noise);
    const Reach reach = ranges.reach(which[i]);
    for (std::size_t level = 0; level < point.intervals.size(); ++level) {
      Interval& interval = point.intervals[level];
      interval.low = std::min(interval.low, predicted[i] * std::exp(-reach[level]));
      interval.high = std::max(interval.high, predicted[i] * std::exp(reach[level]));
    }
    judgement.points.push_back(std::move(point));
  }
  summarise_parts(points, judgement, octaves_equal);
  return judgement;
}

}  // namespace

Judgement judge_fit(const Judge& judge) {
  return judged_with_intervals(judge, judge.fitter.fitted_points(), judge.fitter.spec().fit.octaves_equal);
}

std::vector<Judgement> judge_test(const Judge& judge, std::size_t number) {
  const Fitter& fitter = judge.fitter;
  const Points& points = fitter.points();
  const bool octaves_equal = fitter.spec().tests[number].octaves_equal;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < points.points.size(); ++i) {
    const std::vector<std::size_t>& tests = points.points[i].tests;
    if (std::find(tests.begin(), tests.end(), number) != tests.end()) which.push_back(i);
  }
  std::vector<Judgement> all{judged_with_intervals(judge, which, octaves_equal)};
  const auto compare = [&](const std::string& way, const std::vector<double>& predicted) {
    Judgement judgement = judged(points, way, which, predicted, judge.noise, octaves_equal);
    if (!judgement.points.empty()) all.push_back(std::move(judgement));
  };
  compare("interpolation", interpolate(points, fitter.fitted_points(), which));
  compare("not fitted", fitter.predict(std::vector<Patch>{{}}, which).front());
  return all;
}

}  // namespace simsgd
