#include "analysis/claims/compare.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <set>

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
  std::map<std::int64_t, double> metric;  // by seed
};

std::vector<Group> groups_of(const ClaimComparison& comparison, const std::vector<ClaimRun>& runs) {
  std::vector<Group> groups;
  std::map<ClaimInputs, std::size_t> known;
  for (const ClaimRun& run : runs) {
    const auto [at, added] = known.emplace(run.settings, groups.size());
    if (added) groups.push_back({run.settings, {}});
    const auto found = run.metrics.find(comparison.metric);
    double value = kNone;
    if (found != run.metrics.end())
      value = found->second;
    else if (!run.metrics.empty() && comparison.absent)
      value = *comparison.absent;
    else if (!run.metrics.empty() && comparison.metric == "time_to_target_s")
      value = std::numeric_limits<double>::infinity();
    groups[at->second].metric[run.seed] = value;
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
    for (const auto& [seed, first] : chosen_.front()->metric) {
      double sides[2] = {0, 0};
      for (std::size_t t = 0; t < chosen_.size(); ++t) {
        const auto found = chosen_[t]->metric.find(seed);
        const double value = found == chosen_[t]->metric.end() ? kNone : found->second;
        sides[t < comparison_.of.size() ? 0 : 1] += terms_[t]->times * value;
      }
      const bool ratio = comparison_.quantity == ClaimComparison::Quantity::ratio;
      const bool neither = std::isinf(sides[0]) && sides[0] == sides[1];  // both later than any time
      cell.quantity[seed] = ratio ? (neither ? 1 : sides[0] / sides[1]) : neither ? 0 : sides[0] - sides[1];
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

/// Whether cells that agree in `by` agree in `pointer`.
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

/// The quantity as an effect: above 0 where it is above `threshold`.
double effect_of(double quantity, double threshold, bool ratio) {
  if (!ratio) return quantity - threshold;
  return quantity > 0    ? std::log(quantity / threshold)
         : quantity <= 0 ? -std::numeric_limits<double>::infinity()
                         : kNone;
}

struct Quantity {
  bool ratio;
  /// Of a mean effect, the quantity again.
  double back(double effect, double threshold) const {
    return ratio ? std::exp(effect) * threshold : effect + threshold;
  }
};

ClaimCell judged(const ClaimComparison& comparison, const std::vector<const JoinedCell*>& row) {
  const Quantity kind{comparison.quantity == ClaimComparison::Quantity::ratio};
  const double threshold = comparison.threshold();
  const double noise = kind.ratio ? std::log1p(comparison.noise) : comparison.noise;
  const double within = !comparison.within ? 0
                        : kind.ratio       ? std::log1p(*comparison.within)
                                           : *comparison.within;
  const auto effects = [&](const JoinedCell& cell) {
    std::vector<double> all;
    for (const auto& each : cell.quantity) all.push_back(effect_of(each.second, threshold, kind.ratio));
    return all;
  };
  Judged last = judge(effects(*row.back()), comparison.direction, noise, within);
  ClaimCell cell;
  cell.low = cell.high = kind.back(last.mean, threshold);
  if (!comparison.along.empty()) {  // each step up, seed by seed
    last.state = row.size() < 2 ? ClaimState::no_value : ClaimState::reproduced;
    for (std::size_t i = 1; i < row.size(); ++i) {
      std::vector<double> before = effects(*row[i - 1]), grown = effects(*row[i]);
      for (std::size_t s = 0; s < grown.size(); ++s) grown[s] -= s < before.size() ? before[s] : kNone;
      last.state = std::max(last.state, judge(grown, comparison.direction, noise, within).state);
    }
  }
  const bool outside =
      (comparison.low && cell.low < *comparison.low) || (comparison.high && cell.high > *comparison.high);
  cell.state = last.state == ClaimState::reproduced && outside ? ClaimState::outside : last.state;
  return cell;
}

}  // namespace

Judged judge(const std::vector<double>& effects, ClaimComparison::Direction direction, double noise,
             double within) {
  using Direction = ClaimComparison::Direction;
  Judged judged;
  const auto count = static_cast<double>(effects.size());
  for (const double each : effects) judged.mean += each / count;
  if (effects.empty()) judged.mean = kNone;
  if (std::isnan(judged.mean)) {  // infinite on both sides is undecided; without a value there is nothing
    const bool infinite = std::any_of(effects.begin(), effects.end(), [](double e) { return std::isinf(e); });
    judged.state = infinite ? ClaimState::within_noise : ClaimState::no_value;
    return judged;
  }
  if (effects.size() > 1 && std::isfinite(judged.mean)) {
    double squares = 0;
    for (const double each : effects) squares += (each - judged.mean) * (each - judged.mean);
    const boost::math::students_t student(count - 1);
    judged.half_width = boost::math::quantile(student, 0.975) * std::sqrt(squares / (count - 1) / count);
  }
  const double apart = std::max(noise, judged.half_width), size = std::fabs(judged.mean);
  if (direction == Direction::close) {
    judged.state = size + judged.half_width <= within  ? ClaimState::reproduced
                   : size - judged.half_width > within ? ClaimState::reversed
                                                       : ClaimState::within_noise;
    return judged;
  }
  const bool above = judged.mean > apart, below = -judged.mean > apart;
  if (direction == Direction::not_above)
    judged.state = above ? ClaimState::reversed : ClaimState::reproduced;
  else if (!above && !below)
    judged.state = ClaimState::within_noise;
  else
    judged.state = above == (direction == Direction::above) ? ClaimState::reproduced : ClaimState::reversed;
  return judged;
}

std::vector<JoinedCell> join_sides(const ClaimComparison& comparison, const std::vector<ClaimRun>& runs) {
  const std::vector<Group> groups = groups_of(comparison, runs);
  return Join(comparison, groups).run();
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

std::vector<ClaimCell> judged_cells(const ClaimComparison& comparison,
                                    const std::vector<std::string>& for_all, std::vector<JoinedCell> cells) {
  std::vector<ClaimInputs> inputs;
  for (const JoinedCell& cell : cells) inputs.push_back(cell.inputs);
  std::set<std::string> pointers;
  for (const ClaimInputs& each : inputs)
    for (const auto& input : each) pointers.insert(input.first);
  std::vector<std::string> settled = for_all;
  if (!comparison.along.empty()) settled.push_back(comparison.along);
  std::set<std::string> dropped;
  for (const std::string& pointer : pointers)
    if (std::any_of(settled.begin(), settled.end(),
                    [&](const std::string& by) { return determines(inputs, by, pointer); }))
      dropped.insert(pointer);
  // Rows along `along`, then over all of `for_all`.
  std::map<ClaimInputs, std::vector<const JoinedCell*>> rows;
  for (const JoinedCell& cell : cells) {
    ClaimInputs key = cell.inputs;
    if (!comparison.along.empty()) key.erase(comparison.along);
    rows[key].push_back(&cell);
  }
  std::map<ClaimInputs, ClaimCell> judged_by_inputs;
  for (const auto& [key, row] : rows) {
    std::vector<std::vector<const JoinedCell*>> parts;
    if (comparison.along.empty())
      for (const JoinedCell* each : row) parts.push_back({each});
    else
      parts.push_back(row);
    for (const auto& part : parts) {
      ClaimCell cell = judged(comparison, part);
      cell.inputs = key;
      for (const std::string& pointer : dropped) cell.inputs.erase(pointer);
      const auto [at, added] = judged_by_inputs.emplace(cell.inputs, cell);
      if (added) continue;
      at->second.state = std::max(at->second.state, cell.state);
      at->second.low = std::fmin(at->second.low, cell.low);
      at->second.high = std::fmax(at->second.high, cell.high);
    }
  }
  std::vector<ClaimCell> all;
  for (auto& each : judged_by_inputs) all.push_back(std::move(each.second));
  return all;
}

}  // namespace simsgd
