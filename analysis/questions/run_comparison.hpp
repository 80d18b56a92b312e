// A real run beside its simulation, or any run beside another: the error of each part of the step, how far
// the distributions of what is random are apart, and whether the learning curves are the same.
#pragma once

#include <string>

#include "analysis/faces/table.hpp"

namespace simsgd::questions {

/// Greatest difference of the distribution functions of two samples (Kolmogorov-Smirnov), 0 to 1; 1 where
/// one of them is empty and the other is not, 0 where both are. Values are counted in whole units of
/// `resolution`; where it is 0 only rounding (a billionth of the greatest) does not count.
double ks_distance(std::vector<double> a, std::vector<double> b, double resolution = 0);

/// Each a directory that a run wrote, or its result.json; where both have steps.csv, distributions are taken
/// from those, else from the documents' histograms. Waits are also compared in hundredths of a step: a real
/// wait is never exactly none, as a simulated one often is. Errors are those of `other` against `one`,
/// relative to `one`: of a simulation against the real run. Throws ConfigError.
Table run_comparison(const std::string& one, const std::string& other);

}  // namespace simsgd::questions
