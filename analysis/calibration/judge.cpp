#include "analysis/calibration/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "analysis/data_sheet.hpp"
#include "analysis/runner.hpp"
#include "analysis/runs/child_pool.hpp"
#include "analysis/statistics/intervals.hpp"

namespace simsgd {

namespace {

int octave_of(const Point& point) {
  return point.bytes() > 0 ? static_cast<int>(std::floor(std::log2(point.bytes()))) : -1;
}

/// The value below which so much of the weight lies, of (value, weight).
double weighted_quantile(std::vector<std::pair<double, double>> values, double probability) {
  std::ranges::sort(values);
  double sum = 0, all = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (sum >= probability * all * (1 - 1e-12)) return value;
  }
  return values.back().first;
}

}  // namespace

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
  const auto told = std::ranges::count_if(points, [](const auto& each) { return !each.intervals.empty(); });
  for (std::size_t level = 0; told > 0 && level < kIntervalLevels.size(); ++level) {
    const auto within = std::ranges::count_if(points, [level](const JudgedPoint& each) {
      return !each.intervals.empty() && each.measured >= each.intervals[level].low &&
             each.measured <= each.intervals[level].high;
    });
    summary.inside.emplace_back(kIntervalLevels[level],
                                static_cast<double>(within) / static_cast<double>(told));
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
    const double mean = statistics::mean(values);
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
  std::vector<double> values;
  for (const std::size_t i : wanted) {
    values.push_back(kNotGiven);
    const auto found = of.find(series(i));
    if (found == of.end() || !(points.points[i].bytes() > 0)) continue;
    const double x = std::log(points.points[i].bytes());
    const auto above = found->second.lower_bound(x - 1e-12);
    if (above == found->second.end()) continue;
    if (std::fabs(above->first - x) < 1e-12) {
      values.back() = std::exp(statistics::mean(above->second));
    } else if (above != found->second.begin()) {
      const auto below = std::prev(above);
      const double place = (x - below->first) / (above->first - below->first);
      values.back() =
          std::exp(statistics::mean(below->second) * (1 - place) + statistics::mean(above->second) * place);
    }
  }
  return values;
}

