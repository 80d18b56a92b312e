#include "analysis/runs/adaptive_seeds.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/statistics/intervals.hpp"

namespace simsgd {

namespace {

std::size_t next_look(std::size_t seeds) { return seeds + std::max<std::size_t>(1, seeds / 4); }

/// Whether the first `count` values are enough.
bool certain(const SeedRule& rule, const std::vector<std::optional<double>>& values, std::size_t count) {
  std::vector<double> known;
  for (std::size_t i = 0; i < count; ++i)
    if (values[i]) known.push_back(*values[i]);
  if (known.empty()) return true;  // nothing to become certain of
  if (known.size() < count) return false;
  const statistics::Estimate mean = statistics::student_mean(known);
  return mean.interval && mean.interval->half_width() <= rule.half_width * std::fabs(mean.value);
}

std::optional<double> value_of(const RunRow& run, const std::string& metric) {
  if (run.status != RunStatus::ok) return std::nullopt;
  const auto found = run.metrics.find(metric);
  return found == run.metrics.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

int seeds_needed(const SeedRule& rule, const std::vector<std::optional<double>>& values) {
  const auto most = static_cast<std::size_t>(rule.at_most);
  std::size_t needed = std::min(most, static_cast<std::size_t>(rule.at_least));
  while (needed < most && needed <= values.size() && !certain(rule, values, needed))
    needed = std::min(most, next_look(needed));
  return static_cast<int>(needed);
}

SeedRounds::SeedRounds(const std::optional<SeedRule>& rule, const std::vector<SweepPoint>& points)
    : rule_(rule), states_(points.size(), State::needed) {
  for (const SweepPoint& each : points)
    if (each.point.optional) states_[each.position] = State::undecided;
}

void SeedRounds::look(const std::vector<SweepPoint>& points, const RunSink& sink) {
  if (!rule_) return;
  for (const SweepPoint& each : points)
    if (sink.status(each.key) == RunStatus::ok) ended(sink.run(each.key).value());
}

void SeedRounds::ended(const RunRow& run) {
  if (rule_) values_[run.key] = value_of(run, rule_->metric);
}

void SeedRounds::decide(const std::vector<SweepPoint>& points) {
  if (!rule_) return;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    std::vector<std::optional<double>> values;
    bool unbroken = true;
    for (end = begin; end < points.size() && points[end].point.cell == points[begin].point.cell; ++end) {
      const auto known = values_.find(points[end].key);
      unbroken = unbroken && known != values_.end();
      if (unbroken) values.push_back(known->second);
    }
    const auto needed = static_cast<std::size_t>(seeds_needed(*rule_, values));
    const State others = needed <= values.size() ? State::dropped : State::undecided;
    for (std::size_t i = begin; i < end; ++i)
      states_[points[i].position] = i - begin < needed ? State::needed : others;
  }
}

}  // namespace simsgd
