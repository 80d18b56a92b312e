// What may be advised: the points of a study as they are, or a scenario with every training method in its
// usual variants.
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/study.hpp"

namespace simsgd {

struct CandidateSettings {
  std::vector<std::string> algorithms;  ///< only these; empty: all
  std::vector<int> workers;             ///< each of these; empty: as the scenario has it
};

/// Points of `study`, each without a seed of its own. Those of a scenario, or where `algorithms` are named,
/// are taken with every algorithm: with its defaults, with what the scenario says where it is the scenario's,
/// and with group sizes, periods, densities, ranks and fusion thresholds where it has these. What of them is
/// impossible is not known yet. Throws ConfigError for names of algorithms that there are not, and for
/// algorithms and numbers of workers that an axis sets.
std::vector<StudyPoint> candidates(const Study& study, const CandidateSettings& settings);

}  // namespace simsgd