namespace {

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

/// What goes with a setting, with the digits of a file.
std::map<std::string, Json> rounded_values(const Setting& setting, const Patch& patch) {
  std::map<std::string, Json> values;
  for (const auto& [key, value] : patch_for(setting, patch))
    values[pointer_of_key(key)] = rounded_json(value);
  return values;
}

/// How a setting is run on the cluster that is written: with what was fitted, which has six digits there, and
/// with the section "calibration" as far as it goes with this setting. `told`: calibration_told.
Scenario calibrated_scenario(const Judge& judge, const Setting& setting, const Json& told) {
  const ModelSpec& model = judge.fitter.model();
  const std::vector<Draw>& draws = judge.uncertainty.draws;
  Scenario scenario = setting.scenario;
  std::vector<std::map<std::string, Json>> drawn;
  for (std::size_t k = 0; k < std::min(kMostDraws, draws.size()); ++k)
    drawn.push_back(rounded_values(setting, scaled_patch(model, draws[k].fitted, draws[k].factor)));
  std::set<std::string> fitted;
  for (const ParameterSpec& each : model.parameters)
    fitted.insert(each.pointers.begin(), each.pointers.end());
  Json section = told;
  section["spec"] = judge.fitter.spec().file;
  if (!drawn.empty()) section["draws"] = Json(drawn.size(), Json::object());
  const std::string cluster = "/cluster";
  for (const auto& [pointer, value] : rounded_values(setting, patch_of(model, judge.best))) {
    scenario.resolved[Json::json_pointer(pointer)] = value;
    if (drawn.empty()) continue;
    if (pointer.starts_with(cluster + "/")) {
      for (std::size_t k = 0; k < drawn.size(); ++k)
        section["draws"][k][pointer.substr(cluster.size())] = drawn[k].at(pointer);
      continue;
    }
    Json one = {{"pointer", pointer}, {"value", value}};
    for (const auto& each : drawn) one["draws"].push_back(each.at(pointer));
    if (fitted.contains(pointer))
      one.update({{"low", value}, {"high", value}});  // a number: drawn wider beyond
    section["settings"].push_back(std::move(one));
  }
  scenario.resolved["cluster"]["calibration"] = std::move(section);
  return scenario;
}

/// Intervals of the points of one setting, as `run` gives them of a run, and `bench` of an operation.
void add_intervals(const Judge& judge, const Setting& setting, const Json& told,
                   const std::vector<std::size_t>& which,
                   std::map<std::size_t, std::vector<Interval>>& intervals) {
  const Fitter& fitter = judge.fitter;
  const Scenario scenario = calibrated_scenario(judge, setting, told);
  const auto predicted = [&](const ParameterDraws& draws, bool seeds, const std::vector<std::size_t>& some) {
    const Patch best = patch_of(fitter.model(), judge.best);
    std::vector<Patch> patches(draws.count() + 1);
    for (const auto& [pointer, value] : rounded_values(setting, best))
      patches[0].emplace_back(pointer, value);
    for (std::size_t k = 0; k < draws.count(); ++k) {
      patches[k + 1] = patches[0];
      for (auto& each : drawn_values(scenario, draws, k, seeds)) patches[k + 1].push_back(std::move(each));
    }
    const std::vector<std::vector<double>> values = fitter.predict(patches, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      std::vector<double> drawn;
      for (std::size_t k = 1; k < values.size(); ++k) drawn.push_back(values[k][i]);
      intervals[some[i]] = intervals_of(values[0][i], std::move(drawn), draws.reach());
    }
  };
  if (setting.kind == PredictSpec::Kind::run) {
    const Job job = make_job(scenario);
    const ParameterDraws draws(scenario, job);
    return predicted(draws, draws_seeds_too(scenario, job, draws), which);
  }
  // Operations whose parameters are drawn as wide, and whose intervals reach as far, are costed together.
  std::map<std::pair<double, Reach>, std::pair<ParameterDraws, std::vector<std::size_t>>> alike;
  for (const std::size_t i : which) {
    const Point& point = fitter.points().points[i];
    ParameterDraws draws(scenario, scenario.resolved.at("cluster").at("workers").get<int>(), point.bytes(),
                         setting.kind == PredictSpec::Kind::collective ? point.measurement.operation : "");
    const auto key = std::pair(draws.widening(), draws.reach());
    alike.try_emplace(key, std::move(draws), std::vector<std::size_t>{}).first->second.second.push_back(i);
  }
  for (const auto& [key, group] : alike) predicted(group.first, false, group.second);
}

/// Where nothing was drawn `run` and `bench` give those of data sheets on the cluster that is written.
void add_sheet_intervals(const Judge& judge, const Setting& setting, const Json& told,
                         const std::vector<std::size_t>& which,
                         std::map<std::size_t, std::vector<Interval>>& intervals) {
  Json of_run = Json::object();
  if (setting.kind == PredictSpec::Kind::run)
    run_in_children(
        1, {},
        [&](std::size_t) {
          const RunOutcome outcome = run_with_intervals(calibrated_scenario(judge, setting, told), {},
                                                        {.draws = kUsualDraws, .jobs = 1});
          return outcome.document.at("intervals").dump();
        },
        [&](std::size_t, const ChildEnd& end) {
          if (end.kind == ChildEnd::Kind::answered) of_run = Json::parse(end.text);
        });
  const std::vector<double> predicted = judge.fitter.predict(judge.best, which);
  for (std::size_t i = 0; i < which.size(); ++i) {
    const Point& point = judge.fitter.points().points[which[i]];
    std::vector<Interval>& own = intervals[which[i]];
    if (setting.kind != PredictSpec::Kind::run) own = data_sheet_intervals(predicted[i]);
    for (const Json& each : of_run.value(point.metric, Json::array()))
      own.push_back({each.at("level"), each.at("low"), each.at("high")});
  }
}

Judgement judged_with_intervals(const Judge& judge, const std::vector<std::size_t>& which,
                                bool octaves_equal) {
  const Fitter& fitter = judge.fitter;
  const Points& points = fitter.points();
  Judgement judgement = judged(points, fitter.model().name, which, fitter.predict(judge.best, which),
                               judge.noise, octaves_equal);
  std::map<std::size_t, std::vector<std::size_t>> by_setting;
  for (const JudgedPoint& each : judgement.points)
    by_setting[points.points[each.point].setting].push_back(each.point);
  const Json told = calibration_told(points, judge.uncertainty);
  std::map<std::size_t, std::vector<Interval>> intervals;
  const auto add = judge.uncertainty.draws.empty() ? add_sheet_intervals : add_intervals;
  for (const auto& [number, some] : by_setting) add(judge, points.settings[number], told, some, intervals);
  for (JudgedPoint& each : judgement.points) each.intervals = std::move(intervals.at(each.point));
  summarise_parts(points, judgement, octaves_equal);
  return judgement;
}

}  // namespace

Judgement judge_fit(const Judge& judge) {
  const std::vector<std::size_t> which = judge.fitter.fitted_points();
  return judged(judge.fitter.points(), judge.fitter.model().name, which,
                judge.fitter.predict(judge.best, which), judge.noise, judge.fitter.spec().fit.octaves_equal);
}

std::vector<Judgement> judge_test(const Judge& judge, std::size_t number) {
  const Fitter& fitter = judge.fitter;
  const Points& points = fitter.points();
  const bool octaves_equal = fitter.spec().tests[number].octaves_equal;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < points.points.size(); ++i) {
    const std::vector<std::size_t>& tests = points.points[i].tests;
    if (std::ranges::find(tests, number) != tests.end()) which.push_back(i);
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
