#include "analysis/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

namespace simsgd::replay {

namespace {

constexpr double kMostOperations = 5e5;  // 60 MB

// An operation's place in a replica, the same in every step.
using Slot = std::tuple<std::int32_t, int, int, std::int32_t, std::int32_t, std::int32_t>;

Slot slot_of(const Graph& graph, const Operation& each) {
  const RecordedPlace& place = graph.place_of(each);
  return {each.kind, place.stage, place.tensor, each.micro_batch, each.chunk, each.occurrence};
}

struct Sample {
  double duration_s = NAN, gap_s = NAN;
};

// How much longer than usual everybody computes in each step: means over replicas, drawn together as far as
// replicas' own variation explains that they differ (a random effect of the step, by its variance components;
// Searle, Casella and McCulloch, Variance Components, 1992, chapter 3).
std::vector<double> step_factors(const std::vector<std::vector<double>>& computing_s) {
  const std::size_t replicas = computing_s.size(), steps = computing_s.front().size();
  std::vector<double> by_step(steps, 0.0), by_replica;
  for (const std::vector<double>& each : computing_s) {
    by_replica.push_back(mean(each));
    for (std::size_t s = 0; s < steps; ++s) by_step[s] += each[s] / static_cast<double>(replicas);
  }
  const double all_s = mean(by_step);
  if (replicas < 2 || steps < 2 || !(all_s > 0)) return std::vector<double>(steps, 1.0);
  double of_steps = 0, own = 0;  // sums of squares
  for (std::size_t s = 0; s < steps; ++s) {
    of_steps += std::pow(by_step[s] - all_s, 2);
    for (std::size_t r = 0; r < replicas; ++r)
      own += std::pow(computing_s[r][s] - by_step[s] - by_replica[r] + all_s, 2);
  }
  own /= static_cast<double>((replicas - 1) * (steps - 1));
  of_steps /= static_cast<double>(steps - 1);
  const double common = of_steps > 0 ? std::max(0.0, 1 - own / static_cast<double>(replicas) / of_steps) : 0;
  for (double& each : by_step) each = 1 + common * (each / all_s - 1);
  return by_step;
}

// What each recorded replica did in each step.
class Samples {
 public:
  explicit Samples(const Graph& graph) : replicas_(graph.replicas), steps_(graph.steps.size()) {
    std::vector<std::vector<double>> computing_s(static_cast<std::size_t>(replicas_),
                                                 std::vector<double>(steps_, 0.0));
    each_operation(graph, [&](std::size_t s, std::size_t o) {
      const Operation& each = graph.operations[o];
      const std::size_t slot = slots_.emplace(slot_of(graph, each), slots_.size()).first->second;
      if (values_.size() <= slot) values_.resize(slot + 1);
      if (values_[slot].empty()) values_[slot].resize(static_cast<std::size_t>(replicas_) * steps_);
      const int replica = graph.place_of(each).replica;
      values_[slot][at(replica, s)] = {each.duration_s, each.gap_s};
      if (!graph.role_of(each).communication)
        computing_s[static_cast<std::size_t>(replica)][s] += each.duration_s;
    });
    step_factor_ = step_factors(computing_s);
  }

  std::size_t slot(const Slot& slot) const { return slots_.at(slot); }
  const Sample& of(std::size_t slot, int replica, std::size_t step) const {
    return values_[slot][at(replica, step)];
  }
  double step_factor(std::size_t step) const { return step_factor_[step]; }
  int replicas() const { return replicas_; }
  std::size_t steps() const { return steps_; }

 private:
  std::size_t at(int replica, std::size_t step) const {
    return static_cast<std::size_t>(replica) * steps_ + step;
  }

