// How good predictions of what was left out are: each cell beside its fit, with an interval that was fixed
// before the cell was looked at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/calibration/calibrate.hpp"

namespace simsgd {

/// A point as the fit to the other parts predicts it.
struct LeftOutPoint {
  double predicted = 0;
  double low = 0, high = 0;            ///< of nine tenths; low = high = 0 where no other part tells
  double half_low = 0, half_high = 0;  ///< of half
  double log_error = 0;
};

/// All parts of one column, left out one after another.
struct LeftOutColumn {
  std::string column;
  std::map<std::size_t, LeftOutPoint> points;  ///< by number in Points
  std::size_t inside = 0, with_interval = 0;
  double mean_error = 0;  ///< of |predicted / measured - 1|
  double mean_width = 0;  ///< of high / low - 1, of those with an interval
};

/// An interval reaches as far on both sides as the errors of the *other* parts tell (uncertainty.hpp).
std::vector<LeftOutColumn> left_out_columns(const Calibration& calibration);

/// Bounds of 95 % of a share, of `inside` in `count` (Clopper and Pearson).
std::pair<double, double> binomial_interval(std::size_t inside, std::size_t count);

/// Fitted, left out and data sheets side by side, cell by cell, as a page of Markdown.
std::string calibration_markdown(const Calibration& calibration);

}  // namespace simsgd
