#include "measure/late_steps.hpp"

#include <algorithm>
#include <limits>

#include "measure/common_end.hpp"
#include "measure/gathering.hpp"

namespace simsgd {

namespace {
constexpr std::size_t kKept = 256;

struct Ended {
  double end_s = 0, samples = 0;
};
struct Earlier {
  std::uint64_t steps = 0;
  double samples = 0;
};
}  // namespace

void LateSteps::step_began(int, std::uint64_t, double now_s) {
  open_ = Step{now_s, 0, 0, ledger_.record(), 0};
}

void LateSteps::step_ended(const StepEnd& end) {
  if (!open_) return;
  open_->end_s = end.end_s;
  open_->samples = ledger_.record().samples - open_->before.samples;
  open_->busy_s = busy_time_s(ledger_.record()) - busy_time_s(open_->before);
  last_.push_back(std::move(*open_));
  open_.reset();
  if (last_.size() <= kKept || last_.front().end_s > time_s_) return;
  ++earlier_steps_;
  earlier_samples_ += last_.front().samples;
  last_.pop_front();
}

double LateSteps::agree(MPI_Comm world, const StopRule& stop, double known_s) const {
  std::vector<Ended> own;
  for (const Step& step : last_) own.push_back({step.end_s, step.samples});
  const auto of_ranks = gather_at_root(world, own);
  const auto earlier = gather_at_root(world, std::vector<Earlier>{{earlier_steps_, earlier_samples_}});
  double over_s = std::min(stop.time_s, known_s);
  if (!of_ranks.empty()) {
    std::vector<Ended> all;
    for (const auto& each : of_ranks) all.insert(all.end(), each.begin(), each.end());
    std::sort(all.begin(), all.end(), [](const Ended& a, const Ended& b) { return a.end_s < b.end_s; });
    Earlier before;
    for (const auto& each : earlier) {
      before.steps += each.front().steps;
      before.samples += each.front().samples;
    }
    const double most_steps = static_cast<double>(stop.steps) * static_cast<double>(of_ranks.size());
    for (const Ended& each : all) {
      ++before.steps;
      before.samples += each.samples;
      if (static_cast<double>(before.steps) < most_steps && before.samples < stop.samples * kSampleRounding)
        continue;
      over_s = std::min(over_s, each.end_s);
      break;
    }
  }
  MPI_Bcast(&over_s, 1, MPI_DOUBLE, 0, world);
  return over_s;
}

std::uint64_t LateSteps::after(double over_s) const {
  return static_cast<std::uint64_t>(
      std::count_if(last_.begin(), last_.end(), [&](const Step& step) { return step.end_s > over_s; }));
}

WorkerRecord LateSteps::without(double over_s) const {
  const auto first =
      std::find_if(last_.begin(), last_.end(), [&](const Step& step) { return step.end_s > over_s; });
  if (first == last_.end()) return ledger_.record();
  WorkerRecord record = first->before;
  const WorkerRecord& whole = ledger_.record();
  record.staleness_sum = whole.staleness_sum;
  record.staleness_max = whole.staleness_max;
  record.staleness_count = whole.staleness_count;
  record.ages = whole.ages;
  record.unfinished_busy_s = std::clamp(first->busy_s, 0.0, std::max(0.0, over_s - first->begin_s));
  return record;
}

}  // namespace simsgd
