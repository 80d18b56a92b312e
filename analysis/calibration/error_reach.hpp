// How far off a further prediction is, from how far off some were whose measurements the fit had not seen.
#pragma once

#include <vector>

#include "analysis/widening.hpp"

namespace simsgd {

/// An error, and how much it counts.
struct CountedError {
  double log_error = 0;  ///< log(predicted / measured)
  double count = 1;
  double slope = 1;  ///< how much the logarithm of the prediction grows with that of a factor on all that
                     ///< goes with time
};

/// Errors are Student's t with two degrees of freedom around 0, of a scale that nothing but `errors` tells
/// (as likely in every octave beforehand): within what half, and nine tenths, of a further one lie. Few
/// errors give wide intervals, and one that is far out does not decide alone. Two: nearly as many of the
/// book's left-out cells are held as with 1.5 degrees, by narrower intervals, and more than with three
/// (docs/calibration.md). All 0 where nothing tells.
Reach reach_of_errors(const std::vector<CountedError>& errors);

/// Which share of the squares of `errors` goes with their slopes, as far as they show it: 0 where one scale
/// for all is as likely (by the ratio of likelihoods, at 95 %).
double share_with_slopes(const std::vector<CountedError>& errors);

/// What is below the probability `u`, of such a t whose nine tenths lie within `nine_tenths`.
double drawn_error(double nine_tenths, double u);

}  // namespace simsgd
