// The few distributions that intervals need, from Boost.Math, included in one file.
#pragma once

#include <cstddef>

namespace simsgd::statistics {

/// Quantile of Student's t at `probability`; `degrees` > 0, need not be whole.
double student_quantile(double probability, double degrees);
/// P(|T| >= |t|).
double student_two_sided_p(double t, double degrees);

double normal_quantile(double probability);
double normal_cdf(double z);

/// P(X <= k), X the number of heads in n throws of a fair coin.
double fair_coin_cdf(std::size_t k, std::size_t n);

}  // namespace simsgd::statistics
