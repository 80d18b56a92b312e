// How far off a further prediction is, from how far off some were whose measurements the fit had not seen.
#pragma once

#include <cstddef>
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

/// How many errors the `cells` of a part count as that was left out as a whole, all together: the root of
/// their number. They are off together in part, so it lies between one and all of them (docs/calibration.md).
double count_of_part(std::size_t cells);

/// Errors are Student's t with two degrees of freedom around 0, of a scale that nothing but `errors` tells
/// (as likely in every octave beforehand): within what half, and nine tenths, of a further one lie. Few
/// errors give wide intervals, and one that is far out does not decide alone. Two: of the
/// book's left-out cells they hold 53 and 90 %, 1.5 degrees 52 and 92 %, three 56 and 89 %
/// (docs/calibration.md). All 0 where nothing tells.
Reach reach_of_errors(const std::vector<CountedError>& errors);

/// Which share of the squares of `errors` goes with their slopes, as far as they show it: 0 where one scale
/// for all is as likely (by the ratio of likelihoods, at 95 %).
double share_with_slopes(const std::vector<CountedError>& errors);

/// What is below the probability `u`, of such a t whose nine tenths lie within `nine_tenths`.
double drawn_error(double nine_tenths, double u);

}  // namespace simsgd
