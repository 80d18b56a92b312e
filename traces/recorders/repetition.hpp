// Steps in a list of operations that does not name them: the list repeats.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace simsgd {

/// Where the periods of `what` begin, in order: with the operation before which the pause is longest, on
/// average; `at_s` are the operations' instants. Empty where less than half of the list, or less than two
/// periods, repeat up to its end, and where all operations are alike, of which nobody can tell how many make
/// a step.
std::vector<std::size_t> beginnings_of_periods(const std::vector<std::string>& what,
                                               const std::vector<double>& at_s);

}  // namespace simsgd
