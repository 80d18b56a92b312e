#include "analysis/advice/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "analysis/advice/trial.hpp"
#include "analysis/statistics/contest.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

// How the budget is shared: a first look at all, a second one at the best fifth, the best of these in full,
// and the rest for further seeds.
constexpr double kFirstShare = 0.3, kSecondShare = 0.3, kFullShare = 0.2;
constexpr std::size_t kKeepOneOf = 5;
constexpr std::uint64_t kMostSeeds = 5;

/// The training loss when so much was spent, the mean of the last ones before: of one step it is noisy.
double loss_at(const std::vector<std::pair<double, double>>& losses, double spent) {
  constexpr std::size_t kWindow = 10;
  std::size_t end = 0;
  while (end < losses.size() && losses[end].first <= spent) ++end;
  if (end == 0) return losses.empty() ? std::numeric_limits<double>::infinity() : losses.front().second;
  const std::size_t begin = end > kWindow ? end - kWindow : 0;
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += losses[i].second;
  return sum / static_cast<double>(end - begin);
}

class Halving {
 public:
  Halving(const Study& study, const std::vector<StudyPoint>& candidates, const AdviceSettings& settings)
      : study_(study), candidates_(candidates), settings_(settings) {}

  Advice run() {
    if (candidates_.empty())
      throw ConfigError({study_.file, "", "has no candidates", "", "Restrict them less"});
    const AdviceMeasure measure =
        measure_of(settings_.target, load_point(study_, candidates_.front()).resolved);
    more_is_better_ = measure.more_is_better;
    made_.unit = measure.unit;
    made_.meaning = measure.meaning;
    made_.learns = measure.to_level;
    made_.candidates = candidates_.size();
    for (std::size_t i = 0; i < candidates_.size(); ++i) alive_.push_back(i);
    const double budget = settings_.budget;
    look(kFirstShare * budget, true);
    look(kSecondShare * budget, false);
    finals(std::max<std::size_t>(2, static_cast<std::size_t>(kFullShare * budget)));
    seeds();
    rank();
    return std::move(made_);
  }

 private:
  /// Less is better.
  double cost_of(double value) const { return more_is_better_ ? 1 / value : value; }

  std::vector<AdviceTrial> trials(const std::vector<std::size_t>& ids, double share,
                                  std::uint64_t repetition = 0) {
    std::vector<TrialOrder> orders;
    for (const std::size_t id : ids) orders.push_back({id, share, repetition});
    std::vector<AdviceTrial> all = run_trials(study_, candidates_, orders, settings_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      made_.spent += all[i].cost;
      for (const std::string& note : all[i].notes)
        if (std::find(made_.notes.begin(), made_.notes.end(), note) == made_.notes.end())
          made_.notes.push_back(note);
      if (!all[i].impossible.empty())
        made_.impossible.push_back({candidates_[ids[i]].label, all[i].impossible});
      if (!all[i].failed.empty()) made_.failed.push_back({candidates_[ids[i]].label, all[i].failed});
    }
    return all;
  }

  static bool ran(const AdviceTrial& trial) { return trial.impossible.empty() && trial.failed.empty(); }

  /// What candidates are compared by after a part of their run; less is better, and those that reached the
  /// level come first. Else losses are compared where the one that spent least has ended.
  std::vector<std::pair<int, double>> keys(const std::vector<AdviceTrial>& all) const {
    double least = std::numeric_limits<double>::infinity();
    for (const AdviceTrial& each : all)
      if (!each.losses.empty()) least = std::min(least, each.losses.back().first);
    std::vector<std::pair<int, double>> made;
    for (const AdviceTrial& each : all)
      made.emplace_back(each.value ? 0 : 1, each.value ? cost_of(*each.value) : loss_at(each.losses, least));
    return made;
  }

