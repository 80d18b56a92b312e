#include "sim/engine/run_end.hpp"

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
      in_time_order_(alone_ || std::isfinite(job.stop.time_s) || std::isfinite(job.stop.samples) ||
                     job.target.stop || job.record.evaluate_every_s > 0) {}

bool RunEnd::is_over(double now_s) const { return over_s_ || !before(now_s, job_.stop.time_s); }

void RunEnd::completed(double samples, double now_s) {
  completed_steps_ += 1;
  completed_samples_ += samples;
  const double most_steps = static_cast<double>(job_.stop.steps) * job_.workers();
  if ((alone_ && completed_steps_ >= most_steps) || completed_samples_ >= job_.stop.samples * kRounding)
    end(now_s);
}

void RunEnd::end(double at_s) {
  if (over_s_) return;
  over_s_ = at_s;
  over_(at_s);
}

}  // namespace simsgd
