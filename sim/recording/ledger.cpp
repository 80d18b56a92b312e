#include "sim/recording/ledger.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/record.hpp"

namespace simsgd {

Ledger::Lane& Ledger::lane_of(std::int32_t channel) {
  for (Lane& lane : lanes_)
    if (lane.channel == channel) return lane;
  lanes_.push_back({channel, 0, {}});
  return lanes_.back();
}

void Ledger::Lane::forget_until(double time_s) {
  while (!empty() && spans[first].span.end_s <= time_s) ++first;
  constexpr std::size_t kMostForgotten = 64;
  if (!empty() && first < kMostForgotten) return;
  spans.erase(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(first));
  first = 0;
}

void Ledger::operation(std::int32_t channel, const OperationSpan& span) {
  Lane& lane = lane_of(channel);
  lane.forget_until(step_begin_s_);  // nobody waits there again
  lane.spans.push_back({span, record_.steps + (in_step_ ? 1 : 0)});
  double seconds = transfer_s(span);
  const double end_s = span.end_s - span.host_after_s;
  if (channel == kMessageChannel && seconds > 0)
    seconds = counted_first(end_s - seconds, end_s, span.traffic);
  record_.communication_s[static_cast<std::size_t>(span.traffic)] += seconds;
}

// Messages go beside one another, to and from a server above all. Of that time, what is not counted yet for
// another one of its kind.
double Ledger::counted_first(double from_s, double to_s, Traffic traffic) {
  constexpr std::size_t kMost = 64;
  if (on_the_way_.size() == kMost) on_the_way_.erase(on_the_way_.begin(), on_the_way_.begin() + kMost / 2);
  auto first = on_the_way_.end();
  while (first != on_the_way_.begin() && std::prev(first)->to_s > from_s) --first;
  OnTheWay all{from_s, to_s, traffic};
  double seconds = to_s - from_s;
  on_the_way_.erase(std::remove_if(first, on_the_way_.end(),
                                   [&](const OnTheWay& each) {
                                     if (each.traffic != traffic || each.from_s >= to_s) return false;
                                     seconds -= std::min(to_s, each.to_s) - std::max(from_s, each.from_s);
                                     all.from_s = std::min(all.from_s, each.from_s);
                                     all.to_s = std::max(all.to_s, each.to_s);
                                     return true;
                                   }),
                    on_the_way_.end());
  const auto later = [](double end_s, const OnTheWay& each) { return end_s < each.to_s; };
  on_the_way_.insert(std::upper_bound(on_the_way_.begin(), on_the_way_.end(), all.to_s, later), all);
  return seconds;
}

double Ledger::transfer_s(const OperationSpan& span) {
  return std::max(0.0,
                  span.end_s - span.host_after_s - std::max(span.go_s, span.start_s + span.host_before_s));
}

void Ledger::expose(Traffic traffic, double seconds) {
  book(Activity::communication, seconds);
  record_.exposed_s[static_cast<std::size_t>(traffic)] += seconds;
  record_.overhead_s[static_cast<std::size_t>(traffic)] += seconds;
}

void Ledger::handle(Traffic traffic, double seconds) {
  book(Activity::host, seconds);
  record_.overhead_s[static_cast<std::size_t>(traffic)] += seconds;
}

void Ledger::wait(std::int32_t channel, double from_s, double to_s) {
  double at = from_s;
  // Books [at, until] and moves on; nothing if that lies in the past.
  const auto advance = [&at, to_s](double until) {
    const double end = std::min(until, to_s);
    const double seconds = std::max(0.0, end - at);
    at = std::max(at, end);
    return seconds;
  };
  Lane& lane = lane_of(channel);
  for (std::size_t i = lane.first; i < lane.spans.size(); ++i) {
    const OperationSpan& span = lane.spans[i].span;
    if (span.start_s >= to_s) break;
    book(Activity::wait, advance(span.start_s));
    handle(span.traffic, advance(span.start_s + span.host_before_s));
    book(Activity::wait, advance(span.go_s));
    expose(span.traffic, advance(span.end_s - span.host_after_s));
    handle(span.traffic, advance(span.end_s));
  }
  lane.forget_until(to_s);
  book(Activity::wait, advance(to_s));
}

void Ledger::staleness(double steps) {
  record_.staleness_sum += steps;
  record_.staleness_max = std::max(record_.staleness_max, steps);
  ++record_.staleness_count;
  ++record_.ages[static_cast<std::int32_t>(std::floor(steps))];
}

void Ledger::begin_step(double now_s) {
  step_begin_s_ = now_s;
  in_step_ = true;
  waited_s_ = record_.activity_s[static_cast<std::size_t>(Activity::wait)];
  straggled_s_ = record_.activity_s[static_cast<std::size_t>(Activity::straggle)];
  if (may_be_cut_) step_begin_.assign(1, record_);
}

double Ledger::end_step(double now_s) {
  record_.step_wait.add(record_.activity_s[static_cast<std::size_t>(Activity::wait)] - waited_s_);
  record_.step_straggle.add(record_.activity_s[static_cast<std::size_t>(Activity::straggle)] - straggled_s_);
  ++record_.steps;
  record_.end_s = now_s;
  in_step_ = false;
  return now_s - step_begin_s_;
}

void Ledger::cut(double end_s) {
  for (const Lane& lane : lanes_) {
    for (std::size_t i = lane.first; i < lane.spans.size(); ++i) {
      const auto& [span, in_step] = lane.spans[i];
      if (in_step > record_.steps) continue;  // dropped with that step
      const double beyond_s = std::max(0.0, span.end_s - span.host_after_s - end_s);
      WorkerTotals& totals = in_step_ ? step_begin_.front() : record_;
      totals.communication_s[static_cast<std::size_t>(span.traffic)] -= std::min(transfer_s(span), beyond_s);
    }
  }
  if (!in_step_) return;
  in_step_ = false;
  WorkerTotals& completed = step_begin_.front();
  const double busy_s = busy_time_s(record_) - busy_time_s(completed);
  completed.staleness_sum = record_.staleness_sum;
  completed.staleness_max = record_.staleness_max;
  completed.staleness_count = record_.staleness_count;
  static_cast<WorkerTotals&>(record_) = completed;
  record_.unfinished_busy_s = std::clamp(busy_s, 0.0, std::max(0.0, end_s - step_begin_s_));
}

double busy_time_s(const WorkerTotals& worker) {
  double busy_s = worker.unfinished_busy_s;
  for (const ActivityInfo& info : activities())
    if (info.occupies_device || info.activity == Activity::straggle)
      busy_s += worker.activity_s[static_cast<std::size_t>(info.activity)];
  return busy_s;
}

namespace {

// The least number of bin kFirst + i, so that no logarithm is taken of each duration.
std::vector<double> bin_edges() {
  const auto bin = [](double seconds) { return std::floor(10 * std::log10(seconds)); };
  std::vector<double> edges;
  for (std::int32_t k = Histogram::kFirst; k < Histogram::kFirst + Histogram::kBins; ++k) {
    double edge = std::pow(10, k / 10.0);
    while (bin(edge) < k) edge = std::nextafter(edge, std::numeric_limits<double>::infinity());
    while (bin(std::nextafter(edge, 0.0)) >= k) edge = std::nextafter(edge, 0.0);
    edges.push_back(edge);
  }
  return edges;
}

}  // namespace

void Histogram::add(double seconds) {
  if (seconds < 1e-9) {
    ++zero;
    return;
  }
  static const std::vector<double> kEdges = bin_edges();
  // A double's bits, as a number, are its binary logarithm, short of it by 0.09 at most: by one bin at most.
  const double log2 = static_cast<double>(std::bit_cast<std::uint64_t>(seconds)) * 0x1p-52 - 1023;
  std::int32_t bin = std::clamp(static_cast<std::int32_t>(std::floor(log2 * 10 / std::log2(10.0))), kFirst,
                                kFirst + kBins - 1);
  if (bin + 1 < kFirst + kBins && seconds >= kEdges[static_cast<std::size_t>(bin + 1 - kFirst)]) ++bin;
  if (counts.empty()) {
    first = bin;
    counts.reserve(16);
  }
  if (bin < first) {
    counts.insert(counts.begin(), static_cast<std::size_t>(first - bin), 0);
    first = bin;
  }
  const auto place = static_cast<std::size_t>(bin - first);
  if (place >= counts.size()) counts.resize(place + 1);
  ++counts[place];
}

void StepTimes::add(double seconds) {
  constexpr std::size_t kMost = std::size_t{1} << 20, kMany = kMost >> 6;
  longest_s_ = std::max(longest_s_, seconds);
  if ((seen_++ & (stride_ - 1)) != 0) return;           // a power of two
  if (values_.size() == kMany) values_.reserve(kMost);  // once: copies of so many take more than adding them
  values_.push_back(seconds);
  if (values_.size() < kMost) return;
  for (std::size_t i = 0; 2 * i < values_.size(); ++i) values_[i] = values_[2 * i];
  values_.resize(kMost / 2);
  stride_ *= 2;
}

std::vector<double> StepTimes::take_values() {
  if (stride_ > 1) values_.push_back(longest_s_);
  return std::move(values_);
}

}  // namespace simsgd