  void look(double share_of_budget, bool first) {
    const auto count = static_cast<double>(alive_.size());
    const double share = share_of_budget / count;
    if (share >= 1 || alive_.size() <= 2) return;
    const std::vector<AdviceTrial> all = trials(alive_, share);
    if (made_.spent > settings_.budget)
      throw ConfigError({"--budget", "", fmt::format("is too small for {} candidates", candidates_.size()),
                         fmt::format("{:g}", settings_.budget),
                         "Give more, fewer candidates (--algorithms), or a scenario of more steps"});
    const auto key = keys(all);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (ran(all[i])) order.push_back(i);
    if (order.empty()) none_left();
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
    const std::size_t least = std::max<std::size_t>(2, (order.size() + kKeepOneOf - 1) / kKeepOneOf);
    std::vector<std::size_t> kept;
    std::set<std::string> algorithms;
    PrunedRound round{all[order.front()].cost, order.size(), 0, "", 0};
    for (std::size_t place = 0; place < order.size(); ++place) {
      const AdviceTrial& trial = all[order[place]];
      // A few steps flatter methods that communicate rarely: the best of each method has another chance.
      const bool fresh = algorithms.insert(trial.algorithm).second && first;
      if (place < least || fresh) {
        kept.push_back(alive_[order[place]]);
      } else if (round.nearest.empty()) {
        round.nearest = candidates_[alive_[order[place]]].label;
        round.nearest_behind = key[order[place]].second / key[order.front()].second - 1;
      }
    }
    round.kept = kept.size();
    made_.rounds.push_back(round);
    alive_ = std::move(kept);
  }

  [[noreturn]] void none_left() const {
    const bool impossible = !made_.impossible.empty();
    const ImpossibleCandidate& first = impossible ? made_.impossible.front() : made_.failed.front();
    if (impossible && made_.failed.empty())
      throw ConfigError({study_.file, "",
                         "makes every candidate impossible: " + first.label + ": " + first.why, "",
                         "Mend the scenario, or restrict the candidates"});
    throw RunError("Every candidate failed: " + first.label + ": " + first.why);
  }

  /// In full with the scenario's seed: as many as the budget has room for.
  void finals(std::size_t most) {
    if (!made_.rounds.empty() && alive_.size() > most) {
      made_.rounds.back().kept = most;
      made_.rounds.back().nearest = candidates_[alive_[most]].label;
      alive_.resize(most);
    }
    const std::vector<AdviceTrial> all = trials(alive_, 1);
    std::size_t missed = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!ran(all[i])) continue;
      if (!all[i].value) {
        ++missed;
        made_.failed.push_back({candidates_[alive_[i]].label, "Does not reach the target."});
        continue;
      }
      made_.ranked.push_back({candidates_[alive_[i]], {*all[i].value}, {}, 0, false, false, all[i].reason});
      ids_[candidates_[alive_[i]].label] = alive_[i];
    }
    if (made_.ranked.empty() && missed > 0)
      throw RunError(
          "No candidate reaches the scenario's target. Give the run more steps, or a lower target.");
    if (made_.ranked.empty()) none_left();
    sort_by_mean(made_.ranked.size());
  }

  double mean_cost(const RankedCandidate& each) const {
    double sum = 0;
    for (const double score : each.scores) sum += cost_of(score);
    return sum / static_cast<double>(each.scores.size());
  }

  void sort_by_mean(std::size_t count) {
    std::stable_sort(made_.ranked.begin(), made_.ranked.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](const auto& a, const auto& b) { return mean_cost(a) < mean_cost(b); });
  }

  /// Further seeds for the better half of those that had the last one.
  void seeds() {
    std::size_t group = made_.ranked.size();
    double half = static_cast<double>(group);
    for (std::uint64_t repetition = 1; repetition < kMostSeeds; ++repetition) {
      half /= 2;
      const double left = settings_.budget - made_.spent + 1e-9;
      const double even = left / static_cast<double>(kMostSeeds - repetition);
      group = std::min({group, static_cast<std::size_t>(left),
                        static_cast<std::size_t>(std::max({2.0, std::ceil(half), even}))});
      if (group < 2) return;
      std::vector<std::size_t> ids;
      for (std::size_t i = 0; i < group; ++i) ids.push_back(ids_.at(made_.ranked[i].point.label));
      const std::vector<AdviceTrial> all = trials(ids, 1, repetition);
      bool random = false;
      for (std::size_t i = 0; i < group; ++i) {
        RankedCandidate& each = made_.ranked[i];
        if (!all[i].value) return;  // what a seed misses cannot be averaged
        random = random || std::fabs(*all[i].value / each.scores.front() - 1) > 1e-12;
        each.scores.push_back(*all[i].value);
      }
      sort_by_mean(group);
      random_ = random_ || random;
      if (!random) return;  // nothing depends on the seed
    }
  }

  /// Costs by repetition.
  statistics::Runs costs(const RankedCandidate& each) const {
    statistics::Runs runs;
    for (std::size_t i = 0; i < each.scores.size(); ++i)
      runs[static_cast<std::int64_t>(i)] = {cost_of(each.scores[i]), true};
    return runs;
  }

  void rank() {
    std::vector<statistics::Comparison> comparisons;
    for (RankedCandidate& each : made_.ranked) {
      each.score = statistics::student_mean(each.scores);
      each.deterministic =
          !random_ && each.scores.size() > 1;  // one more seed has shown that none changes anything
      if (each.deterministic) each.score.interval.reset();
      if (&each == &made_.ranked.front()) continue;
      comparisons.push_back(statistics::compare(costs(made_.ranked.front()), costs(each), {}, Better::less));
      const statistics::Difference& difference = *comparisons.back().difference;
      double best = 0;
      for (std::size_t i = 0; i < difference.count; ++i) best += cost_of(made_.ranked.front().scores[i]);
      each.behind = difference.value / (best / static_cast<double>(difference.count));
    }
    // A candidate that is ahead over the seeds that both ran stays in, even if the best has a much better
    // mean.
    const std::vector<statistics::Verdict> verdicts = statistics::verdicts(comparisons);
    for (std::size_t i = 1; i < made_.ranked.size(); ++i)
      made_.ranked[i].tie = made_.ranked[i].behind <= 0 || verdicts[i - 1] == statistics::Verdict::tie;
    std::stable_sort(made_.ranked.begin() + 1, made_.ranked.end(),
                     [](const auto& a, const auto& b) { return a.behind < b.behind; });
  }

  const Study& study_;
  const std::vector<StudyPoint>& candidates_;
  const AdviceSettings& settings_;
  bool more_is_better_ = false, random_ = false;
  std::vector<std::size_t> alive_;
  std::map<std::string, std::size_t> ids_;  // of ranked candidates by label
  Advice made_;
};

}  // namespace

