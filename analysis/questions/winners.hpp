// `simsgd results winners`, and the first lines of a report: what is best for each value of the
// circumstances, by how much, how sure that is, and what is best over all of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/faces/table.hpp"
#include "analysis/frame/cell.hpp"

namespace simsgd::questions {

using namespace frame;

/// What a study is first asked for: the time to its target, else throughput, else the time of a step; nothing
/// where its runs have none of these.
std::optional<Measure> headline_measure(const Frame& frame);

struct WinnersQuestion {
  std::string measure;  ///< empty: headline_measure
};

/// A row for each value of the circumstances (frame.hpp) in which at least two choices ran: the best choice,
/// what it reaches, how far the next one is behind, and whether chance or the model's error may have made
/// that. A note says which choice is best over all circumstances: that whose values, over the best of each,
/// have the least geometric mean. `errors`: what was wrong with the question so far. Throws ConfigError, also
/// where the measure has no better way, or nothing that is chosen varies; RunError where no run has a result.
Table winners_table(const Frame& frame, const WinnersQuestion& question, std::vector<InputError> errors);

}  // namespace simsgd::questions
