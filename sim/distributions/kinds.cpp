// The kinds of distribution: their options and how these become a Distribution.
#include <fmt/format.h>

#include <cmath>

#include "sim/distributions/registry.hpp"

namespace simsgd::distributions {

namespace {

using Kind = Distribution::Kind;

// Bounds of dimensionless options. Beyond them draws leave the range of a double, or a quantile of the gamma
// distribution takes milliseconds.
constexpr double kLargestSigma = 10;         // draws then span exp(+-82), 70 orders of magnitude
constexpr double kLargestLognormalCv = 1e6;  // sigma 5.3
constexpr double kLeastGammaShape = 1e-4, kLargestGammaShape = 1e6;
constexpr double kLeastGammaCv = 1e-3, kLargestGammaCv = 100;  // 1 / sqrt(shape)
constexpr double kLargestWeight = 1e100;
constexpr double kLeastTailShape = 0.1, kLargestTailShape = 1e6;  // Weibull, Pareto: draws up to 2^530 scales

/// Which of two is given: the first? Rejects both and neither.
bool first_of(const std::optional<double>& first, const std::optional<double>& second,
              const std::string& first_key, const std::string& second_key) {
  const std::string remedy = fmt::format("Give either \"{}\" or \"{}\"", first_key, second_key);
  if (first && second) reject(second_key, fmt::format("cannot be combined with \"{}\"", first_key), remedy);
  if (!first && !second) reject(first_key, "is missing", remedy);
  return first.has_value();
}

/// Rejects a distribution whose thickest draw is not a number any more, naming the key of its scale.
Distribution finite(Distribution distribution, const std::string& key) {
  if (!std::isfinite(distribution.quantile(1 - 0x1p-53)))
    reject(key, "is so large that draws exceed the largest number", "Give a smaller one");
  return distribution;
}

struct Constant {
  double value = 0;
  void fields(Fields& f) { f.amount("value", value, "The value of every draw").required(); }
};
Distribution make_constant(const Constant& options, DrawUnit) {
  return {Kind::constant, 0, options.value, 1, {}, {}};
}

struct Uniform {
  double minimum = 0, maximum = 0;
  void fields(Fields& f) {
    f.amount("minimum", minimum, "Smallest draw").required();
    f.amount("maximum", maximum, "Largest draw").required();
  }
};
Distribution make_uniform(const Uniform& options, DrawUnit) {
  if (options.maximum < options.minimum)
    reject("maximum", "is below \"minimum\"", "Give a maximum of at least the minimum");
  return {Kind::uniform, options.minimum, options.maximum - options.minimum, 1, {}, {}};
}

struct Exponential {
  double mean = 0;
  void fields(Fields& f) { f.amount("mean", mean, "Mean of the draws").required(); }
};
Distribution make_exponential(const Exponential& options, DrawUnit) {
  return finite({Kind::exponential, 0, options.mean, 1, {}, {}}, "mean");
}

struct ShiftedExponential {
  double shift = 0, mean = 0;
  void fields(Fields& f) {
    f.amount("shift", shift, "Smallest draw, added to an exponential one").required();
    f.amount("mean", mean, "Mean of the exponential part: the mean draw is shift + mean").required();
  }
};
Distribution make_shifted_exponential(const ShiftedExponential& options, DrawUnit) {
  finite({Kind::exponential, 0, options.mean, 1, {}, {}}, "mean");
  return finite({Kind::exponential, options.shift, options.mean, 1, {}, {}}, "shift");
}

struct Lognormal {
  std::optional<double> mean, median, sigma, cv;
  void fields(Fields& f) {
    f.amount("mean", mean, "Mean of the draws; or give \"median\"");
    f.amount("median", median, "Median of the draws, exp(mu); or give \"mean\"");
    f.number("sigma", sigma, "Standard deviation of the logarithm; or give \"cv\"")
        .at_least(0)
        .at_most(kLargestSigma);
    f.number("cv", cv, "Standard deviation divided by mean, sqrt(exp(sigma^2) - 1); or give \"sigma\"")
        .at_least(0)
        .at_most(kLargestLognormalCv);
  }
};
Distribution make_lognormal(const Lognormal& options, DrawUnit) {
  const bool by_mean = first_of(options.mean, options.median, "mean", "median");
  const bool by_sigma = first_of(options.sigma, options.cv, "sigma", "cv");
  const double sigma = by_sigma ? *options.sigma : std::sqrt(std::log1p(*options.cv * *options.cv));
  const double median = by_mean ? *options.mean * std::exp(-sigma * sigma / 2) : *options.median;
  return finite({Kind::lognormal, 0, median, sigma, {}, {}}, by_mean ? "mean" : "median");
}

struct Gamma {
  std::optional<double> mean, cv, shape, scale;
  void fields(Fields& f) {
    f.amount("mean", mean, "Mean of the draws; goes with \"cv\"");
    f.number("cv", cv, "Standard deviation divided by mean, 1 / sqrt(shape); goes with \"mean\"")
        .at_least(0)
        .at_most(kLargestGammaCv);
    f.number("shape", shape, "Shape k; goes with \"scale\"")
        .at_least(kLeastGammaShape)
        .at_most(kLargestGammaShape);
    f.amount("scale", scale, "Scale, so that the mean is shape x scale; goes with \"shape\"");
  }
};
constexpr const char* kGammaRemedy = R"(Give either "mean" and "cv" or "shape" and "scale")";

/// A gamma by its mean and cv.
Distribution gamma_by_mean(const Gamma& options) {
  if (!options.mean) reject("mean", "is missing", kGammaRemedy);
  if (!options.cv) reject("cv", "is missing", kGammaRemedy);
  const double mean = *options.mean, cv = *options.cv;
  if (cv == 0) return {Kind::constant, 0, mean, 1, {}, {}};
  if (cv < kLeastGammaCv)
    reject("cv", "is too small for a gamma distribution",
           fmt::format("Give 0, which draws the mean always, or at least {:g}", kLeastGammaCv));
  return finite({Kind::gamma, 0, mean * cv * cv, 1 / (cv * cv), {}, {}}, "mean");
}

Distribution make_gamma(const Gamma& options, DrawUnit) {
  const bool by_mean = options.mean || options.cv;
  const std::string beside = fmt::format("cannot be combined with \"{}\"", options.mean ? "mean" : "cv");
  if (by_mean && options.shape) reject("shape", beside, kGammaRemedy);
  if (by_mean && options.scale) reject("scale", beside, kGammaRemedy);
  if (by_mean) return gamma_by_mean(options);
  if (!options.shape && !options.scale) reject("mean", "is missing", kGammaRemedy);
  if (!options.shape) reject("shape", "is missing", kGammaRemedy);
  if (!options.scale) reject("scale", "is missing", kGammaRemedy);
  return finite({Kind::gamma, 0, *options.scale, *options.shape, {}, {}}, "scale");
}

struct Weibull {
  double shape = 1;
  std::optional<double> scale, mean;
  void fields(Fields& f) {
    f.number("shape", shape, "Shape k: below 1 the tail is thicker than exponential")
        .required()
        .at_least(kLeastTailShape)
        .at_most(kLargestTailShape);
    f.amount("scale", scale, "Scale, below which lie 63.2 % of the draws; or give \"mean\"");
    f.amount("mean", mean, "Mean of the draws; or give \"scale\"");
  }
};
Distribution make_weibull(const Weibull& options, DrawUnit) {
  const bool by_mean = first_of(options.mean, options.scale, "mean", "scale");
  const double scale = by_mean ? *options.mean / std::tgamma(1 + 1 / options.shape) : *options.scale;
  return finite({Kind::weibull, 0, scale, options.shape, {}, {}}, by_mean ? "mean" : "scale");
}

struct Pareto {
  double minimum = 0, shape = 1;
  void fields(Fields& f) {
    f.amount("minimum", minimum, "Smallest draw x_m").required();
    f.number("shape", shape, "Tail index a: P(X > x) = (x_m / x)^a; the mean is finite above 1")
        .required()
        .at_least(kLeastTailShape)
        .at_most(kLargestTailShape);
  }
};
Distribution make_pareto(const Pareto& options, DrawUnit) {
  return finite({Kind::pareto, 0, options.minimum, options.shape, {}, {}}, "minimum");
}

struct Histogram {
  std::optional<std::vector<double>> edges;
  std::vector<double> weights;
  std::optional<double> start, width;
  void fields(Fields& f) {
    f.amounts("edges", edges, "Bin edges, ascending, one more than \"weights\"; or give \"width\"",
              "A bin edge")
        .least_items(2);
    f.list("weights", weights, "Each bin has this weight; only their ratios count", "Its weight")
        .required()
        .least_items(1)
        .items_at_least(0)
        .items_at_most(kLargestWeight)
        .example("[1, 2]");
    f.amount("start", start, "First edge of bins of equal width; goes with \"width\"").by_rule("0");
    f.amount("width", width, "Width of each bin; or give \"edges\"");
  }
};

std::vector<double> cumulative_of(const std::vector<double>& weights) {
  if (weights.empty()) reject("weights", "is empty", "Give at least one weight");
  std::vector<double> cumulative;
  double total = 0;
  for (const double weight : weights) cumulative.push_back(total += weight);
  if (total == 0) reject("weights", "are all 0", "Give at least one weight above 0");
  for (double& sum : cumulative) sum /= total;
  return cumulative;
}

std::vector<double> edges_of(const Histogram& options) {
  const std::size_t bins = options.weights.size();
  if (options.edges && options.width)
    reject("width", "cannot be combined with \"edges\"", "Give either \"edges\" or \"width\"");
  if (!options.edges && !options.width) reject("edges", "is missing", "Give either \"edges\" or \"width\"");
  if (options.width) {
    std::vector<double> edges(bins + 1);
    if (*options.width == 0) reject("width", "is 0", "Give a width above 0");
    for (std::size_t i = 0; i <= bins; ++i)
      edges[i] = options.start.value_or(0) + static_cast<double>(i) * *options.width;
    return edges;
  }
  if (options.start)
    reject("start", "cannot be combined with \"edges\"", "Give it with \"width\", or leave it out");
  if (options.edges->size() != bins + 1)
    reject("edges", fmt::format("has {} edges, which do not fit {} weights", options.edges->size(), bins),
           fmt::format("Give {} edges, one more than weights", bins + 1));
  for (std::size_t i = 1; i <= bins; ++i)
    if ((*options.edges)[i] <= (*options.edges)[i - 1])
      reject(fmt::format("edges/{}", i), "is not above the edge before it",
             "Give the edges in ascending order");
  return *options.edges;
}

Distribution make_histogram(const Histogram& options, DrawUnit) {
  std::vector<double> cumulative = cumulative_of(options.weights);
  return finite({Kind::histogram, 0, 0, 1, edges_of(options), std::move(cumulative)},
                options.width ? "width" : "edges");
}

}  // namespace

std::vector<DistributionPlugin> kinds() {
  return {
      {{"constant", "The same value in every draw", ""}, make_constant},
      {{"uniform", "Equally likely between two bounds", ""}, make_uniform},
      {{"exponential", "Exponential: many short draws, few long ones",
        "Dutta, Joshi, Ghosh, Dube, Nagpurkar, AISTATS 2018, arXiv:1803.01113"},
       make_exponential},
      {{"shifted_exponential", "Exponential beyond a smallest value",
        "Lee, Lam, Pedarsani, Papailiopoulos, Ramchandran, IEEE Trans. Inf. Theory 2018, arXiv:1512.02673"},
       make_shifted_exponential},
      {{"lognormal", "Log-normal: the logarithm is normal", ""}, make_lognormal},
      {{"gamma", "Gamma: a sum of exponential phases", ""}, make_gamma},
      {{"weibull", "Weibull: stretched exponential tail", ""}, make_weibull},
      {{"pareto", "Pareto: power-law tail", ""}, make_pareto},
      {{"histogram", "Measured: uniform inside the bins of a histogram", ""}, make_histogram},
  };
}

}  // namespace simsgd::distributions
