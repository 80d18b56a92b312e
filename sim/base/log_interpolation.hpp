// Between measured points on logarithmic scales: a power law from each point to the next.
#pragma once

#include <optional>
#include <span>

namespace simsgd {

struct LogPoint {
  double x = 0, y = 0;
};

/// Where a table says nothing.
enum class Outside {
  continued,  ///< the power law of the two nearest points; a single point holds everywhere
  refused     ///< nothing; ends are met to a rounding
};

/// y at x on the power law through two points, x and both x above 0. On plain scales where a y has no
/// logarithm.
double log_between(const LogPoint& low, const LogPoint& high, double x);

/// y at x of points with ascending x, at least one.
std::optional<double> log_interpolated(std::span<const LogPoint> points, double x, Outside outside);

}  // namespace simsgd
