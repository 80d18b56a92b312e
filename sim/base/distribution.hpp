// Distributions of delays and factors, as a closed set. Every draw is the inverse of the distribution
// function at one uniform number, so that a draw costs one number of its stream and two distributions at the
// same key are coupled monotonically (a longer tail is never faster in any draw).
#pragma once

#include <vector>

#include "sim/base/random.hpp"

namespace simsgd {

/// Parameters are those of the name's usual definition; times in seconds unless the user of the distribution
/// says that it draws factors.
struct Distribution {
  enum class Kind {
    constant,
    uniform,
    exponential,
    lognormal,
    gamma,
    weibull,
    pareto,
    histogram
  } kind = Kind::constant;
  double shift = 0;  ///< added to every draw (the shifted exponential is exponential with a shift)
  double scale = 0;  ///< constant: the value; uniform: the width; exponential: the mean; lognormal: the
                     ///< *median* exp(mu); gamma and weibull: the scale; pareto: the minimum x_m
  double shape = 1;  ///< lognormal: sigma; gamma, weibull, pareto: the shape
  std::vector<double> edges;       ///< histogram: bin edges, ascending, one more than weights
  std::vector<double> cumulative;  ///< histogram: cumulative weights, last is 1

  double quantile(double probability) const;
  double draw(Stream& stream) const { return quantile(stream.uniform()); }
  double mean() const;  ///< infinity for a Pareto of shape <= 1
};

}  // namespace simsgd
