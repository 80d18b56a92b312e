#include "sim/roles/crashes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"
#include "sim/base/instants.hpp"

namespace simsgd {

namespace {
constexpr std::size_t kMostInARow = 10000;
}

Crashes::Crashes(const FailureModel& model, std::uint64_t seed, int rank)
    : model_(model), seed_(seed), rank_(rank), next_crash_s_(model.next_crash_s(seed, rank, 0, 0)) {}

std::vector<Crashes::Outage> Crashes::during(double from_s, double seconds) const {
  const double redo_s = recovery_ == Recovery::recompute ? since_s_ : 0;
  std::vector<Outage> outages;
  double begin_s = from_s, next_s = std::max(next_crash_s_, from_s);
  double end_s = from_s + seconds;
  while (before(next_s, end_s)) {
    if (outages.size() == kMostInARow)
      throw RunError(fmt::format(
          "Rank {} crashed {} times in a row without computing {:.3g} s: \"mean_time_between\" is too short. Write checkpoints more often, or make it longer.",
          rank_, kMostInARow, redo_s + seconds));
    const double up_s = next_s + model_.restart_s;
    outages.push_back({next_s, up_s, up_s + redo_s, next_s - begin_s});
    begin_s = up_s;
    end_s = up_s + redo_s + seconds;
    next_s = model_.next_crash_s(seed_, rank_, totals_.crashes + outages.size(), up_s);
  }
  return outages;
}

void Crashes::record(const Outage& outage) {
  // A worker that crashes before it is ready again loses what it was recomputing, and that is its progress.
  const bool first = outage.crash_s >= ready_s_ || recovery_ == Recovery::rejoin;
  const Loss loss{outage.crash_s, outage.up_s, first ? static_cast<double>(since_steps_) : 0,
                  outage.progress_s + (first ? since_s_ : 0)};
  in_step_.push_back(loss);
  ++totals_.crashes;
  totals_.lost_steps += loss.steps;
  totals_.lost_work_s += loss.work_s;
  totals_.downtime_s += outage.up_s - outage.crash_s;
  next_crash_s_ = model_.next_crash_s(seed_, rank_, totals_.crashes, outage.up_s);
  ready_s_ = outage.ready_s;
  if (recovery_ == Recovery::recompute) return;
  since_s_ = 0;
  since_steps_ = 0;
}

Crashes::Totals Crashes::totals(double over_s) const {
  Totals totals = totals_;
  for (const Loss& loss : in_step_) {
    const bool after = before(over_s, loss.crash_s);
    totals.crashes -= after ? 1U : 0U;
    totals.lost_steps -= after ? loss.steps : 0;
    totals.lost_work_s -= after ? loss.work_s : 0;
    totals.downtime_s -= std::max(0.0, loss.up_s - std::max(over_s, loss.crash_s));
  }
  return totals;
}

void Crashes::checkpoint() {
  since_s_ = 0;
  since_steps_ = 0;
}

void add_totals(const Crashes::Totals& totals, std::map<std::string, double>& metrics) {
  metrics["crashes"] += static_cast<double>(totals.crashes);
  metrics["lost_steps"] += totals.lost_steps;
  metrics["lost_work_s"] += totals.lost_work_s;
  metrics["downtime_s"] += totals.downtime_s;
}

}  // namespace simsgd
