#include "sim/base/quantiles.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

double at_place(std::vector<double>& values, double place) {
  const auto below = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  const double low = *at;
  if (below + 1 == values.size()) return low;
  const double high = *std::min_element(at + 1, values.end());
  return std::lerp(low, high, place - static_cast<double>(below));
}

}  // namespace

double quantile(std::vector<double> values, double probability) {
  CHECK(!values.empty(), "A quantile is of one value at least.");
  return at_place(values, probability * static_cast<double>(values.size() - 1));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double interval_end(std::vector<double> draws, double probability) {
  CHECK(!draws.empty(), "An interval is of one draw at least.");
  const auto n = static_cast<double>(draws.size());
  return at_place(draws, std::clamp(probability * (n + 1) - 1, 0.0, n - 1));
}

}  // namespace simsgd
