#include "analysis/calibration/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "analysis/statistics/intervals.hpp"
#include "scenarios/language/calibration_draws.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

/// Whether parts that are left out do not tell a model from a better one: over parts their errors differ by
/// less than one standard error of that difference (as Breiman, Friedman, Olshen and Stone, "Classification
/// and Regression Trees", 1984, choose among trees).
bool as_good(const ModelResult& other, const ModelResult& best) {
  if (best.part_errors.size() < 2 || other.part_errors.size() != best.part_errors.size()) return false;
  std::vector<double> more;
  for (std::size_t i = 0; i < best.part_errors.size(); ++i)
    more.push_back(other.part_errors[i] - best.part_errors[i]);
  return statistics::mean(more) <
         statistics::standard_deviation(more) / std::sqrt(static_cast<double>(more.size()));
}

class Calibrator {
 public:
  Calibrator(Spec spec, const CalibrationSettings& settings) : settings_(settings) {
    result_->spec = std::move(spec);
  }

  std::unique_ptr<Calibration> run() {
    say("importing");
    result_->measurements = load_measurements(result_->spec, settings_.data);
    expand_each(result_->spec, result_->measurements);
    std::vector<Measurement> fitted = result_->measurements;
    std::erase_if(fitted, [this](const Measurement& each) { return !result_->spec.fit.where.holds(each); });
    const std::optional<double> noise = noise_of(fitted);
    result_->noise_known = noise.has_value();
    result_->noise = noise.value_or(0);
    refuse_pointers();
    // What is wrong with any model is told before the first one is fitted.
    for (const auto part : {&Calibrator::look_at, &Calibrator::try_model})
      for (const ModelSpec& model : result_->spec.models) {
        try {
          (this->*part)(model);
        } catch (const ParameterError& error) {
          refuse_key(model, error);
        }
      }
    choose();
    judge();
    return std::move(result_);
  }

 private:
  std::string place_of(const ModelSpec& model) const {
    return fmt::format("/models/{}", &model - result_->spec.models.data());
  }

  /// What is fitted, of ensembles and found by search at keys that nothing has, or that take none of the
  /// values, of all models at once.
  void refuse_pointers() const {
    std::vector<InputError> errors;
    const auto look = [&](const std::string& at, const std::string& name, const std::string& pointer,
                          const std::vector<Json>& values) {
      if (std::ranges::none_of(values,
                               [&](const Json& each) { return setting_value(pointer, each).has_value(); }))
        errors.push_back(
            result_->spec.error_at(at, fmt::format("\"{}\" sets a key that scenarios do not have", name),
                                   pointer, "Correct the pointer"));
    };
    for (const ModelSpec& model : result_->spec.models) {
      const std::string at = place_of(model);
      for (const ParameterSpec& each : model.parameters)
        for (const std::string& pointer : each.pointers)
          look(fmt::format("{}/parameters/{}/pointers", at, each.written), each.name, pointer,
               {each.low, each.high});
      for (std::size_t k = 0; k < model.ensemble.size(); ++k)
        look(fmt::format("{}/ensemble/{}/pointer", at, k), model.ensemble[k].name, model.ensemble[k].pointer,
             model.ensemble[k].values);
      for (std::size_t k = 0; k < model.searches.size(); ++k)
        look(fmt::format("{}/searches/{}/pointer", at, k), "a table", model.searches[k].pointer,
             {Json::array({{{"latency", 0}, {"bandwidth", 1}}}),
              Json::array(
                  {{{"schedule",
                     model.searches[k].schedules.empty() ? "ring" : model.searches[k].schedules.front()}}})});
    }
    if (!errors.empty()) throw ConfigError(std::move(errors));
  }

  /// What else a model sets and nothing has, or takes.
  [[noreturn]] void refuse_key(const ModelSpec& model, const ParameterError& error) const {
    throw ConfigError({result_->spec.error_at(
        place_of(model), "sets " + error.key + ", which " + error.problem, "", error.remedy)});
  }

  void say(const std::string& stage) {
    stage_ = stage;
    if (settings_.progress) settings_.progress(stage, 0);
  }

  PredictorSettings predictor_settings(RunMemo* memo) {
    return {.jobs = settings_.jobs,
            .interrupted = settings_.interrupted,
            .progress =
                [this](std::uint64_t simulations) {
                  if (settings_.progress && simulations > 0) settings_.progress(stage_, simulations);
                },
            .memo = memo};
  }

  ModelResult& result_of(const ModelSpec& model) {
    return result_->models[static_cast<std::size_t>(&model - result_->spec.models.data())];
  }

  void look_at(const ModelSpec& model) {
    result_->models.emplace_back().name = model.name;
    const Points points = make_points(result_->spec, model, result_->measurements);
    refuse_idle(Fitter(result_->spec, model, points, predictor_settings(result_of(model).memo.get())));
  }

  void try_model(const ModelSpec& model) {
    say("fitting " + model.name);
    const Points points = make_points(result_->spec, model, result_->measurements);
    ModelResult& made = result_of(model);
    const Fitter fitter(result_->spec, model, points, predictor_settings(made.memo.get()));
    made.fitted = fitter.fit(fitter.weighted(fitter.fitted_points()));
    say("leaving out parts of the fit of " + model.name);
    made.left_out = cross_validate(fitter, model.searches.empty() ? &made.fitted : nullptr);
    made.part_errors = part_errors(fitter, made.left_out);
    made.left_out_error = made.part_errors.empty() ? std::numeric_limits<double>::infinity()
                                                   : statistics::mean(made.part_errors);
  }

