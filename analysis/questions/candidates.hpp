// What may be advised: the points of a study as they are, or a scenario with every training method in its
// usual variants; and the circumstances under which each is tried.
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/study.hpp"

namespace simsgd {

struct CandidateSettings {
  std::vector<std::string> algorithms;  ///< only these; empty: all
  std::vector<int> workers;             ///< each of these; empty: as the scenario has it
};

/// A choice, which is what is advised.
struct Candidate {
  std::string label;               ///< "algorithm=wagma, cluster/workers=8"; empty where nothing varies
  std::vector<Assignment> chosen;  ///< what it sets; what happens is not in it
  std::vector<StudyPoint> points;  ///< one for each circumstance, without a seed
};

struct Candidates {
  /// Labels of what happens, such as "severity=one slow": each combination that the study has. One empty
  /// label where nothing happens.
  std::vector<std::string> circumstances;
  std::vector<Candidate> all;

  /// With this circumstance alone.
  Candidates under(std::size_t circumstance) const;
};

/// The choices of `study`. What is chosen and what happens: Study::circumstances, else
/// frame::is_circumstance. A scenario, or a study with `algorithms`, is tried with every algorithm: with its
/// defaults, with what the scenario says where it is the scenario's, and with group sizes, periods,
/// densities, ranks and fusion thresholds where it has these. What of them is impossible is not known yet. A
/// choice that `exclude` leaves out under some circumstance is left out. Throws ConfigError for names of
/// algorithms that there are not, for algorithms and numbers of workers that an axis sets, and where nothing
/// is left.
Candidates candidates(const Study& study, const CandidateSettings& settings);

}  // namespace simsgd
