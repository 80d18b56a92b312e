// Which of many candidates is best, for the cost of a few full runs: successive halving (Jamieson and
// Talwalkar, AISTATS 2016, arXiv:1502.07943) over the steps of a run, then over seeds. All candidates run a
// few of their steps; the best fifth runs more; the best of these run in full, with one seed, and the better
// half of those with each further seed. Candidates meet the same stragglers and batches for the same seed, so
// that differences are taken seed by seed. A candidate runs under every circumstance of the study, and what
// it is worth is the geometric mean over these. Deterministic for any number of jobs. On a calibrated cluster
// every seed but the first draws the cluster's numbers too (parameter_draws.hpp).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/statistics/contest.hpp"
#include "scenarios/language/study.hpp"

namespace simsgd {

// What may be advised: the points of a study as they are, or a scenario with every training method in its
// usual variants; and the circumstances under which each is tried.

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

enum class AdviceTarget { time, cost, energy, throughput };

struct AdviceSettings {
  AdviceTarget target = AdviceTarget::time;
  double budget = 100;  ///< in full runs: a run of a tenth of the steps costs a tenth
  /// What reaching the target (the whole run, where there is none) may take under each circumstance.
  std::optional<double> deadline_s, most_usd;
  int jobs = 1, threads = 1;
  std::function<bool()> interrupted;
  std::function<void(std::size_t done, std::size_t all)> progress;  ///< may be empty
};

/// A candidate that ran in full.
struct RankedCandidate {
  std::size_t candidate = 0;  ///< of Candidates::all
  std::string label;
  std::vector<double> scores;  ///< of the scenario's seed and those after it; see Advice::unit
  statistics::Estimate score;  ///< their mean
  /// Under each circumstance, mean over the seeds.
  std::vector<double> under;
  double behind = 0;  ///< share by which its mean is above the best one's
  /// Beside the best: `tie` where chance, `undecided` where the model's error may have made the difference.
  statistics::Verdict verdict = statistics::Verdict::unknown;
  bool deterministic = false;      ///< no seed changes its score
  std::string reason;              ///< where its time goes, in numbers
  double time_s = 0;               ///< to the target, else of the whole run: the most of any circumstance
  std::optional<double> cost_usd;  ///< likewise; where AdviceSettings::most_usd asks
  bool may_be_best() const {
    return verdict == statistics::Verdict::tie || verdict == statistics::Verdict::undecided;
  }
};

/// Candidates that were given up after a part of their steps.
struct PrunedRound {
  double share = 0;  ///< of the steps
  std::size_t ran = 0, kept = 0;
  std::string nearest;        ///< the best of those that were given up
  double nearest_behind = 0;  ///< and how far it was behind the best, as a share
};

struct ImpossibleCandidate {
  std::string label, why;
};

struct Advice {
  std::string unit, meaning;               ///< of the scores
  std::vector<std::string> circumstances;  ///< over which a score is the geometric mean
  bool more_is_better = false;
  bool learns = false;  ///< whether a level of loss or accuracy was to be reached
  std::vector<RankedCandidate> ranked;
  std::vector<PrunedRound> rounds;
  std::vector<ImpossibleCandidate> impossible, failed, beyond;  ///< `beyond` a limit, by how much
  std::size_t candidates = 0;
  double spent = 0;                ///< full runs
  std::vector<std::string> notes;  ///< each once: of a calibrated cluster, what further seeds draw
};

/// Throws ConfigError where no candidate is possible or the budget is too small; Interrupted; RunError where
/// all fail or are beyond the limits.
Advice advise(const Study& study, const Candidates& candidates, const AdviceSettings& settings);

/// All candidates in full, and where the best of `advice` stands among them. For checking advice.
struct AdviceCheck {
  std::string best;               ///< of the full grid with the scenario's seed
  std::size_t ran = 0, rank = 0;  ///< of the advised one there, from 1
  double behind = 0;              ///< of the advised one, as a share, over the seeds of both
  bool best_or_tie = false;       ///< it is the best, or the interval of its difference holds 0
};
AdviceCheck check_advice(const Study& study, const Candidates& candidates, const Advice& advice,
                         const AdviceSettings& settings);

// A candidate's run, in part or whole, and what of it counts for the target.

struct AdviceTrial {
  std::string impossible;       ///< why it cannot run at all, a sentence; else empty
  std::string failed;           ///< or why it ended early
  std::optional<double> value;  ///< of the target; none where the level was not reached
  /// Where there is a level to reach: training loss by what it took so far, in the target's unit.
  std::vector<std::pair<double, double>> losses = {};
  /// What reaching the level, or else the whole run, takes; at least, where it was not reached.
  double time_s = 0;
  std::optional<double> cost_usd = {};
  std::string algorithm = "";
  std::map<std::string, double> metrics = {};
  std::optional<double> left_out_half = {};  ///< of the cluster's calibration
  double cost = 0;                           ///< in full runs
  std::vector<std::string> notes = {};       ///< of what was drawn

  /// The training loss when so much was spent, the mean of the last ones before: of one step it is noisy.
  double loss_at(double spent) const;
};

/// What the target's values are.
struct AdviceMeasure {
  std::string unit, meaning;
  bool more_is_better = false;
  bool to_level = false;  ///< what it takes to reach the scenario's target
};
/// `resolved`: a scenario.
AdviceMeasure measure_of(AdviceTarget target, const Json& resolved);

struct TrialOrder {
  const StudyPoint* point = nullptr;
  double share = 1;              ///< of the steps, at least a few
  std::uint64_t repetition = 0;  ///< added to the scenario's seed
};

/// Runs each in a child, some at a time; results in the order of `orders`. Throws Interrupted.
std::vector<AdviceTrial> run_trials(const Study& study, const std::vector<TrialOrder>& orders,
                                    const AdviceSettings& settings);

/// Where the time of a step goes, in words.
std::string reason_of(const std::map<std::string, double>& metrics);

}  // namespace simsgd