Advice advise(const Study& study, const std::vector<StudyPoint>& candidates, const AdviceSettings& settings) {
  return Halving(study, candidates, settings).run();
}

AdviceCheck check_advice(const Study& study, const std::vector<StudyPoint>& candidates, const Advice& advice,
                         const AdviceSettings& settings) {
  const bool more =
      measure_of(settings.target, load_point(study, candidates.front()).resolved).more_is_better;
  const auto cost = [more](double value) { return more ? 1 / value : value; };
  std::vector<TrialOrder> orders;
  std::size_t own = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    orders.push_back({i, 1, 0});
    if (candidates[i].label == advice.ranked.front().point.label) own = i;
  }
  const std::vector<AdviceTrial> all = run_trials(study, candidates, orders, settings);
  AdviceCheck check;
  std::size_t best = own;
  const double own_cost = cost(all[own].value.value());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].value) continue;
    ++check.ran;
    check.rank += cost(*all[i].value) < own_cost ? 1U : 0U;
    if (cost(*all[i].value) < cost(*all[best].value)) best = i;
  }
  ++check.rank;
  check.best = candidates[best];
  check.best_or_tie = best == own;
  if (best == own) return check;
  std::vector<TrialOrder> both;
  for (std::uint64_t repetition = 0; repetition < kMostSeeds; ++repetition)
    for (const std::size_t id : {best, own}) both.push_back({id, 1, repetition});
  const std::vector<AdviceTrial> seeds = run_trials(study, candidates, both, settings);
  std::vector<statistics::Pair> pairs;
  double sum = 0;
  for (std::size_t i = 0; i + 1 < seeds.size(); i += 2) {
    if (!seeds[i].value || !seeds[i + 1].value) continue;
    pairs.push_back({cost(*seeds[i].value), cost(*seeds[i + 1].value)});
    sum += pairs.back().baseline;
  }
  if (pairs.empty()) return check;
  const statistics::Difference difference = statistics::paired_difference(pairs);
  check.behind = difference.value / (sum / static_cast<double>(pairs.size()));
  check.best_or_tie = check.behind <= 1e-12 || (difference.interval && difference.interval->low <= 0);
  return check;
}

}  // namespace simsgd