  int replicas_;
  std::size_t steps_;
  std::map<Slot, std::size_t> slots_;
  std::vector<std::vector<Sample>> values_;
  std::vector<double> step_factor_;
};

// Replicas beyond the recorded ones repeat them; `kept`: numbers of the steps that are kept.
RecordedJob repeated(const RecordedJob& job, int replicas, const std::vector<std::int64_t>& kept) {
  RecordedJob made;
  made.file = job.file;
  made.unit = job.unit;
  made.kinds = job.kinds;
  made.roles = job.roles;
  made.lanes = job.lanes;
  made.replicas = replicas;
  made.stages = job.stages;
  made.tensors = job.tensors;
  const auto number = [&job](const RecordedPlace& place, int of) {
    return (place.stage * of + place.replica) * job.tensors + place.tensor;
  };
  std::vector<std::size_t> begin;  // of a recorded worker's operations in a step
  for (int stage = 0; stage < job.stages; ++stage)
    for (int replica = 0; replica < replicas; ++replica)
      for (int tensor = 0; tensor < job.tensors; ++tensor) made.workers.push_back({replica, stage, tensor});
  const std::size_t recorded = job.workers.size();
  for (std::size_t first = 0; first < job.operations.size();) {
    std::size_t end = first;
    begin.assign(recorded + 1, 0);
    for (; end < job.operations.size() && job.operations[end].step == job.operations[first].step; ++end)
      ++begin[static_cast<std::size_t>(job.operations[end].worker) + 1];
    begin[0] = first;
    for (std::size_t w = 0; w < recorded; ++w) begin[w + 1] += begin[w];
    if (std::ranges::binary_search(kept, job.operations[first].step))
      for (std::size_t w = 0; w < made.workers.size(); ++w) {
        RecordedPlace source = made.workers[w];
        source.replica %= job.replicas;
        const auto from = static_cast<std::size_t>(number(source, job.replicas));
        for (std::size_t o = begin[from]; o < begin[from + 1]; ++o) {
          made.operations.push_back(job.operations[o]);
          made.operations.back().worker = static_cast<std::int32_t>(w);
        }
      }
    first = end;
  }
  return made;
}

// Steps spread over the record, as many as there is room for.
std::vector<std::size_t> steps_with_room(const Graph& graph, double growth) {
  const double operations = static_cast<double>(graph.operations.size()) * growth;
  const std::size_t all = graph.steps.size();
  const double room = std::clamp(std::floor(static_cast<double>(all) * kMostOperations / operations), 1.0,
                                 static_cast<double>(all));
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < static_cast<std::size_t>(room); ++i)
    kept.push_back(i * all / static_cast<std::size_t>(room));
  return kept;
}

// Over replicas: a ring of all of them. What holds everybody together is not a ring, and stays.
double ring_factor(const Kind& kind, int recorded, int replicas) {
  if (kind.scope != Scope::replicas || recorded < 2) return 1;
  const auto share = [](double n) { return (n - 1) / n; };
  return share(replicas) / share(recorded);
}

class Resizing {
 public:
  Resizing(const Graph& recorded, Graph graph, std::vector<std::size_t> kept, double network)
      : graph_(std::move(graph)), kept_(std::move(kept)), samples_(recorded), network_(network) {
    // Of the record's own groups: the last starter of a group may not be among fewer workers.
    base_ = recorded_times(graph_, true);
    each_operation(graph_, [&](std::size_t s, std::size_t o) {
      const Operation& each = graph_.operations[o];
      slots_.push_back(samples_.slot(slot_of(graph_, each)));
      const Sample& own = samples_.of(slots_[o], replica_of(each) % recorded.replicas, kept_[s]);
      base_.gap_s[o] = own.gap_s;
      base_.duration_s[o] =
          own.duration_s * ring_factor(graph_.role_of(each), recorded.replicas, graph_.replicas);
    });
    base_ = faster_network(graph_, std::move(base_), network);
  }

  Times draw(std::uint64_t seed, int number) const {
    Times times = base_;
    std::vector<Source> sources;
    for (int replica = 0; replica < graph_.replicas; ++replica) {
      Stream stream({seed, Purpose::resampling, static_cast<std::uint32_t>(replica),
                     static_cast<std::uint64_t>(number)});
      Source source;
      source.replica = static_cast<int>(stream.below(static_cast<std::uint32_t>(samples_.replicas())));
      for (std::size_t s = 0; s < kept_.size(); ++s)
        source.steps.push_back(stream.below(static_cast<std::uint32_t>(samples_.steps())));
      sources.push_back(std::move(source));
    }
    each_operation(graph_, [&](std::size_t s, std::size_t o) { take(times, sources, s, o); });
    return times;
  }

