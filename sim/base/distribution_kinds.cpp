// The kinds of distribution: their parameters and how these become a Distribution.
#include <fmt/format.h>

#include <cmath>

#include "sim/base/distribution_json.hpp"

namespace simsgd {

namespace {

using Kind = Distribution::Kind;

/// Bounds of a dimensionless parameter. Beyond them draws leave the range of a double, or a quantile of the
/// gamma distribution takes milliseconds.
struct Range {
  double low;
  double high;
};
constexpr Range kSigma{0, 10};         // draws then span exp(+-82), 70 orders of magnitude
constexpr Range kLognormalCv{0, 1e6};  // sigma 5.3
constexpr Range kGammaShape{1e-4, 1e6};
constexpr Range kGammaCv{1e-3, 100};  // 1 / sqrt(shape)
constexpr Range kWeight{0, 1e100};
constexpr Range kTailShape{0.1, 1e6};  // Weibull and Pareto: draws up to 2^530 scales

Json number_schema(const Range& range, const std::string& description) {
  return {{"type", "number"}, {"minimum", range.low}, {"maximum", range.high}, {"description", description}};
}

double read_number(const Parameters& parameters, const std::string& key, const Range& range) {
  if (!parameters.has(key)) Parameters::reject(key, "is missing", "Give a number");
  if (!parameters.json().at(key).is_number()) Parameters::reject(key, "is not a number", "Give a number");
  const double value = parameters.number(key);
  if (!(value >= range.low && value <= range.high))
    Parameters::reject(key, "is out of range",
                       fmt::format("Give a number from {:g} to {:g}", range.low, range.high));
  return value;
}

/// Which of two keys is given; rejects both and neither.
std::string either(const Parameters& parameters, const std::string& first, const std::string& second) {
  const std::string remedy = fmt::format("Give either \"{}\" or \"{}\"", first, second);
  if (parameters.has(first) && parameters.has(second))
    Parameters::reject(second, fmt::format("is given beside \"{}\"", first), remedy);
  if (!parameters.has(first) && !parameters.has(second)) Parameters::reject(first, "is missing", remedy);
  return parameters.has(first) ? first : second;
}

/// Rejects a distribution whose thickest draw is no number any more, naming the key of its scale.
Distribution finite(Distribution distribution, const std::string& key) {
  if (!std::isfinite(distribution.quantile(1 - 0x1p-53)))
    Parameters::reject(key, "lets draws grow beyond the largest number", "Give a smaller one");
  return distribution;
}

Json constant_properties(DrawUnit unit) {
  return {{"value", amount_schema(unit, "The value of every draw")}};
}
Distribution make_constant(const Parameters& parameters, DrawUnit unit) {
  return {Kind::constant, 0, read_amount(parameters, "value", unit), 1, {}, {}};
}

Json uniform_properties(DrawUnit unit) {
  return {{"minimum", amount_schema(unit, "Smallest draw")},
          {"maximum", amount_schema(unit, "Largest draw")}};
}
Distribution make_uniform(const Parameters& parameters, DrawUnit unit) {
  const double minimum = read_amount(parameters, "minimum", unit);
  const double maximum = read_amount(parameters, "maximum", unit);
  if (maximum < minimum)
    Parameters::reject("maximum", "is below \"minimum\"", "Give a maximum of at least the minimum");
  return {Kind::uniform, minimum, maximum - minimum, 1, {}, {}};
}

Json exponential_properties(DrawUnit unit) { return {{"mean", amount_schema(unit, "Mean of the draws")}}; }
Distribution make_exponential(const Parameters& parameters, DrawUnit unit) {
  return finite({Kind::exponential, 0, read_amount(parameters, "mean", unit), 1, {}, {}}, "mean");
}

Json shifted_exponential_properties(DrawUnit unit) {
  return {{"shift", amount_schema(unit, "Smallest draw, added to an exponential one")},
          {"mean", amount_schema(unit, "Mean of the exponential part: the mean draw is shift + mean")}};
}
Distribution make_shifted_exponential(const Parameters& parameters, DrawUnit unit) {
  Distribution distribution = make_exponential(parameters, unit);
  distribution.shift = read_amount(parameters, "shift", unit);
  return finite(std::move(distribution), "shift");
}

Json lognormal_properties(DrawUnit unit) {
  return {
      {"mean", amount_schema(unit, "Mean of the draws; or give \"median\"")},
      {"median", amount_schema(unit, "Median of the draws, exp(mu); or give \"mean\"")},
      {"sigma", number_schema(kSigma, "Standard deviation of the logarithm; or give \"cv\"")},
      {"cv", number_schema(kLognormalCv,
                           "Standard deviation divided by mean, sqrt(exp(sigma^2) - 1); or give \"sigma\"")}};
}
Distribution make_lognormal(const Parameters& parameters, DrawUnit unit) {
  const std::string location = either(parameters, "mean", "median");
  const double amount = read_amount(parameters, location, unit);
  const bool has_sigma = either(parameters, "sigma", "cv") == "sigma";
  const double cv = has_sigma ? 0 : read_number(parameters, "cv", kLognormalCv);
  const double sigma = has_sigma ? read_number(parameters, "sigma", kSigma) : std::sqrt(std::log1p(cv * cv));
  const double median = location == "median" ? amount : amount * std::exp(-sigma * sigma / 2);
  return finite({Kind::lognormal, 0, median, sigma, {}, {}}, location);
}

Json gamma_properties(DrawUnit unit) {
  return {{"mean", amount_schema(unit, "Mean of the draws; goes with \"cv\"")},
          {"cv",
           {{"type", "number"},
            {"minimum", 0},
            {"maximum", kGammaCv.high},
            {"description", "Standard deviation divided by mean, 1 / sqrt(shape); goes with \"mean\""}}},
          {"shape", number_schema(kGammaShape, "Shape k; goes with \"scale\"")},
          {"scale", amount_schema(unit, "Scale, so that the mean is shape x scale; goes with \"shape\"")}};
}
Distribution make_gamma(const Parameters& parameters, DrawUnit unit) {
  const bool by_mean = parameters.has("mean") || parameters.has("cv");
  for (const char* key : {"shape", "scale"})
    if (by_mean && parameters.has(key))
      Parameters::reject(key, fmt::format("is given beside \"{}\"", parameters.has("mean") ? "mean" : "cv"),
                         "Give either \"mean\" and \"cv\" or \"shape\" and \"scale\"");
  if (!by_mean && !parameters.has("shape") && !parameters.has("scale"))
    Parameters::reject("mean", "is missing", "Give either \"mean\" and \"cv\" or \"shape\" and \"scale\"");
  if (!by_mean) {
    const double shape = read_number(parameters, "shape", kGammaShape);
    return finite({Kind::gamma, 0, read_amount(parameters, "scale", unit), shape, {}, {}}, "scale");
  }
  const double mean = read_amount(parameters, "mean", unit);
  const double cv = read_number(parameters, "cv", {0, kGammaCv.high});
  if (cv == 0) return {Kind::constant, 0, mean, 1, {}, {}};
  if (cv < kGammaCv.low)
    Parameters::reject("cv", "is too small for a gamma distribution",
                       fmt::format("Give 0, which draws the mean always, or at least {:g}", kGammaCv.low));
  return finite({Kind::gamma, 0, mean * cv * cv, 1 / (cv * cv), {}, {}}, "mean");
}

Json weibull_properties(DrawUnit unit) {
  return {{"shape", number_schema(kTailShape, "Shape k: below 1 the tail is thicker than exponential")},
          {"scale", amount_schema(unit, "Scale, below which lie 63.2 % of the draws; or give \"mean\"")},
          {"mean", amount_schema(unit, "Mean of the draws; or give \"scale\"")}};
}
Distribution make_weibull(const Parameters& parameters, DrawUnit unit) {
  const double shape = read_number(parameters, "shape", kTailShape);
  const std::string location = either(parameters, "mean", "scale");
  const double amount = read_amount(parameters, location, unit);
  const double scale = location == "scale" ? amount : amount / std::tgamma(1 + 1 / shape);
  return finite({Kind::weibull, 0, scale, shape, {}, {}}, location);
}

Json pareto_properties(DrawUnit unit) {
  return {{"minimum", amount_schema(unit, "Smallest draw x_m")},
          {"shape",
           number_schema(kTailShape, "Tail index a: P(X > x) = (x_m / x)^a; the mean is finite above 1")}};
}
Distribution make_pareto(const Parameters& parameters, DrawUnit unit) {
  const double shape = read_number(parameters, "shape", kTailShape);
  return finite({Kind::pareto, 0, read_amount(parameters, "minimum", unit), shape, {}, {}}, "minimum");
}

Json histogram_properties(DrawUnit unit) {
  const Json edges = {{"type", "array"},
                      {"items", amount_schema(unit, "A bin edge")},
                      {"minItems", 2},
                      {"description", "Bin edges, ascending, one more than \"weights\"; or give \"width\""}};
  const Json weights = {{"type", "array"},
                        {"items", {{"type", "number"}, {"minimum", 0}}},
                        {"minItems", 1},
                        {"description", "Weight of each bin; only their ratios count"}};
  return {{"edges", edges},
          {"weights", weights},
          {"start", amount_schema(unit, "First edge of bins of equal width; goes with \"width\", default 0")},
          {"width", amount_schema(unit, "Width of each bin; or give \"edges\"")}};
}

/// The members of an array as parameters whose keys are "weights/0", "weights/1", ...: errors then name the
/// member.
Parameters members(const Parameters& parameters, const std::string& key) {
  if (!parameters.has(key)) Parameters::reject(key, "is missing", "Give a list of numbers");
  const Json& list = parameters.json().at(key);
  if (!list.is_array() || list.empty())
    Parameters::reject(key, "is not a list of numbers", "Give a list of numbers, such as [1, 2]");
  Json named = Json::object();
  for (std::size_t i = 0; i < list.size(); ++i) named[fmt::format("{}/{}", key, i)] = list[i];
  return Parameters(std::move(named));
}

std::vector<double> read_cumulative(const Parameters& parameters) {
  const Parameters weights = members(parameters, "weights");
  std::vector<double> cumulative(weights.json().size());
  double total = 0;
  for (std::size_t i = 0; i < cumulative.size(); ++i)
    cumulative[i] = total += read_number(weights, fmt::format("weights/{}", i), kWeight);
  if (total == 0) Parameters::reject("weights", "are all 0", "Give at least one weight above 0");
  for (double& sum : cumulative) sum /= total;
  return cumulative;
}

std::vector<double> read_edges(const Parameters& parameters, std::size_t bins, DrawUnit unit) {
  std::vector<double> edges(bins + 1);
  if (either(parameters, "edges", "width") == "width") {
    const double start = parameters.has("start") ? read_amount(parameters, "start", unit) : 0;
    const double width = read_amount(parameters, "width", unit);
    if (width == 0) Parameters::reject("width", "is 0", "Give a width above 0");
    for (std::size_t i = 0; i <= bins; ++i) edges[i] = start + static_cast<double>(i) * width;
    return edges;
  }
  if (parameters.has("start"))
    Parameters::reject("start", "is given beside \"edges\"", "Give it with \"width\", or leave it out");
  const Parameters given = members(parameters, "edges");
  if (given.json().size() != bins + 1)
    Parameters::reject("edges", fmt::format("has {} edges for {} weights", given.json().size(), bins),
                       fmt::format("Give {} edges, one more than weights", bins + 1));
  for (std::size_t i = 0; i <= bins; ++i) {
    const std::string key = fmt::format("edges/{}", i);
    edges[i] = read_amount(given, key, unit);
    if (i > 0 && edges[i] <= edges[i - 1])
      Parameters::reject(key, "is not above the edge before it", "Give the edges in ascending order");
  }
  return edges;
}

Distribution make_histogram(const Parameters& parameters, DrawUnit unit) {
  std::vector<double> cumulative = read_cumulative(parameters);
  std::vector<double> edges = read_edges(parameters, cumulative.size(), unit);
  const char* key = parameters.has("width") ? "width" : "edges";
  return finite({Kind::histogram, 0, 0, 1, std::move(edges), std::move(cumulative)}, key);
}

}  // namespace

const std::vector<DistributionPlugin>& distribution_plugins() {
  static const std::vector<DistributionPlugin> all = {
      {"constant", "The same value in every draw", "", constant_properties, {"value"}, make_constant},
      {"uniform",
       "Equally likely between two bounds",
       "",
       uniform_properties,
       {"minimum", "maximum"},
       make_uniform},
      {"exponential",
       "Exponential: many short draws, few long ones",
       "Dutta, Joshi, Ghosh, Dube, Nagpurkar, AISTATS 2018, arXiv:1803.01113",
       exponential_properties,
       {"mean"},
       make_exponential},
      {"shifted_exponential",
       "Exponential beyond a smallest value",
       "Lee, Lam, Pedarsani, Papailiopoulos, Ramchandran, IEEE Trans. Inf. Theory 2018, arXiv:1512.02673",
       shifted_exponential_properties,
       {"shift", "mean"},
       make_shifted_exponential},
      {"lognormal", "Log-normal: the logarithm is normal", "", lognormal_properties, {}, make_lognormal},
      {"gamma", "Gamma: a sum of exponential phases", "", gamma_properties, {}, make_gamma},
      {"weibull", "Weibull: stretched exponential tail", "", weibull_properties, {"shape"}, make_weibull},
      {"pareto", "Pareto: power-law tail", "", pareto_properties, {"minimum", "shape"}, make_pareto},
      {"histogram",
       "Measured: uniform inside the bins of a histogram",
       "",
       histogram_properties,
       {"weights"},
       make_histogram},
  };
  return all;
}

}  // namespace simsgd
