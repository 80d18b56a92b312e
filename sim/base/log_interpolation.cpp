#include "sim/base/log_interpolation.hpp"

#include <algorithm>
#include <cmath>

namespace simsgd {

namespace {

constexpr double kSameX = 1e-12;

}  // namespace

double log_between(const LogPoint& low, const LogPoint& high, double x) {
  if (low.x <= 0 || low.y <= 0 || high.y <= 0)
    return low.y + (high.y - low.y) * (x - low.x) / (high.x - low.x);
  const double place = std::log(x / low.x) / std::log(high.x / low.x);
  return low.y * std::pow(high.y / low.y, place);
}

std::optional<double> log_interpolated(std::span<const LogPoint> points, double x, Outside outside) {
  const auto above =
      std::find_if(points.begin(), points.end(), [x](const LogPoint& p) { return x * (1 - kSameX) <= p.x; });
  if (above != points.end() && std::fabs(above->x - x) <= kSameX * x) return above->y;
  const bool beyond = above == points.end() || above == points.begin();
  if (beyond && outside == Outside::refused) return std::nullopt;
  if (points.size() == 1) return points.front().y;
  const auto high = std::clamp(above, points.begin() + 1, points.end() - 1);
  return log_between(*(high - 1), *high, x);
}

}  // namespace simsgd
