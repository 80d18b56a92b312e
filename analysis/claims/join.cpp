#include "analysis/claims/join.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/statistics/contest.hpp"

namespace simsgd {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool among(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool holds(const ClaimCondition& condition, const ClaimInputs& settings) {
  return std::all_of(condition.begin(), condition.end(), [&](const auto& each) {
    const auto found = settings.find(each.first);
    return found != settings.end() &&
           std::find(each.second.begin(), each.second.end(), found->second) != each.second.end();
  });
}

/// The runs of one setting.
struct Group {
  ClaimInputs settings;
  statistics::Runs runs;           // that have the metric, or were on their way to a target
  std::set<std::int64_t> without;  // seeds of those that have no value
};

std::vector<Group> groups_of(const ClaimComparison& comparison, const std::vector<ClaimRun>& runs) {
  std::vector<Group> groups;
  std::map<ClaimInputs, std::size_t> known;
  for (const ClaimRun& run : runs) {
    const auto [at, added] = known.emplace(run.settings, groups.size());
    if (added) groups.push_back({run.settings, {}, {}});
    Group& group = groups[at->second];
    const auto found = run.metrics.find(comparison.metric), end = run.metrics.find("simulated_time_s");
    if (found != run.metrics.end())
      group.runs[run.seed] = {found->second, true};
    else if (!run.metrics.empty() && comparison.absent)
      group.runs[run.seed] = {*comparison.absent, true};
    else if (end != run.metrics.end() && comparison.metric == "time_to_target_s")
      group.runs[run.seed] = {end->second, false};
    else
      group.without.insert(run.seed);
  }
  return groups;
}

class Join {
 public:
  Join(const ClaimComparison& comparison, const std::vector<Group>& groups)
      : comparison_(comparison), groups_(groups) {
    for (const auto* side : {&comparison.of, &comparison.to})
      for (const ClaimTerm& term : *side) {
        terms_.push_back(&term);
        for (const auto& each : term.where) named_.insert(each.first);
      }
    // What all terms ask for alike is no difference between them.
    for (auto name = named_.begin(); name != named_.end();)
      name = same_in_all(*name) ? named_.erase(name) : std::next(name);
  }

  std::vector<JoinedCell> run() {
    extend();
    return std::move(cells_);
  }

 private:
  bool same_in_all(const std::string& pointer) const {
    const auto of = [&](const ClaimTerm* term) {
      const auto found = term->where.find(pointer);
      return found == term->where.end() ? std::vector<Json>() : found->second;
    };
    return std::all_of(terms_.begin(), terms_.end(),
                       [&](const ClaimTerm* term) { return of(term) == of(terms_.front()); });
  }

  /// Options of two plug-ins that the sides name have nothing to do with one another.
  bool of_other_plugin(const std::string& pointer, const ClaimInputs& a, const ClaimInputs& b) const {
    for (std::string above = parent(pointer); !above.empty(); above = parent(above)) {
      if (!named_.contains(above + "/name")) continue;
      const auto in_a = a.find(above + "/name"), in_b = b.find(above + "/name");
      if (in_a != a.end() && in_b != b.end() && in_a->second != in_b->second) return true;
    }
    return false;
  }

  bool agree(const ClaimInputs& a, const ClaimInputs& b) const {
    return std::all_of(a.begin(), a.end(), [&](const auto& each) {
      if (named_.contains(each.first) || among(comparison_.free, each.first)) return true;
      const auto other = b.find(each.first);
      return other == b.end() || other->second == each.second || of_other_plugin(each.first, a, b);
    });
  }

  void extend() {
    if (chosen_.size() == terms_.size()) {
      add();
      return;
    }
    for (const Group& group : groups_) {
      if (!holds(terms_[chosen_.size()]->where, group.settings)) continue;
      if (!std::all_of(chosen_.begin(), chosen_.end(),
                       [&](const Group* each) { return agree(each->settings, group.settings); }))
        continue;
      chosen_.push_back(&group);
      extend();
      chosen_.pop_back();
    }
  }

  void add() {
    JoinedCell cell;
    // What the sides differ in is told apart; what then does not vary is no input (varying_inputs).
    for (std::size_t t = chosen_.size(); t-- > 0;)
      for (const auto& [pointer, value] : chosen_[t]->settings) {
        const auto [at, added] = cell.inputs.emplace(pointer, value);
        const bool open = named_.contains(pointer) || among(comparison_.free, pointer);
        if (t < comparison_.of.size() && (open || (!added && at->second != value)))
          cell.inputs[pointer + kOfFirstSide] = value;
      }
    // Up to one tau, as everywhere; where nobody arrives by then nothing is known.
    std::vector<statistics::Runs> groups;
    for (const Group* each : chosen_) groups.push_back(each->runs);
    const std::optional<double> tau = statistics::common_tau(groups);
    std::size_t arrived = 0;
    std::vector<std::map<std::int64_t, double>> values;
    for (const statistics::Runs& runs : groups) {
      arrived += statistics::arrivals_by(runs, tau);
      values.push_back(statistics::values_until(runs, tau));
    }
    std::set<std::int64_t> seeds = chosen_.front()->without;
    for (const auto& each : groups.front()) seeds.insert(each.first);
    for (const std::int64_t seed : seeds) {
      double sides[2] = {0, 0};
      for (std::size_t t = 0; t < chosen_.size(); ++t) {
        const auto found = values[t].find(seed);
        const double value = found == values[t].end() || arrived == 0 ? kNone : found->second;
        sides[t < comparison_.of.size() ? 0 : 1] += terms_[t]->times * value;
      }
      const bool ratio = comparison_.quantity == ClaimComparison::Quantity::ratio;
      cell.quantity[seed] = ratio ? sides[0] / sides[1] : sides[0] - sides[1];
    }
    cells_.push_back(std::move(cell));
  }

  const ClaimComparison& comparison_;
  const std::vector<Group>& groups_;
  std::vector<const ClaimTerm*> terms_;
  std::set<std::string> named_;
  std::vector<const Group*> chosen_;
  std::vector<JoinedCell> cells_;
};

}  // namespace

std::vector<JoinedCell> join_sides(const ClaimComparison& comparison, const std::vector<ClaimRun>& runs) {
  const std::vector<Group> groups = groups_of(comparison, runs);
  return Join(comparison, groups).run();
}

bool determines(const std::vector<ClaimInputs>& cells, const std::string& by, const std::string& pointer) {
  std::map<Json, Json> seen;
  const auto at = [](const ClaimInputs& cell, const std::string& key) {
    const auto found = cell.find(key);
    return found == cell.end() ? Json() : found->second;
  };
  return std::all_of(cells.begin(), cells.end(), [&](const ClaimInputs& cell) {
    const Json value = at(cell, pointer);
    return seen.emplace(at(cell, by), value).first->second == value;
  });
}

std::vector<std::string> varying_inputs(const std::vector<ClaimInputs>& cells,
                                        const std::map<std::string, std::string>& preferred) {
  std::map<std::string, std::set<Json>> values;
  std::map<std::string, std::size_t> present;
  for (const ClaimInputs& cell : cells)
    for (const auto& [pointer, value] : cell) {
      values[pointer].insert(value);
      ++present[pointer];
    }
  std::vector<std::string> varying;
  for (const auto& [pointer, all] : values)
    if (all.size() > 1 || present[pointer] < cells.size()) varying.push_back(pointer);
  const auto rank = [&](const std::string& pointer) {
    return preferred.contains(pointer) ? 0 : pointer.ends_with("/name") || pointer.ends_with("/use") ? 1 : 2;
  };
  std::stable_sort(varying.begin(), varying.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::vector<std::string> kept;
  for (const std::string& each : varying) {
    const bool finer_follows = std::any_of(varying.begin(), varying.end(), [&](const std::string& other) {
      return other != each && determines(cells, other, each) && !determines(cells, each, other);
    });
    const bool same = std::any_of(kept.begin(), kept.end(), [&](const std::string& other) {
      return determines(cells, other, each) && determines(cells, each, other);
    });
    if (!same && !finer_follows) kept.push_back(each);
  }
  return kept;
}

}  // namespace simsgd
