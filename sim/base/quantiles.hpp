// Medians and quantiles, with one meaning everywhere.
#pragma once

#include <vector>

namespace simsgd {

/// At `probability`, interpolated between order statistics: of n sorted values at place p (n - 1) from 0
/// (Hyndman and Fan, The American Statistician 50 (1996) 361, type 7). Of one value at least.
double quantile(std::vector<double> values, double probability);
/// quantile(values, 1/2): of an even number of values the mean of the middle two.
double median(std::vector<double> values);

/// An end of the interval that draws make of what they are drawn from: at place p (n + 1) - 1, clamped to
/// them (type 6). Further out than quantile(), so that few draws do not make intervals too narrow.
double interval_end(std::vector<double> draws, double probability);

}  // namespace simsgd
