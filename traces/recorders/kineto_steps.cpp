// Of a Kineto trace: which kernels belong to which step, and for how long they ran.
#include <algorithm>

#include "traces/recorders/kineto_recording.hpp"

namespace simsgd::kineto {

namespace {

// The length of the union; `spans` come in the order of their begins.
class Union {
 public:
  void add(const Span& span) {
    if (span.begin_us > end_us_) {
      total_us_ += span.end_us - span.begin_us;
      end_us_ = span.end_us;
    } else if (span.end_us > end_us_) {
      total_us_ += span.end_us - end_us_;
      end_us_ = span.end_us;
    }
  }
  double us() const { return total_us_; }

 private:
  double total_us_ = 0, end_us_ = -std::numeric_limits<double>::infinity();
};

struct StepSpan {
  std::uint32_t step;
  bool nccl;
  Span span;
};

template <class Event>
std::size_t step_of(const Recording& recording, const Event& event, double ts_us) {
  const Launch* launch = recording.launch_of(event.correlation);
  return recording.step_at(launch == nullptr ? ts_us : launch->ts_us);
}

}  // namespace

void Recording::sort() {
  const auto by_time = [](const auto& a, const auto& b) { return a.ts_us < b.ts_us; };
  const auto by_begin = [](const auto& a, const auto& b) { return a.begin_us < b.begin_us; };
  const auto by_span = [](const auto& a, const auto& b) { return a.span.begin_us < b.span.begin_us; };
  std::stable_sort(steps.begin(), steps.end(), by_span);
  std::stable_sort(nccl.begin(), nccl.end(), by_span);
  std::stable_sort(layers.begin(), layers.end(), by_span);
  std::sort(optimizer.begin(), optimizer.end(), by_begin);
  std::sort(forward.begin(), forward.end(), by_time);
  std::sort(backward.begin(), backward.end(), [](const Mark& a, const Mark& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.ts_us < b.ts_us;
  });
  std::sort(launches.begin(), launches.end(),
            [](const Launch& a, const Launch& b) { return a.correlation < b.correlation; });
}

const Launch* Recording::launch_of(std::uint32_t correlation) const {
  if (correlation == 0) return nullptr;
  const auto found =
      std::lower_bound(launches.begin(), launches.end(), correlation,
                       [](const Launch& launch, std::uint32_t id) { return launch.correlation < id; });
  return found == launches.end() || found->correlation != correlation ? nullptr : &*found;
}

std::size_t Recording::step_at(double ts_us) const {
  const auto next =
      std::upper_bound(steps.begin(), steps.end(), ts_us,
                       [](double ts, const ProfilerStep& step) { return ts < step.span.begin_us; });
  if (next == steps.begin()) return steps.size();
  if (next == steps.end() && ts_us > steps.back().span.end_us) return steps.size();
  return static_cast<std::size_t>(next - steps.begin()) - 1;
}

const Mark* Recording::backward_at(double ts_us, std::uint32_t thread) const {
  const auto next = std::partition_point(backward.begin(), backward.end(), [&](const Mark& mark) {
    return mark.thread < thread || (mark.thread == thread && mark.ts_us <= ts_us);
  });
  return next == backward.begin() || std::prev(next)->thread != thread ? nullptr : &*std::prev(next);
}

std::vector<StepTimes> step_times(Recording& recording) {
  const std::size_t none = recording.steps.size();
  std::vector<StepSpan> spans;
  spans.reserve(recording.kernels.size() + recording.nccl.size());
  for (Kernel& kernel : recording.kernels) {
    kernel.step = static_cast<std::uint32_t>(step_of(recording, kernel, kernel.ts_us));
    if (kernel.step < none)
      spans.push_back({kernel.step, false, {kernel.ts_us, kernel.ts_us + kernel.dur_us}});
  }
  for (Nccl& nccl : recording.nccl) {
    const std::size_t step = step_of(recording, nccl, nccl.span.begin_us);
    nccl.record.in_step = step < none;
    if (step == none) continue;
    nccl.record.step = recording.steps[step].number;
    spans.push_back({static_cast<std::uint32_t>(step), true, nccl.span});
  }
  std::sort(spans.begin(), spans.end(), [](const StepSpan& a, const StepSpan& b) {
    return a.step != b.step ? a.step < b.step : a.span.begin_us < b.span.begin_us;
  });
  std::vector<StepTimes> times(none);
  auto span = spans.begin();
  for (std::size_t step = 0; step < none; ++step) {
    Union compute, communication, either;
    for (; span != spans.end() && span->step == step; ++span) {
      (span->nccl ? communication : compute).add(span->span);
      either.add(span->span);
    }
    const Span& own = recording.steps[step].span;
    const double end_us = step + 1 < none ? recording.steps[step + 1].span.begin_us : own.end_us;
    times[step] = {
        .step_s = (end_us - own.begin_us) / kMicroseconds_per_s,
        .compute_s = compute.us() / kMicroseconds_per_s,
        .communication_s = communication.us() / kMicroseconds_per_s,
        .exposed_communication_s = std::max(0.0, either.us() - compute.us()) / kMicroseconds_per_s};
  }
  return times;
}

}  // namespace simsgd::kineto
