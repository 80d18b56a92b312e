// The options of the straggler compute_noise (compute_noise.cpp).
#pragma once

#include <optional>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/stragglers/noise_marginal.hpp"

namespace simsgd::stragglers {

inline constexpr double kLargestNoiseCv = 1e6;  // of a log-normal: sigma 5.3

// The noise of workers, which may differ in how strong it is.
struct WorkerCvs {
  std::optional<double> cv;
  std::optional<std::vector<double>> cvs;
  double cv_spread = 0;

  void fields(Fields& f) {
    f.number("cv", cv, "Standard deviation over the mean, which is 1").at_least(0).at_most(kLargestNoiseCv);
    f.list("cvs", cvs, "Each worker's own CV in place of \"cv\", by \"rank_mapping\"", "Of a worker")
        .least_items(1)
        .items_at_least(0)
        .items_at_most(kLargestNoiseCv);
    f.number("cv_spread", cv_spread,
             "Workers differ: standard deviation of their CVs over \"cv\", log-normal, drawn once")
        .at_least(0)
        .at_most(kLargestNoiseCv);
  }

  /// The mean over workers.
  double reference() const {
    if (cv) return *cv;
    double sum = 0;
    for (const double each : *cvs) sum += each;
    return sum / static_cast<double>(cvs->size());
  }
};

struct FastNoise : WorkerCvs {
  double correlation = 0, floor = 0;
  NoiseFamily family = NoiseFamily::lognormal;
  std::optional<std::vector<double>> quantiles;

  void fields(Fields& f) {
    WorkerCvs::fields(f);
    f.number("correlation", correlation, "Correlation with the step before of the same worker")
        .at_least(0)
        .below(1);
    f.choice("family", family,
             {{"lognormal", NoiseFamily::lognormal},
              {"gamma", NoiseFamily::gamma},
              {"weibull", NoiseFamily::weibull},
              {"inverse_gaussian", NoiseFamily::inverse_gaussian},
              {"pareto", NoiseFamily::pareto},
              {"log_laplace", NoiseFamily::log_laplace},
              {"quantiles", NoiseFamily::quantiles}},
             "How it is distributed above its floor; a floor of 1 - cv makes \"weibull\" an exponential");
    f.number("floor", floor, "No step takes less than this share of the mean").at_least(0).below(1);
    f.list(
         "quantiles", quantiles,
         "The family \"quantiles\" takes these measured ones, at probabilities 0, 1/m, ..., 1, in any unit; a power of them gives the CV",
         "A quantile")
        .least_items(2)
        .items_above(0);
  }
};

struct SlowNoise : WorkerCvs {
  double correlation_steps = 0;

  void fields(Fields& f) {
    WorkerCvs::fields(f);
    f.number("correlation_steps", correlation_steps,
             "After this many steps the correlation of the logarithm is 1/e")
        .required()
        .above(0)
        .at_most(1e9);
  }
};

struct CommonFactor {
  double cv = 0, correlation_steps = 0;

  void fields(Fields& f) {
    f.number("cv", cv, "Standard deviation over the mean, which is 1; log-normal")
        .required()
        .at_least(0)
        .at_most(kLargestNoiseCv);
    f.number("correlation_steps", correlation_steps,
             "After this many steps the correlation of the logarithm is 1/e; 0: drawn anew in each step")
        .at_least(0)
        .at_most(1e9);
  }
};

struct ComputeNoiseOptions {
  enum class Mapping : std::uint8_t { exact, modulo, draw };

  std::optional<std::vector<double>> factors;
  double factor_cv = 0;
  Mapping mapping = Mapping::exact;
  std::optional<FastNoise> fast;
  std::optional<SlowNoise> slow;
  std::optional<CommonFactor> common;

  void fields(Fields& f) {
    f.list("factors", factors, "Each worker computes this many times slower, always", "Of a worker")
        .least_items(1)
        .items_above(0)
        .by_rule("1")
        .example("[1.1, 0.95, 0.95]");
    f.number(
         "factor_cv", factor_cv,
         "Standard deviation of workers' factors, in place of \"factors\": they are log-normal with mean 1, and drawn once")
        .at_least(0)
        .at_most(kLargestNoiseCv);
    f.choice(
        "rank_mapping", mapping,
        {{"exact", Mapping::exact}, {"modulo", Mapping::modulo}, {"draw", Mapping::draw}},
        "Which entry of the lists is a rank's: \"exact\" the rank's own, \"modulo\" rank modulo their length, \"draw\" one drawn once, so that few measured workers stand for many");
    f.object("fast", fast, "Noise of each worker that lasts for a step or a few");
    f.object("slow", slow, "Noise of each worker that lasts for many steps");
    f.object("common", common, "Noise that all workers share in a step");
  }
};

}  // namespace simsgd::stragglers