  /// By what was left out; without parts to leave out by the fit itself. Of models that are as good
  /// with as many parameters, the first of the spec.
  void choose() {
    const auto error = [](const ModelResult& each) {
      return std::isfinite(each.left_out_error) ? each.left_out_error : 1e6 + each.fitted.loss;
    };
    const auto best = std::ranges::min_element(
        result_->models, [&](const auto& a, const auto& b) { return error(a) < error(b); });
    result_->chosen = static_cast<std::size_t>(best - result_->models.begin());
    const auto freedom = [this](std::size_t m) {
      const ModelSpec& model = result_->spec.models[m];
      return std::pair(model.searches.size(), model.parameters.size());
    };
    for (std::size_t m = 0; m < result_->chosen; ++m)
      if (as_good(result_->models[m], *best) && freedom(m) == freedom(result_->chosen)) result_->chosen = m;
    result_->points = make_points(result_->spec, result_->model(), result_->measurements);
    if (const std::optional<Points> beside = points_beside(result_->spec, result_->points)) {
      std::vector<std::size_t> all(beside->points.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      result_->beside = Predictor(*beside, predictor_settings(nullptr)).predict(Patch{}, all);
    }
    result_->warnings = result_->points.warnings;
    for (std::size_t j = 0; j < result_->best().at_bound.size(); ++j)
      if (result_->best().at_bound[j])
        result_->warnings.push_back(fmt::format("{} ended at a bound: {:.4g}, in a range of {:.4g} to {:.4g}",
                                                result_->model().parameters[j].name,
                                                result_->best().values[j], result_->model().parameters[j].low,
                                                result_->model().parameters[j].high));
    if (result_->models[result_->chosen].left_out.empty())
      result_->warnings.push_back(fmt::format(
          "all fitted measurements have the same \"{}\", so cross-validation could leave nothing out: the model's own error is unknown, and intervals include only the uncertainty of the parameters",
          fmt::join(result_->spec.fit.leave_out, "\", \"")));
  }

  void judge() {
    const Fitter fitter(result_->spec, result_->model(), result_->points,
                        predictor_settings(result_->models[result_->chosen].memo.get()));
    say("drawing parameters");
    result_->uncertainty =
        draw_parameters(fitter, result_->best(), result_->models[result_->chosen].left_out,
                        result_->noise_known ? std::optional(result_->noise) : std::nullopt);
    if (result_->uncertainty.resampled == "nothing")
      result_->warnings.emplace_back(
          "there are as many parameters as measurements, and no measurement was repeated, so the fit's error is unknown: intervals are those of data sheets");
    say("judging");
    const Judge judge{fitter, result_->best(), result_->uncertainty, result_->noise};
    result_->fit = judge_fit(judge);
    for (std::size_t t = 0; t < result_->spec.tests.size(); ++t)
      result_->tests.push_back(judge_test(judge, t));
    for (std::size_t t = 0; t < result_->tests.size(); ++t)
      if (result_->tests[t].front().points.empty())
        result_->warnings.push_back("the test \"" + result_->spec.tests[t].name + "\" has no measurements");
  }

  const CalibrationSettings& settings_;
  std::string stage_;
  std::unique_ptr<Calibration> result_ = std::make_unique<Calibration>();
};

/// Every number of a patch by its own pointer.
void flatten(const Json& value, const std::string& pointer, std::map<std::string, double>& numbers) {
  if (value.is_number()) numbers[pointer] = value.get<double>();
  if (value.is_object())
    for (const auto& member : value.items()) flatten(member.value(), pointer + "/" + member.key(), numbers);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      flatten(value[i], fmt::format("{}/{}", pointer, i), numbers);
}

std::map<std::string, double> numbers_of(const Patch& patch) {
  std::map<std::string, double> numbers;
  for (const auto& [pointer, value] : patch) flatten(value, pointer, numbers);
  return numbers;
}

}  // namespace

std::unique_ptr<Calibration> calibrate(Spec spec, const CalibrationSettings& settings) {
  return Calibrator(std::move(spec), settings).run();
}

std::vector<NumberInterval> number_intervals(const Calibration& calibration, double level) {
  const ModelSpec& model = calibration.model();
  const std::map<std::string, double> best = numbers_of(patch_of(model, calibration.best()));
  std::map<std::string, std::vector<double>> drawn;
  for (const Draw& draw : calibration.uncertainty.draws)
    for (const auto& [pointer, value] : numbers_of(patch_of(model, draw.fitted)))
      drawn[pointer].push_back(value);
  std::vector<NumberInterval> intervals;
  for (const auto& [pointer, value] : best) {
    NumberInterval interval{pointer, value, value, value};
    // What an ensemble chooses from, such as seeds, has no order.
    bool chosen = false;
    for (const EnsembleSpec& each : model.ensemble) chosen |= pointer.starts_with(each.pointer);
    if (const auto found = drawn.find(pointer); !chosen && found != drawn.end()) {
      interval.low = std::min(value, quantile(found->second, (1 - level) / 2));
      interval.high = std::max(value, quantile(found->second, (1 + level) / 2));
      interval.known = interval.low < interval.high;  // not where all draws end at a bound
    }
    intervals.push_back(interval);
  }
  return intervals;
}

}  // namespace simsgd
