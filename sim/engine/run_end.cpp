#include "sim/engine/run_end.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/instants.hpp"

namespace simsgd {

namespace {
constexpr double kRounding = 1 - 1e-9;  // sums of samples may miss a bound by rounding
}

RunEnd::RunEnd(const Job& job, std::function<void(double)> over)
    : job_(job),
      over_(std::move(over)),
      alone_(!job.algorithm->needs_others()),
      in_time_order_(alone_ || std::isfinite(job.stop.time_s) || job.target.stop ||
                     job.record.evaluate_every_s > 0) {}

// What a step leaves out of its whole batch (rounds that end early) has to be made good by further steps.
// Samples that a step which has begun may still use count as left out: nobody knows yet.
bool RunEnd::enough_samples(std::uint64_t steps) const {
  if (!std::isfinite(job_.stop.samples)) return false;
  const double batch = job_.workload.batch;
  const double left_out = std::max(0.0, begun_steps_ * batch - used_samples_);
  return static_cast<double>(steps) * job_.workers() * batch - left_out >= job_.stop.samples * kRounding;
}

bool RunEnd::goes_on(std::uint64_t steps, double now_s) {
  if (over_s_) return false;
  if (alone_) return true;
  if (!before(now_s, job_.stop.time_s) || enough_samples(steps)) stopping_ = true;
  return steps < job_.stop.steps && !(stopping_ && steps >= last_step_);
}

void RunEnd::begun(std::uint64_t step) {
  last_step_ = std::max(last_step_, step);
  begun_steps_ += 1;
}

void RunEnd::completed(double samples, double now_s) {
  completed_steps_ += 1;
  completed_samples_ += samples;
  if (!alone_) return;
  const double most_steps = static_cast<double>(job_.stop.steps) * job_.workers();
  if (completed_steps_ >= most_steps || completed_samples_ >= job_.stop.samples * kRounding) end(now_s);
}

void RunEnd::end(double at_s) {
  if (over_s_) return;
  over_s_ = at_s;
  over_(at_s);
}

}  // namespace simsgd
