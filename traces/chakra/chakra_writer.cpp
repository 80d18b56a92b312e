#include "traces/chakra/chakra_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/roles/collectives.hpp"

namespace simsgd {

namespace {

// Instants that differ by rounding are one.
double just_after_listening(double time_s) { return time_s * (1 + 1e-11) + 1e-15; }

}  // namespace

ChakraRecorder::ChakraRecorder(const Workload& workload, ChakraWriterSetup setup)
    : workload_(workload), setup_(std::move(setup)), ranks_(static_cast<std::size_t>(setup_.workers)) {}

// Listening
// ---------------------------------------------------------------------------------------------------------

std::uint32_t ChakraRecorder::label(const std::string& text) {
  const auto number =
      static_cast<std::uint32_t>(std::find(labels_.begin(), labels_.end(), text) - labels_.begin());
  if (number == labels_.size()) labels_.push_back(text);
  return number;
}

void ChakraRecorder::span(int rank, const char* name, double from_s, double to_s) {
  if (!records(rank) || to_s <= from_s) return;
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  const std::string what = name;
  if (what == "forward") return pass(r, Kind::forward, {from_s, to_s});
  if (what == "backward") return pass(r, Kind::backward, {from_s, to_s});
  if (what == "micro-batches") return pass(r, Kind::micro_batches, {from_s, to_s});
  r.computing.push_back({from_s, to_s, to_s - from_s, r.step, Kind::other, label(what)});
  r.asides.push_back({from_s, to_s});
}

void ChakraRecorder::waited(int rank, std::int32_t channel, double from_s, double to_s) {
  if (!records(rank)) return;
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  r.waits.push_back({to_s, channel});
  if (to_s > from_s) r.asides.push_back({from_s, to_s});
}

void ChakraRecorder::slowed(int, Traffic, double seconds) { approximate_ = approximate_ || seconds > 0; }

void ChakraRecorder::message(int, int, double, double, double) { ++messages_; }

void ChakraRecorder::collective(const CollectiveSeen& seen) {
  if (seen.op == CollectiveOp::custom) ++custom_;
  if (!records(seen.rank)) return;
  Rank& r = ranks_[static_cast<std::size_t>(seen.rank)];
  const bool everybody = seen.options.group == kWorld;
  if (!everybody) groups_.emplace(std::to_string(seen.options.group), seen.members);
  r.communication.push_back({seen.posted_s, seen.span.go_s, seen.span.end_s, seen.options.bytes, r.step,
                             seen.op, seen.channel, everybody ? 0 : seen.options.group,
                             static_cast<std::uint32_t>(seen.members.size())});
}

void ChakraRecorder::step_began(int rank, std::uint64_t step, double) {
  ranks_[static_cast<std::size_t>(rank)].step = step;
}

void ChakraRecorder::step_ended(const StepEnd& end) {
  if (!records(end.rank)) return;
  Rank& r = ranks_[static_cast<std::size_t>(end.rank)];
  r.step_ends_s.push_back(end.end_s);
  r.asides.clear();
  // Another step like the mean of those so far must still fit.
  const std::uint64_t nodes = r.computing.size() + r.communication.size();
  r.full =
      nodes + nodes / r.step_ends_s.size() > setup_.most_nodes / static_cast<std::uint64_t>(setup_.workers);
}

// Layers share the time of a pass for which it did not stand still, and begin and end around where it did.
void ChakraRecorder::pass(Rank& rank, Kind kind, Interval interval) {
  ++passes_;
  std::vector<Interval> still;
  double standing_s = 0;
  for (const Interval& aside : rank.asides)
    if (aside.from_s >= interval.from_s && aside.to_s <= interval.to_s) {
      still.push_back(aside);
      standing_s += aside.to_s - aside.from_s;
    }
  std::sort(still.begin(), still.end(),
            [](const Interval& a, const Interval& b) { return a.from_s < b.from_s; });
  const double seconds = interval.to_s - interval.from_s - standing_s;
  if (kind == Kind::micro_batches) {
    rank.computing.push_back({interval.from_s, interval.to_s, seconds, rank.step, kind, 0});
    return;
  }
  const bool forward = kind == Kind::forward;
  const double nominal_s = forward ? workload_.forward_s() : workload_.backward_s();
  const std::size_t layers = workload_.layers.size();
  double at_s = interval.from_s;
  std::size_t next = 0;
  for (std::size_t i = 0; i < layers; ++i) {
    const std::size_t layer = forward ? i : layers - 1 - i;
    const Layer& of = workload_.layers[layer];
    const double share_s = nominal_s > 0 ? (forward ? of.forward_s : of.backward_s) / nominal_s * seconds : 0;
    // What it waits for lies before it; what comes right at its end belongs after it.
    for (; next < still.size() && still[next].from_s <= just_after_listening(at_s); ++next)
      at_s = std::max(at_s, still[next].to_s);
    const double start_s = at_s;
    at_s += share_s;
    for (; next < still.size() && just_after_listening(still[next].from_s) < at_s; ++next)
      at_s += still[next].to_s - still[next].from_s;
    rank.computing.push_back({start_s, at_s, share_s, rank.step, kind, static_cast<std::uint32_t>(layer)});
  }
}

std::string ChakraRecorder::problem() const {
  if (custom_ > 0)
    return fmt::format("it has {} operations of the algorithm's own, for which Chakra has no type", custom_);
  if (messages_ > 0)
    return fmt::format("its ranks send {} messages to one another, which are not written", messages_);
  if (steps() == 0) return "no step was completed";
  return passes_ == 0 ? "its gradients are computed in pieces that may be stopped, not layer by layer" : "";
}

std::uint64_t ChakraRecorder::steps() const {
  std::uint64_t least = ~std::uint64_t{0};
  for (const Rank& rank : ranks_) least = std::min<std::uint64_t>(least, rank.step_ends_s.size());
  return ranks_.empty() ? 0 : least;
}

}  // namespace simsgd
