#include "analysis/questions/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "analysis/data_sheet.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

// How the budget is shared: a first look at all, a second one at the best fifth, the best of these in full,
// and the rest for further seeds.
constexpr double kFirstShare = 0.3, kSecondShare = 0.3, kFullShare = 0.2;
constexpr std::size_t kKeepOneOf = 5;
constexpr std::uint64_t kMostSeeds = 5;

double geometric_mean(const std::vector<double>& values) {
  if (values.size() == 1) return values.front();  // to the last digit
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

/// A candidate's runs with one seed and one share of the steps, under each circumstance.
struct Attempt {
  std::vector<AdviceTrial> under;
  double cost = 0;
  std::string impossible, failed;  ///< with the circumstance, where there are several

  bool ran() const { return impossible.empty() && failed.empty(); }
  bool arrived() const {
    return std::ranges::all_of(under, [](const AdviceTrial& each) { return each.value.has_value(); });
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for (const AdviceTrial& each : under) all.push_back(each.value.value());
    return all;
  }
};

/// Of these candidates, in their order.
std::vector<Attempt> attempts(const Study& study, const Candidates& candidates,
                              const std::vector<std::size_t>& ids, double share, std::uint64_t repetition,
                              const AdviceSettings& settings) {
  std::vector<TrialOrder> orders;
  for (const std::size_t id : ids)
    for (const StudyPoint& point : candidates.all[id].points) orders.push_back({&point, share, repetition});
  std::vector<AdviceTrial> trials = run_trials(study, orders, settings);
  const std::size_t each_has = candidates.circumstances.size();
  std::vector<Attempt> all(ids.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    Attempt& attempt = all[i / each_has];
    const std::string place = each_has > 1 ? " (" + candidates.circumstances[i % each_has] + ")" : "";
    for (const auto& [from, to] :
         {std::pair{&trials[i].impossible, &attempt.impossible}, {&trials[i].failed, &attempt.failed}})
      if (!from->empty() && to->empty()) *to = *from + place;
    attempt.cost += trials[i].cost;
    attempt.under.push_back(std::move(trials[i]));
  }
  return all;
}

/// By how much the limits are missed, a sentence; empty where they are kept.
std::string beyond_limits(double time_s, const std::optional<double>& cost_usd,
                          const AdviceSettings& settings) {
  if (settings.deadline_s && time_s > *settings.deadline_s)
    return fmt::format("Takes {}, longer than {}.", human_time(time_s), human_time(*settings.deadline_s));
  if (settings.most_usd && cost_usd && *cost_usd > *settings.most_usd)
    return fmt::format("Costs {:.2f} USD, more than {:.2f}.", *cost_usd, *settings.most_usd);
  return "";
}

class Halving {
 public:
  Halving(const Study& study, const Candidates& candidates, const AdviceSettings& settings)
      : study_(study), candidates_(candidates), settings_(settings) {}

  Advice run() {
    const AdviceMeasure measure =
        measure_of(settings_.target, load_point(study_, candidates_.all.front().points.front()).resolved);
    made_.more_is_better = measure.more_is_better;
    made_.unit = measure.unit;
    made_.meaning = measure.meaning;
    made_.learns = measure.to_level;
    made_.circumstances = candidates_.circumstances;
    made_.candidates = candidates_.all.size();
    for (std::size_t i = 0; i < candidates_.all.size(); ++i) alive_.push_back(i);
    const double budget = settings_.budget;
    look(kFirstShare * budget, true);
    look(kSecondShare * budget, false);
    finals(std::max<std::size_t>(2, static_cast<std::size_t>(kFullShare * budget / runs_each())));
    seeds();
    rank();
    return std::move(made_);
  }

 private:
  /// Less is better.
  double cost_of(double value) const { return made_.more_is_better ? 1 / value : value; }

  /// Full runs that a candidate costs with one seed.
  double runs_each() const { return static_cast<double>(candidates_.circumstances.size()); }

  const std::string& label(std::size_t id) const { return candidates_.all[id].label; }

  std::vector<Attempt> try_all(const std::vector<std::size_t>& ids, double share,
                               std::uint64_t repetition = 0) {
    std::vector<Attempt> all = attempts(study_, candidates_, ids, share, repetition, settings_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      made_.spent += all[i].cost;
      for (const AdviceTrial& trial : all[i].under)
        for (const std::string& note : trial.notes)
          if (std::ranges::find(made_.notes, note) == made_.notes.end()) made_.notes.push_back(note);
      if (!all[i].impossible.empty())
        made_.impossible.push_back({label(ids[i]), all[i].impossible});
      else if (!all[i].failed.empty())
        made_.failed.push_back({label(ids[i]), all[i].failed});
    }
    return all;
  }

  bool is_beyond(const Attempt& attempt) const {
    return std::ranges::any_of(attempt.under, [this](const AdviceTrial& each) {
      return !beyond_limits(each.time_s, each.cost_usd, settings_).empty();
    });
  }

  /// What candidates are compared by after a part of their run; less is better. First come those that keep
  /// the limits, then those that reached the level under more circumstances, by what it took; else losses are
  /// compared where the one that spent least has ended.
  using Key = std::tuple<bool, std::size_t, double>;
  std::vector<Key> keys(const std::vector<Attempt>& all) const {
    std::vector<double> least(candidates_.circumstances.size(), std::numeric_limits<double>::infinity());
    for (const Attempt& attempt : all)
      for (std::size_t c = 0; c < attempt.under.size(); ++c)
        if (!attempt.under[c].losses.empty())
          least[c] = std::min(least[c], attempt.under[c].losses.back().first);
    std::vector<Key> made;
    for (const Attempt& attempt : all) {
      std::size_t missing = 0;
      double loss = 0;
      std::vector<double> costs;
      for (std::size_t c = 0; c < attempt.under.size(); ++c) {
        const AdviceTrial& trial = attempt.under[c];
        if (trial.value) {
          costs.push_back(cost_of(*trial.value));
        } else {
          ++missing;
          loss += trial.loss_at(least[c]);
        }
      }
      made.emplace_back(is_beyond(attempt), missing, missing == 0 ? geometric_mean(costs) : loss);
    }
    return made;
  }

  void look(double share_of_budget, bool first) {
    const auto count = static_cast<double>(alive_.size());
    const double share = share_of_budget / count / runs_each();
    if (share >= 1 || alive_.size() <= 2) return;
    const std::vector<Attempt> all = try_all(alive_, share);
    if (made_.spent > settings_.budget)
      throw ConfigError(
          {"--budget", "",
           fmt::format("is too small for {} candidates{}", candidates_.all.size(),
                       runs_each() > 1 ? fmt::format(" under {} circumstances", runs_each()) : ""),
           fmt::format("{:g}", settings_.budget),
           "Raise it, try fewer candidates (--algorithms), or use a scenario with more steps"});
    const auto key = keys(all);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].ran()) order.push_back(i);
    if (order.empty()) none_left();
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
    const std::size_t least = std::max<std::size_t>(2, (order.size() + kKeepOneOf - 1) / kKeepOneOf);
    std::vector<std::size_t> kept;
    std::set<std::string> algorithms;
    PrunedRound round{all[order.front()].cost / runs_each(), order.size(), 0, "", 0};
    for (std::size_t place = 0; place < order.size(); ++place) {
      // A few steps flatter methods that communicate rarely: the best of each method has another chance.
      const bool fresh = algorithms.insert(all[order[place]].under.front().algorithm).second && first;
      if (place < least || fresh) {
        kept.push_back(alive_[order[place]]);
      } else if (round.nearest.empty()) {
        round.nearest = label(alive_[order[place]]);
        round.nearest_behind = std::get<double>(key[order[place]]) / std::get<double>(key[order.front()]) - 1;
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
                         "Correct the scenario, or restrict the candidates"});
    throw RunError("Every candidate failed: " + first.label + ": " + first.why);
  }

  /// In full with the scenario's seed: as many as the budget has room for.
  void finals(std::size_t most) {
    if (!made_.rounds.empty() && alive_.size() > most) {
      made_.rounds.back().kept = most;
      made_.rounds.back().nearest = label(alive_[most]);
      alive_.resize(most);
    }
    const std::vector<Attempt> all = try_all(alive_, 1);
    bool missed = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].ran()) continue;
      if (!all[i].arrived()) {
        missed = true;
        made_.failed.push_back({label(alive_[i]), "Does not reach the target."});
        continue;
      }
      RankedCandidate& each = made_.ranked.emplace_back();
      each.candidate = alive_[i];
      each.label = label(alive_[i]);
      std::map<std::string, double> metrics;  // summed over circumstances: shares of a step are those of all
      for (const AdviceTrial& trial : all[i].under)
        for (const auto& [name, value] : trial.metrics) metrics[name] += value;
      each.reason = reason_of(metrics);
      trials_[alive_[i]] = {all[i]};
      each.scores.push_back(geometric_mean(all[i].values()));
    }
    if (made_.ranked.empty() && missed)
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
    const auto key = [&](const RankedCandidate& each) {
      return std::pair(is_beyond(trials_.at(each.candidate).front()), mean_cost(each));
    };
    std::stable_sort(made_.ranked.begin(), made_.ranked.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](const auto& a, const auto& b) { return key(a) < key(b); });
  }

  /// Further seeds for the better half of those that had the last one.
  void seeds() {
    std::size_t group = made_.ranked.size();
    double half = static_cast<double>(group);
    for (std::uint64_t repetition = 1; repetition < kMostSeeds; ++repetition) {
      half /= 2;
      const double left = (settings_.budget - made_.spent + 1e-9) / runs_each();
      const double even = left / static_cast<double>(kMostSeeds - repetition);
      group = std::min({group, static_cast<std::size_t>(std::max(0.0, left)),
                        static_cast<std::size_t>(std::max({2.0, std::ceil(half), even}))});
      if (group < 2) return;
      std::vector<std::size_t> ids;
      for (std::size_t i = 0; i < group; ++i) ids.push_back(made_.ranked[i].candidate);
      const std::vector<Attempt> all = try_all(ids, 1, repetition);
      bool random = false;
      for (std::size_t i = 0; i < group; ++i) {
        RankedCandidate& each = made_.ranked[i];
        if (!all[i].ran() || !all[i].arrived()) return;  // what a seed misses cannot be averaged
        const double score = geometric_mean(all[i].values());
        random = random || std::fabs(score / each.scores.front() - 1) > 1e-12;
        each.scores.push_back(score);
        trials_.at(each.candidate).push_back(all[i]);
      }
      sort_by_mean(group);
      random_ = random_ || random;
      if (!random) return;  // nothing depends on the seed
    }
  }

  /// Values under each circumstance, and the limits, over the seeds that ran.
  void sum_up(RankedCandidate& each) const {
    const std::vector<Attempt>& seeds = trials_.at(each.candidate);
    const auto count = static_cast<double>(seeds.size());
    for (std::size_t c = 0; c < candidates_.circumstances.size(); ++c) {
      double value = 0, time_s = 0, cost_usd = 0;
      for (const Attempt& seed : seeds) {
        value += *seed.under[c].value / count;
        time_s += seed.under[c].time_s / count;
        cost_usd += seed.under[c].cost_usd.value_or(0) / count;
      }
      each.under.push_back(value);
      each.time_s = std::max(each.time_s, time_s);
      if (settings_.most_usd) each.cost_usd = std::max(each.cost_usd.value_or(0), cost_usd);
    }
  }

  void leave_out_what_is_beyond() {
    std::vector<RankedCandidate> kept;
    for (RankedCandidate& each : made_.ranked) {
      sum_up(each);
      const std::string why = beyond_limits(each.time_s, each.cost_usd, settings_);
      if (why.empty())
        kept.push_back(std::move(each));
      else
        made_.beyond.push_back({each.label, why});
    }
    if (kept.empty())
      throw RunError("No candidate that ran in full is within the limits. The closest, " +
                     made_.beyond.front().label + ": " + made_.beyond.front().why);
    made_.ranked = std::move(kept);
  }

  /// Costs by repetition.
  statistics::Runs costs(const RankedCandidate& each) const {
    statistics::Runs runs;
    for (std::size_t i = 0; i < each.scores.size(); ++i)
      runs[static_cast<std::int64_t>(i)] = {cost_of(each.scores[i]), true};
    return runs;
  }

  /// How far the model may be off in the difference of two candidates; nothing where chance has a part.
  std::optional<double> off_by(const RankedCandidate& one, const RankedCandidate& other) const {
    if (!one.deterministic || !other.deterministic) return std::nullopt;
    const Attempt &a = trials_.at(one.candidate).front(), &b = trials_.at(other.candidate).front();
    double share = 0;
    for (std::size_t c = 0; c < a.under.size(); ++c) {
      const double first = cost_of(*a.under[c].value), second = cost_of(*b.under[c].value);
      share += (a.under[c].left_out_half ? std::expm1(*a.under[c].left_out_half)
                                         : sheet_error_of_difference(a.under[c].metrics, b.under[c].metrics) *
                                               std::fabs(first - second) / std::max(first, second)) /
               runs_each();
    }
    return share * std::max(mean_cost(one), mean_cost(other));
  }

  void rank() {
    leave_out_what_is_beyond();
    std::vector<statistics::Runs> runs;
    std::vector<std::optional<double>> places;  // the first one is the best, whichever seeds the others ran
    for (RankedCandidate& each : made_.ranked) {
      each.score = statistics::student_mean(each.scores);
      // One more seed has shown that none changes anything.
      each.deterministic = !random_ && each.scores.size() > 1;
      if (each.deterministic) each.score.interval.reset();
      places.push_back(static_cast<double>(runs.size()));
      runs.push_back(costs(each));
    }
    const statistics::Contest found = statistics::contest(
        runs, Better::less,
        [this](std::size_t one, std::size_t other) { return off_by(made_.ranked[one], made_.ranked[other]); },
        places);
    for (std::size_t i = 1; i < made_.ranked.size(); ++i) {
      RankedCandidate& each = made_.ranked[i];
      const statistics::Difference& difference = *found.against_best[i]->difference;
      double base = 0;
      for (std::size_t seed = 0; seed < difference.count; ++seed)
        base += cost_of(made_.ranked.front().scores[seed]);
      each.behind = difference.value / (base / static_cast<double>(difference.count));
      // One that is ahead over the seeds that both ran stays in, even if the best has a much better mean.
      each.verdict = each.behind <= 0 ? statistics::Verdict::tie : found.verdicts[i];
    }
    std::stable_sort(made_.ranked.begin() + 1, made_.ranked.end(),
                     [](const auto& a, const auto& b) { return a.behind < b.behind; });
  }

  const Study& study_;
  const Candidates& candidates_;
  const AdviceSettings& settings_;
  bool random_ = false;
  std::vector<std::size_t> alive_;
  std::map<std::size_t, std::vector<Attempt>> trials_;  // of those that ran in full, by seed
  Advice made_;
};

}  // namespace

