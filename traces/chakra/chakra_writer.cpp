#include "traces/chakra/chakra_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/roles/collectives.hpp"

namespace simsgd {

namespace {

// Instants that differ by rounding are one.
double just_after(double time_s) { return time_s * (1 + 1e-11) + 1e-15; }

std::string type_name(Layer::Kind kind) {
  for (const auto& [known, name] : {std::pair{Layer::Kind::conv, "conv"},
                                    {Layer::Kind::fc, "fc"},
                                    {Layer::Kind::bn, "bn"},
                                    {Layer::Kind::embedding, "embedding"}})
    if (kind == known) return name;
  return "other";
}

std::uint64_t whole_us(double seconds) { return static_cast<std::uint64_t>(std::llround(seconds * 1e6)); }

}  // namespace

ChakraRecorder::ChakraRecorder(const Workload& workload, ChakraWriterSetup setup)
    : workload_(workload), setup_(std::move(setup)), ranks_(static_cast<std::size_t>(setup_.workers)) {}

// Listening
// ---------------------------------------------------------------------------------------------------------

std::uint32_t ChakraRecorder::label(const std::string& text) {
  const auto number = static_cast<std::uint32_t>(std::ranges::find(labels_, text) - labels_.begin());
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
  std::ranges::sort(still, [](const Interval& a, const Interval& b) { return a.from_s < b.from_s; });
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
    for (; next < still.size() && still[next].from_s <= just_after(at_s); ++next)
      at_s = std::max(at_s, still[next].to_s);
    const double start_s = at_s;
    at_s += share_s;
    for (; next < still.size() && just_after(still[next].from_s) < at_s; ++next)
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
  return passes_ == 0 ? "it computes gradients in pieces that may be stopped, not layer by layer" : "";
}

std::uint64_t ChakraRecorder::steps() const {
  std::uint64_t least = ~std::uint64_t{0};
  for (const Rank& rank : ranks_) least = std::min<std::uint64_t>(least, rank.step_ends_s.size());
  return ranks_.empty() ? 0 : least;
}

ChakraMetadata ChakraRecorder::metadata(int rank) const {
  return {"",
          {{chakra::kNetwork, workload_.name},
           {chakra::kDevice, setup_.device},
           {chakra::kRank, std::int64_t{rank}},
           {chakra::kWorkers, std::int64_t{setup_.workers}},
           {chakra::kBatch, std::int64_t{workload_.batch}},
           {chakra::kMicroBatches, std::int64_t{workload_.micro_batches}}}};
}

// What a rank did in some first steps, in order, and what depends on what.
struct ChakraRecorder::Links {
  std::vector<Computing> computing;          // by their begin
  std::vector<Communication> communication;  // in the order in which it was started
  // How many computings, from the first one on, were through when a communication was started.
  std::vector<std::size_t> before;
  std::vector<std::vector<std::size_t>> waited_for;  // of each computing: communication

