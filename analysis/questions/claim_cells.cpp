#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/frame/cell.hpp"
#include "analysis/questions/claims.hpp"
#include "analysis/statistics/contest.hpp"

namespace simsgd {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool among(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

bool holds(const ClaimCondition& condition, const ClaimInputs& settings) {
  return std::ranges::all_of(condition, [&](const auto& each) {
    const auto found = settings.find(each.first);
    return found != settings.end() && std::ranges::find(each.second, found->second) != each.second.end();
  });
}

/// The runs of one setting.
struct Setting {
  ClaimInputs settings;
  statistics::Runs runs;           // that have the metric, or were on their way to a target
  std::set<std::int64_t> without;  // seeds of those that have no value
};

std::vector<Setting> settings_of_rows(const ClaimComparison& comparison, const frame::Frame& frame) {
  const frame::Measure measure = frame::measure_of_metric(comparison.metric);
  std::vector<Setting> all;
  std::map<ClaimInputs, std::size_t> known;
  for (const ResultPoint* row : frame.rows()) {
    const auto [at, added] = known.emplace(claim_settings(*row), all.size());
    if (added) all.push_back({at->first, {}, {}});
    const frame::Sample sample = frame::sample_of(frame, *row, measure);
    const bool arrived = sample.kind == frame::Sample::Kind::value;
    const std::int64_t seed = row->seed.value_or(0);
    if (!arrived && row->status == RunStatus::ok && comparison.absent)
      all[at->second].runs[seed] = {*comparison.absent, true};
    else if (arrived || sample.kind == frame::Sample::Kind::censored)
      all[at->second].runs[seed] = {sample.value, arrived};
    else
      all[at->second].without.insert(seed);
  }
  return all;
}

/// A comparison where nothing but the seed is left open.
struct JoinedCell {
  ClaimInputs inputs;
  std::map<std::int64_t, double> quantity;  ///< by seed, up to one tau; NaN where a metric has no value
};

class Join {
 public:
  Join(const ClaimComparison& comparison, const std::vector<Setting>& groups)
      : comparison_(comparison), groups_(groups) {
    for (const auto* side : {&comparison.of, &comparison.to})
      for (const ClaimTerm& term : *side) {
        terms_.push_back(&term);
        for (const auto& each : term.where) named_.insert(each.first);
      }
    // What all terms ask for alike is not a difference between them.
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
    return std::ranges::all_of(terms_, [&](const ClaimTerm* term) { return of(term) == of(terms_.front()); });
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
    return std::ranges::all_of(a, [&](const auto& each) {
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
    for (const Setting& group : groups_) {
      if (!holds(terms_[chosen_.size()]->where, group.settings)) continue;
      if (!std::ranges::all_of(chosen_,
                               [&](const Setting* each) { return agree(each->settings, group.settings); }))
        continue;
      chosen_.push_back(&group);
      extend();
      chosen_.pop_back();
    }
  }

  void add() {
    JoinedCell cell;
    // What the sides differ in is told apart; what then does not vary is not an input (varying_inputs).
    for (std::size_t t = chosen_.size(); t-- > 0;)
      for (const auto& [pointer, value] : chosen_[t]->settings) {
        const auto [at, added] = cell.inputs.emplace(pointer, value);
        const bool open = named_.contains(pointer) || among(comparison_.free, pointer);
        if (t < comparison_.of.size() && (open || (!added && at->second != value)))
          cell.inputs[pointer + kOfFirstSide] = value;
      }
    // Up to one tau, as everywhere; where nobody arrives by then nothing is known.
    std::vector<statistics::Runs> groups;
    for (const Setting* each : chosen_) groups.push_back(each->runs);
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
  const std::vector<Setting>& groups_;
  std::vector<const ClaimTerm*> terms_;
  std::set<std::string> named_;
  std::vector<const Setting*> chosen_;
  std::vector<JoinedCell> cells_;
};

/// In the order of the rows.
std::vector<JoinedCell> join_sides(const ClaimComparison& comparison, const frame::Frame& frame) {
  const std::vector<Setting> settings = settings_of_rows(comparison, frame);
  return Join(comparison, settings).run();
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
  const auto is_infinite = [](double each) { return std::isinf(each); };
  const bool infinite = std::ranges::any_of(effects, is_infinite);
  judged.mean = effects.empty() ? kNone : infinite ? 0 : statistics::mean(effects);
  if (infinite)
    for (const double each : effects) judged.mean += each;
  if (std::isnan(judged.mean)) {  // infinite on both sides is undecided; without a value there is nothing
    judged.state = infinite ? ClaimState::within_noise : ClaimState::no_value;
    return judged;
  }
  if (effects.size() > 1 && !infinite)
    judged.half_width = statistics::student_mean(effects).interval->half_width();
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

std::vector<ClaimCell> judged_cells(const ClaimComparison& comparison,
                                    const std::vector<std::string>& for_all, const frame::Frame& frame) {
  const std::vector<JoinedCell> cells = join_sides(comparison, frame);
  std::vector<ClaimInputs> inputs;
  for (const JoinedCell& cell : cells) inputs.push_back(cell.inputs);
  std::set<std::string> pointers;
  for (const ClaimInputs& each : inputs)
    for (const auto& input : each) pointers.insert(input.first);
  std::vector<std::string> settled = for_all;
  if (!comparison.along.empty()) settled.push_back(comparison.along);
  std::set<std::string> dropped;
  for (const std::string& pointer : pointers)
    if (std::ranges::any_of(settled, [&](const std::string& by) { return determines(inputs, by, pointer); }))
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

bool determines(const std::vector<ClaimInputs>& cells, const std::string& by, const std::string& pointer) {
  std::map<Json, Json> seen;
  const auto at = [](const ClaimInputs& cell, const std::string& key) {
    const auto found = cell.find(key);
    return found == cell.end() ? Json() : found->second;
  };
  return std::ranges::all_of(cells, [&](const ClaimInputs& cell) {
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
  std::ranges::stable_sort(varying, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::vector<std::string> kept;
  for (const std::string& each : varying) {
    const bool finer_follows = std::ranges::any_of(varying, [&](const std::string& other) {
      return other != each && determines(cells, other, each) && !determines(cells, each, other);
    });
    const bool same = std::ranges::any_of(kept, [&](const std::string& other) {
      return determines(cells, other, each) && determines(cells, each, other);
    });
    if (!same && !finer_follows) kept.push_back(each);
  }
  return kept;
}

}  // namespace simsgd
