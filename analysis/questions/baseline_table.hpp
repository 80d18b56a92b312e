// `simsgd results compare`: every value of an axis against one of them, seed by seed, in every cell of the
// other axes.
#pragma once

#include <string>
#include <vector>

#include "analysis/faces/table.hpp"
#include "analysis/frame/cell.hpp"

namespace simsgd::questions {

using namespace frame;

struct BaselineQuestion {
  std::string by, baseline;
  std::vector<std::string> measures;
};

/// Difference and speed-up (of what is no time: ratio to the baseline) with 95 % intervals, p with Holm's
/// correction over all rows, and a verdict; over numbers of workers also the efficiency of throughput and
/// time to target. Where runs are censored, of times up to tau, one for all values of the axis (contest.hpp).
/// Throws as seed_table.
Table baseline_table(const Frame& frame, const BaselineQuestion& question, std::vector<InputError> errors);

/// "faster", "slower", "better", "worse", "less", "more", "tie", "undecided"; "one seed", "no pair" or
/// "nobody arrives" where nothing is known.
std::string verdict_text(const statistics::Comparison& comparison, double corrected_p,
                         const Measure& measure);

}  // namespace simsgd::questions