Advice advise(const Study& study, const Candidates& candidates, const AdviceSettings& settings) {
  return Halving(study, candidates, settings).run();
}

AdviceCheck check_advice(const Study& study, const Candidates& candidates, const Advice& advice,
                         const AdviceSettings& settings) {
  const bool more =
      measure_of(settings.target, load_point(study, candidates.all.front().points.front()).resolved)
          .more_is_better;
  const auto cost = [more](const Attempt& attempt) {
    const double value = geometric_mean(attempt.values());
    return more ? 1 / value : value;
  };
  const auto counts = [&](const Attempt& attempt) {
    return attempt.ran() && attempt.arrived() &&
           std::ranges::all_of(attempt.under, [&](const AdviceTrial& each) {
             return beyond_limits(each.time_s, each.cost_usd, settings).empty();
           });
  };
  std::vector<std::size_t> ids;
  for (std::size_t i = 0; i < candidates.all.size(); ++i) ids.push_back(i);
  const std::vector<Attempt> all = attempts(study, candidates, ids, 1, 0, settings);
  const std::size_t own = advice.ranked.front().candidate;
  AdviceCheck check;
  std::size_t best = own;
  const double own_cost = cost(all[own]);
  for (const std::size_t id : ids) {
    if (!counts(all[id])) continue;
    ++check.ran;
    check.rank += cost(all[id]) < own_cost ? 1U : 0U;
    if (cost(all[id]) < cost(all[best])) best = id;
  }
  ++check.rank;
  check.best = candidates.all[best].label;
  check.best_or_tie = best == own;
  if (best == own) return check;
  std::vector<statistics::Pair> pairs;
  double sum = 0;
  for (std::uint64_t repetition = 0; repetition < kMostSeeds; ++repetition) {
    const std::vector<Attempt> both = attempts(study, candidates, {best, own}, 1, repetition, settings);
    if (!both[0].arrived() || !both[1].arrived()) continue;
    pairs.push_back({cost(both[0]), cost(both[1])});
    sum += pairs.back().baseline;
  }
  if (pairs.empty()) return check;
  const statistics::Difference difference = statistics::paired_difference(pairs);
  check.behind = difference.value / (sum / static_cast<double>(pairs.size()));
  check.best_or_tie = check.behind <= 1e-12 || (difference.interval && difference.interval->low <= 0);
  return check;
}

}  // namespace simsgd
