#include "sim/engine/slowdown.hpp"

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

}  // namespace simsgd