  void add_wait(const Wait& wait, const std::map<std::int32_t, std::vector<std::size_t>>& on_channel);
};

// For the last operation of the channel that had ended then.
void ChakraRecorder::Links::add_wait(const Wait& wait,
                                     const std::map<std::int32_t, std::vector<std::size_t>>& on_channel) {
  const auto channel = on_channel.find(wait.channel);
  if (channel == on_channel.end()) return;
  const auto later = std::partition_point(channel->second.begin(), channel->second.end(), [&](std::size_t c) {
    return communication[c].end_s <= just_after(wait.to_s);
  });
  if (later == channel->second.begin()) return;
  const std::size_t awaited = *std::prev(later);
  const auto next = std::partition_point(computing.begin(), computing.end(), [&](const Computing& each) {
    return just_after(each.start_s) < wait.to_s;
  });
  if (next == computing.end()) return;
  const auto i = static_cast<std::size_t>(next - computing.begin());
  std::vector<std::size_t>& all = waited_for[i];
  if (std::ranges::find(all, awaited) == all.end()) all.push_back(awaited);
  before[awaited] = std::min(before[awaited], i);  // also where all takes no time
}

ChakraRecorder::Links ChakraRecorder::links_of(const Rank& rank, std::uint64_t steps) const {
  Links links;
  const double end_s = just_after(rank.step_ends_s[steps - 1]);
  for (const Computing& each : rank.computing)
    if (each.step <= steps) links.computing.push_back(each);
  std::ranges::stable_sort(links.computing,
                           [](const Computing& a, const Computing& b) { return a.start_s < b.start_s; });
  for (const Communication& each : rank.communication)
    if (each.posted_s <= end_s) links.communication.push_back(each);
  std::ranges::stable_sort(links.communication, [](const Communication& a, const Communication& b) {
    return std::pair(a.posted_s, a.end_s) < std::pair(b.posted_s, b.end_s);
  });
  links.waited_for.resize(links.computing.size());
  std::map<std::int32_t, std::vector<std::size_t>>
      on_channel;  // whose operations end in the order in which they start
  for (std::size_t c = 0; c < links.communication.size(); ++c) {
    const double posted_s = just_after(links.communication[c].posted_s);
    links.before.push_back(static_cast<std::size_t>(
        std::partition_point(links.computing.begin(), links.computing.end(),
                             [&](const Computing& each) { return each.end_s <= posted_s; }) -
        links.computing.begin()));
    on_channel[links.communication[c].channel].push_back(c);
  }
  for (const Wait& wait : rank.waits) links.add_wait(wait, on_channel);
  return links;
}

ChakraNode ChakraRecorder::node_of(const Computing& computing) const {
  ChakraNode node;
  node.type = kChakraComp;
  node.start_us = whole_us(computing.start_s);
  node.duration_us = whole_us(computing.start_s + computing.seconds) - node.start_us;  // sums do not drift
  node.attributes = {{"is_cpu_op", false},
                     {chakra::kStep, static_cast<std::int64_t>(computing.step)},
                     {chakra::kSeconds, computing.seconds}};
  if (computing.kind == Kind::micro_batches || computing.kind == Kind::other) {
    node.name = computing.kind == Kind::other ? labels_[computing.what] : "micro-batches";
    node.attributes[chakra::kPass] = std::string(computing.kind == Kind::micro_batches ? "micro_batches"
                                                 : node.name == "straggle"             ? "straggle"
                                                                                       : "other");
    return node;
  }
  const bool forward = computing.kind == Kind::forward;
  const Layer& layer = workload_.layers[computing.what];
  node.name = layer.name + (forward ? " forward" : " backward");
  node.attributes[chakra::kPass] = std::string(forward ? "forward" : "backward");
  node.attributes[chakra::kLayer] = std::int64_t{computing.what};
  const double samples = static_cast<double>(workload_.batch) / workload_.micro_batches;
  if (layer.forward_flop > 0)
    node.attributes["num_ops"] = std::llround(samples * layer.forward_flop * (forward ? 1 : 2));
  node.attributes["tensor_size"] = static_cast<std::uint64_t>(
      std::llround((layer.parameters() + samples * layer.activations) * workload_.bytes_per_parameter));
  if (!forward || computing.step != 1) return node;
  std::vector<double> sides;
  for (const TensorShape& tensor : layer.tensors) sides.insert(sides.end(), {tensor.rows, tensor.columns});
  node.attributes[chakra::kTensors] = std::move(sides);
  node.attributes[chakra::kLayerName] = layer.name;
  node.attributes[chakra::kType] = type_name(layer.kind);
  node.attributes[chakra::kFlop] = layer.forward_flop;
  node.attributes[chakra::kActivations] = layer.activations;
  return node;
}

// Chakra's sizes are what one rank puts in: of an all-gather its part.
ChakraNode ChakraRecorder::node_of(const Communication& communication) const {
  ChakraNode node;
  const std::string operation = op_name(communication.op);
  node.name = operation;
  node.type = kChakraCollective;
  node.start_us = whole_us(communication.go_s);
  const double seconds = communication.end_s - communication.go_s;
  node.duration_us = whole_us(communication.go_s + seconds) - node.start_us;
  const double part = communication.op == CollectiveOp::all_gather ? communication.members : 1;
  node.attributes = {{"is_cpu_op", false},
                     {"comm_type", std::int64_t{chakra_comm_type(operation)}},
                     {"comm_size", std::llround(communication.bytes / part)},
                     {chakra::kBytes, communication.bytes},
                     {chakra::kChannel, std::int64_t{communication.channel}},
                     {chakra::kStep, static_cast<std::int64_t>(communication.step)},
                     {chakra::kSeconds, seconds}};
  if (communication.group != 0) node.attributes["pg_name"] = std::to_string(communication.group);
  return node;
}

std::vector<ChakraNode> ChakraRecorder::nodes(int rank) const {
  const Links links = links_of(ranks_[static_cast<std::size_t>(rank)], steps());
  std::vector<std::vector<std::size_t>> started(links.computing.size() + 1);  // after so many computings
  for (std::size_t c = 0; c < links.communication.size(); ++c) started[links.before[c]].push_back(c);
  std::vector<std::uint64_t> id_of(links.communication.size(), 0);
  std::map<std::int32_t, std::uint64_t> last_on;  // channel: id
  std::vector<ChakraNode> all;
  std::uint64_t last = 0;  // id of computing
  for (std::size_t i = 0;; ++i) {
    for (const std::size_t c : started[i]) {
      ChakraNode node = node_of(links.communication[c]);
      node.id = id_of[c] = all.size() + 1;
      if (last > 0) node.data_deps = {last};
      std::uint64_t& before = last_on[links.communication[c].channel];
      if (before > 0) node.ctrl_deps = {before};
      before = node.id;
      all.push_back(std::move(node));
    }
    if (i == links.computing.size()) return all;
    ChakraNode node = node_of(links.computing[i]);
    node.id = all.size() + 1;
    if (last > 0) node.data_deps = {last};
    for (const std::size_t c : links.waited_for[i]) node.data_deps.push_back(id_of[c]);
    last = node.id;
    all.push_back(std::move(node));
  }
}

}  // namespace simsgd
