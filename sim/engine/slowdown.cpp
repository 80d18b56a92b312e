#include "sim/engine/slowdown.hpp"

#include <algorithm>

namespace simsgd {

void Slowdown::started(const Started& operation) {
  const auto channel = static_cast<std::size_t>(operation.channel);
  if (channel_free_s_.size() <= channel) channel_free_s_.resize(channel + 1, 0.0);
  double& free_s = channel_free_s_[channel];
  const double begin_s = std::max({free_s, operation.at_s, operation.begin_s});
  free_s = begin_s + operation.seconds;
  const auto under_way = std::find_if(spans_.begin(), spans_.end(),
                                      [&](const Span& span) { return span.end_s > operation.at_s; });
  spans_.erase(spans_.begin(), under_way);
  if (spans_.empty() || free_s > spans_.back().end_s) spans_.push_back({free_s, operation.traffic, begin_s});
}

double Slowdown::end_of(double from_s, double work_s, const std::function<void(Traffic, double)>& added) {
  double now_s = from_s;
  for (const Span& span : spans_) {
    if (work_s <= 0) break;
    if (span.end_s <= now_s) continue;
    if (span.begin_s > now_s) {
      const double free_s = std::min(work_s, span.begin_s - now_s);
      now_s += free_s;
      work_s -= free_s;
      if (work_s <= 0) break;
    }
    const double done_s = std::min(work_s, (span.end_s - now_s) / (1 + slowdown_));
    added(span.traffic, done_s * slowdown_);
    now_s = done_s < work_s ? span.end_s : now_s + done_s * (1 + slowdown_);
    work_s -= done_s;
  }
  return now_s + std::max(0.0, work_s);
}

}  // namespace simsgd