  const Graph& graph() const { return graph_; }
  const Times& base() const { return base_; }

 private:
  // Of a new replica: which recorded one it is, and which of its steps it does in each.
  struct Source {
    int replica = 0;
    std::vector<std::size_t> steps;
  };

  void take(Times& times, const std::vector<Source>& sources, std::size_t s, std::size_t o) const {
    const Operation& each = graph_.operations[o];
    const Kind& kind = graph_.role_of(each);
    const auto replica = static_cast<std::size_t>(replica_of(each));
    const std::size_t step = sources[replica].steps[s];
    const Sample& sample = samples_.of(slots_[o], sources[replica].replica, step);
    if (std::isnan(sample.duration_s)) return;  // that step had no such operation
    times.gap_s[o] = sample.gap_s;
    if (kind.scope == Scope::replicas || kind.scope == Scope::all) return;  // belongs to no replica
    if (kind.communication) {  // the network is everybody's: slow in one step, it is slow for all
      const Sample& own = samples_.of(slots_[o], sources[replica].replica, kept_[s]);
      if (!std::isnan(own.duration_s)) times.duration_s[o] = own.duration_s / network_;
      return;
    }
    times.duration_s[o] = sample.duration_s * samples_.step_factor(kept_[s]) / samples_.step_factor(step);
  }

  int replica_of(const Operation& each) const { return graph_.place_of(each).replica; }

  Graph graph_;
  std::vector<std::size_t> kept_;  // steps of the record
  Samples samples_;
  std::vector<std::size_t> slots_;
  Times base_;
  double network_;
};

int per_replica(const Graph& graph) { return graph.stages * graph.tensors; }

void check_workers(const Graph& graph, int workers, const std::string& option) {
  const int least = per_replica(graph);
  if (workers < least || workers % least != 0)
    throw ConfigError({option, "", "is not a multiple of the workers of a replica",
                       fmt::format("{}", workers), fmt::format("Give a multiple of {}", least)});
}

}  // namespace

ResizedJob resize(const RecordedJob& job, const Graph& graph, int workers, const ResizeOptions& options,
                  const std::string& option) {
  check_workers(graph, workers, option);
  ResizedJob result;
  result.workers = workers;
  result.replicas = workers / per_replica(graph);
  const std::vector<std::size_t> kept =
      steps_with_room(graph, static_cast<double>(workers) / static_cast<double>(graph.workers.size()));
  std::vector<std::int64_t> numbers;
  for (const std::size_t each : kept) numbers.push_back(graph.steps[each].number);
  const Resizing resizing(graph, make_graph(repeated(job, result.replicas, numbers), graph), kept,
                          options.network);
  result.steps = kept.size();
  Played played;
  for (int draw = 0; draw < options.draws; ++draw) {
    Times times = resizing.draw(options.seed, draw);
    play(resizing.graph(), times, played);
    result.step_s.push_back(mean(played.step_s));
    times.gap_s.clear();
    play(resizing.graph(), times, played);
    result.without_gaps_s.push_back(mean(played.step_s));
  }
  // As the record's ideal, with collectives of the new size: kinds keep their recorded typical duration.
  std::vector<double> equal_s = equal_durations_s(graph);
  for (std::size_t kind = 0; kind < equal_s.size(); ++kind) {
    equal_s[kind] *= ring_factor(graph.roles[kind], graph.replicas, result.replicas);
    if (graph.roles[kind].communication && !graph.unrecorded[kind]) equal_s[kind] /= options.network;
  }
  Times ideal_times =
      equalised(resizing.graph(), resizing.base(), equal_s, [](const Operation&) { return false; });
  ideal_times.gap_s.clear();
  result.ideal_s = mean(play(resizing.graph(), ideal_times).step_s);
  return result;
}

std::vector<int> sizes_up_to(const Graph& graph, int workers, const std::string& option) {
  check_workers(graph, workers, option);
  const auto recorded = static_cast<int>(graph.workers.size());
  std::vector<int> sizes;
  for (long size = recorded; size < workers; size *= 2) sizes.push_back(static_cast<int>(size));
  sizes.push_back(workers);
  return sizes;
}

}  // namespace simsgd::replay
