#include "analysis/replay/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "analysis/replay/step_links.hpp"
#include "sim/base/printable.hpp"

namespace simsgd::replay {

namespace {

constexpr double kNoted_s = 1e-3;  // clocks of one table that disagree by more are worth a warning

// As Megatron's timers, and ByteDance's tables, call them.
constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"forward-compute", {Role::forward, Scope::worker}},
    {"backward-compute", {Role::backward, Scope::worker, true}},
    {"forward-send", {Role::send, Scope::neighbour, false, true, true}},
    {"forward-recv", {Role::receive, Scope::neighbour, false, true, true}},
    {"backward-send", {Role::send, Scope::neighbour, true, true, true}},
    {"backward-recv", {Role::receive, Scope::neighbour, true, true, true}},
    {"params-all-gather", {Role::gather, Scope::replicas, false, true, true}},
    {"grads-reduce-scatter", {Role::reduce, Scope::replicas, false, true, true}},
    {"grads-all-reduce", {Role::reduce, Scope::replicas, false, true, true}},
    {"layernorm-grads-all-reduce", {Role::reduce, Scope::slices, false, true, true}},
    {"embedding-grads-all-reduce", {Role::reduce, Scope::ends, false, true, true}},
    {"optimizer-clip-main-grad", {Role::reduce, Scope::all, false, true, true}},
    {"optimizer", {Role::computing, Scope::worker}},
    {"gc", {Role::computing, Scope::worker}},
};

/// `lane`: on which it stands, for kinds that are not listed.
Kind kind_of(std::string_view name, std::string_view lane) {
  for (const auto& [known, kind] : kKinds)
    if (known == name) return kind;
  const bool communication = lane.find("comm") != std::string_view::npos;
  return {communication ? Role::reduce : Role::computing, Scope::worker, false, false, communication};
}

/// Steps in which every worker did something; others are counted in `warnings`. Throws ConfigError: none.
std::vector<StepRange> whole_steps(const RecordedJob& job, std::map<std::string, std::size_t>& warnings) {
  std::vector<StepRange> steps;
  for (std::size_t begin = 0; begin < job.operations.size();) {
    StepRange step{begin, begin, job.operations[begin].start_s, job.operations[begin].end_s};
    std::size_t workers = 0;
    for (; step.end < job.operations.size(); ++step.end) {
      const RecordedOperation& each = job.operations[step.end];
      if (each.step != job.operations[begin].step) break;
      workers += step.end == begin || each.worker != job.operations[step.end - 1].worker ? 1U : 0U;
      step.start_s = std::min(step.start_s, each.start_s);
      step.end_s = std::max(step.end_s, each.end_s);
    }
    begin = step.end;
    if (workers == job.workers.size())
      steps.push_back(step);
    else
      ++warnings["steps without operations of every worker, left out"];
  }
  if (steps.empty())
    throw ConfigError({job.file, "", "has no step with operations of every worker", "",
                       "Give the operations of all workers of at least one step"});
  return steps;
}

// Puts the groups of one step behind those before, each after what it waits for.
class StepOrder {
 public:
  StepOrder(const RecordedJob& job, const StepLinks& links, Graph& graph)
      : job_(job), links_(links), graph_(graph), members_(links.groups.size()), waits_(links.groups.size()) {
    for (std::size_t o = 0; o < links.groups.size(); ++o) members_[links.groups[o]].push_back(o);
    for (const auto& [what, who] : links.waits)
      if (links.groups[what] != links.groups[who]) waits_[who].push_back(what);
  }

  bool append(std::vector<InputError>& errors) {
    order();
    std::size_t groups = 0;
    for (const auto& each : members_) groups += each.empty() ? 0U : 1U;
    if (order_.size() < groups) return circle(errors), false;
    std::vector<std::uint32_t> position(links_.operations.size());
    for (const std::size_t group : order_) {
      for (const std::size_t o : members_[group]) {
        position[o] = static_cast<std::uint32_t>(graph_.operations.size());
        graph_.operations.push_back(links_.operations[o]);
        for (const std::size_t what : waits_[o]) graph_.dependencies.push_back(position[what]);
        graph_.dependency_begin.push_back(graph_.dependencies.size());
      }
      graph_.group_begin.push_back(graph_.operations.size());
    }
    return true;
  }

 private:
  void order() {
    std::vector<std::size_t> missing(members_.size(), 0);
    std::vector<std::vector<std::size_t>> then(members_.size());
    for (const auto& [what, who] : links_.waits) {
      if (links_.groups[what] == links_.groups[who]) continue;
      ++missing[links_.groups[who]];
      then[links_.groups[what]].push_back(links_.groups[who]);
    }
    for (std::size_t group = 0; group < members_.size(); ++group)
      if (!members_[group].empty() && missing[group] == 0) order_.push_back(group);
    for (std::size_t next = 0; next < order_.size(); ++next)
      for (const std::size_t group : then[order_[next]])
        if (--missing[group] == 0) order_.push_back(group);
  }

  // From any that is left, who it waits for, until one comes again.
  void circle(std::vector<InputError>& errors) const {
    std::vector<bool> done(members_.size(), false);
    for (const std::size_t group : order_) done[group] = true;
    std::size_t group = 0;
    while (members_[group].empty() || done[group]) ++group;
    std::vector<std::size_t> path;
    std::vector<bool> seen(members_.size(), false);
    for (; !seen[group]; group = left_before(group, done)) {
      seen[group] = true;
      path.push_back(group);
    }
    path.erase(path.begin(), std::ranges::find(path, group));
    std::string text;
    constexpr std::size_t kMostShown = 6;
    for (std::size_t i = 0; i < std::min(path.size(), kMostShown); ++i) {
      const Operation& each = links_.operations[members_[path[i]].front()];
      text += fmt::format("{}{} ({} {})", i == 0 ? "" : ", ",
                          printable(graph_.kinds[static_cast<std::size_t>(each.kind)]), job_.unit, each.line);
    }
    if (path.size() > kMostShown) text += fmt::format(" and {} more", path.size() - kMostShown);
    errors.push_back(
        {job_.file, "", "has operations that wait for each other in a cycle", text,
         "Check their micro-batches and times: one of them began before the operation that it needs"});
  }

  std::size_t left_before(std::size_t group, const std::vector<bool>& done) const {
    for (const std::size_t o : members_[group])
      for (const std::size_t what : waits_[o])
        if (!done[links_.groups[what]]) return links_.groups[what];
    return group;
  }

  const RecordedJob& job_;
  const StepLinks& links_;
  Graph& graph_;
  std::vector<std::vector<std::size_t>> members_, waits_;  // of a group; of an operation
  std::vector<std::size_t> order_;
};

// Gaps, and durations from the last launch of the group on.
void time_group(Graph& graph, std::size_t group) {
  const std::size_t begin = graph.group_begin[group], end = graph.group_begin[group + 1];
  const GroupTimes times = group_times(graph, group);
  const auto waited = [&](std::size_t o) {
    return times.go_s - graph.operations[o].start_s <= times.aligned_s;
  };
  double least_gap_s = INFINITY;  // of those that are recorded from the last start on
  for (std::size_t o = begin; o < end; ++o)
    if (waited(o)) least_gap_s = std::min(least_gap_s, times.go_s - recorded_ready_s(graph, o));
  for (std::size_t o = begin; o < end; ++o) {
    Operation& each = graph.operations[o];
    each.gap_s = waited(o) ? least_gap_s : each.start_s - recorded_ready_s(graph, o);
    each.duration_s = each.end_s() - times.go_s;
    if (each.duration_s < 0)
      ++graph.warnings["operations that ended before the last of their group had begun: clocks disagree"];
    if (each.gap_s < -kNoted_s)
      ++graph.warnings["operations that began 1 ms or more before what they wait for had ended"];
  }
}

void clear_steps(Graph& graph) {
  graph.operations.clear();
  graph.dependencies.clear();
  graph.steps.clear();
  graph.group_begin = {0};
  graph.dependency_begin = {0};
}

Kind role_of(const RecordedJob& job, std::size_t kind, std::int32_t lane) {
  if (job.roles.empty())
    return kind_of(job.kinds[kind], lane < 0 ? "" : job.lanes[static_cast<std::size_t>(lane)]);
  if (job.roles[kind] == RecordedRole::collective) return {Role::reduce, Scope::replicas, false, true, true};
  return {Role::piece, Scope::worker};
}

void name_kinds(const RecordedJob& job, Graph& graph) {
  std::vector<std::int32_t> lane(job.kinds.size(), -1);
  for (const RecordedOperation& each : job.operations) lane[static_cast<std::size_t>(each.kind)] = each.lane;
  for (std::size_t k = 0; k < job.kinds.size(); ++k) {
    graph.kinds.push_back(job.kinds[k]);
    graph.roles.push_back(role_of(job, k, lane[k]));
    graph.unrecorded.push_back(false);
    if (!graph.roles.back().known) ++graph.warnings["operations of unknown kind, taken as a worker's own"];
  }
}

/// Workers, lanes and kinds; no operation.
Graph empty_graph(const RecordedJob& job) {
  Graph graph;
  graph.workers = job.workers;
  graph.lanes = job.lanes;
  graph.replicas = job.replicas;
  graph.stages = job.stages;
  graph.tensors = job.tensors;
  name_kinds(job, graph);
  return graph;
}

/// Adds the kinds that stand for them.
void set_synchronisations(std::vector<Synchronisation> found, Graph& graph) {
  graph.synchronisations = std::move(found);
  for (const Synchronisation& each : graph.synchronisations) {
    const std::string name = unrecorded_before(each.kind);
    if (std::ranges::find(graph.kinds, name) != graph.kinds.end()) continue;
    graph.kinds.push_back(name);
    graph.roles.push_back({Role::reduce, Scope::all, false, true, true});
    graph.unrecorded.push_back(true);
  }
}

/// The operations of these steps alone, instead of those that `graph` has; warnings are added to its own.
void link_steps(const RecordedJob& job, std::span<const StepRange> steps, Graph& graph,
                std::vector<InputError>& errors) {
  clear_steps(graph);
  if (!steps.empty()) graph.operations.reserve(steps.back().end - steps.front().begin);
  constexpr std::size_t kMostErrors = 20;
  for (const StepRange& range : steps) {
    if (errors.size() >= kMostErrors) return;
    const StepLinks links = link_step(job, range.begin, range.end, range.start_s, graph);
    Step step{job.operations[range.begin].step, range.start_s, range.end_s - range.start_s,
              graph.group_begin.size() - 1, 0};
    if (errors.empty()) StepOrder(job, links, graph).append(errors);
    step.end_group = graph.group_begin.size() - 1;
    for (std::size_t group = step.first_group; group < step.end_group; ++group) time_group(graph, group);
    graph.steps.push_back(step);
  }
}

}  // namespace

double recorded_ready_s(const Graph& graph, std::size_t operation) {
  double ready_s = 0;
  for (std::size_t d = graph.dependency_begin[operation]; d < graph.dependency_begin[operation + 1]; ++d)
    ready_s = std::max(ready_s, graph.operations[graph.dependencies[d]].end_s());
  return ready_s;
}

GroupTimes group_times(const Graph& graph, std::size_t group) {
  GroupTimes times{INFINITY, -INFINITY, -INFINITY, kAligned_s};
  for (std::size_t o = graph.group_begin[group]; o < graph.group_begin[group + 1]; ++o) {
    const double ready_s = recorded_ready_s(graph, o);
    times.first_ready_s = std::min(times.first_ready_s, ready_s);
    times.last_ready_s = std::max(times.last_ready_s, ready_s);
    times.go_s = std::max(times.go_s, graph.operations[o].start_s);
  }
  times.aligned_s = std::max(kAligned_s, kMostOfSpread * (times.last_ready_s - times.first_ready_s));
  return times;
}

GraphPieces::GraphPieces(const RecordedJob& job, std::size_t most_operations, bool infer)
    : job_(job), whole_(empty_graph(job)) {
  steps_ = whole_steps(job, whole_.warnings);
  first_of_piece_ = {0};
  for (std::size_t s = 1; s < steps_.size(); ++s)
    if (steps_[s].end - steps_[first_of_piece_.back()].begin > most_operations) first_of_piece_.push_back(s);
  first_of_piece_.push_back(steps_.size());
  piece_ = whole_;
  SynchronisationFinder finder;
  link_all([&finder](const Graph& piece) { finder.add(piece); });
  const std::vector<Synchronisation> found = infer ? finder.found(whole_) : std::vector<Synchronisation>();
  if (!found.empty()) {
    whole_ = empty_graph(job);
    whole_steps(job, whole_.warnings);
    set_synchronisations(found, whole_);
    piece_ = whole_;
    link_all([](const Graph&) {});
  }
  whole_.warnings = piece_.warnings;
}

void GraphPieces::link(std::size_t piece, std::vector<InputError>& errors) {
  const std::size_t first = first_of_piece_[piece];
  link_steps(job_, std::span(steps_).subspan(first, first_of_piece_[piece + 1] - first), piece_, errors);
  linked_ = piece;
}

void GraphPieces::link_all(const std::function<void(const Graph& piece)>& see) {
  std::vector<InputError> errors;
  whole_.steps.clear();
  for (std::size_t piece = 0; piece + 1 < first_of_piece_.size(); ++piece) {
    link(piece, errors);
    if (!errors.empty()) continue;
    see(piece_);
    whole_.steps.insert(whole_.steps.end(), piece_.steps.begin(), piece_.steps.end());
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
}

void GraphPieces::each(const std::function<void(const Graph& piece)>& see) {
  std::vector<InputError> none;
  for (std::size_t piece = 0; piece + 1 < first_of_piece_.size(); ++piece) {
    if (linked_ != piece) link(piece, none);
    see(piece_);
  }
}

Graph GraphPieces::take_first() && {
  std::vector<InputError> none;
  if (linked_ != 0) link(0, none);
  piece_.warnings = whole_.warnings;
  return std::move(piece_);
}

Graph make_graph(const RecordedJob& job) {
  return GraphPieces(job, std::numeric_limits<std::size_t>::max(), true).take_first();
}

Graph make_graph(const RecordedJob& job, const Graph& like) {
  std::vector<Synchronisation> again;
  for (const Synchronisation& each : like.synchronisations) {
    std::set<int> replicas;
    for (const std::int32_t w : each.workers)
      replicas.insert(like.workers[static_cast<std::size_t>(w)].replica);
    std::map<int, Synchronisation> held;  // of all replicas, or of each its own
    for (std::size_t w = 0; w < job.workers.size(); ++w) {
      RecordedPlace place = job.workers[w];
      const int own = replicas.size() > 1 ? 0 : place.replica;
      place.replica %= like.replicas;
      const auto found = std::ranges::find(like.workers, place) - like.workers.begin();
      if (std::ranges::find(each.workers, found) == each.workers.end()) continue;
      held[own].kind = each.kind;
      held[own].workers.push_back(static_cast<std::int32_t>(w));
    }
    for (auto& [own, synchronisation] : held) again.push_back(std::move(synchronisation));
  }
  Graph graph = empty_graph(job);
  set_synchronisations(std::move(again), graph);
  const std::vector<StepRange> steps = whole_steps(job, graph.warnings);
  std::vector<InputError> errors;
  link_steps(job, steps, graph, errors);
  if (!errors.empty()) throw ConfigError(std::move(errors));
  return graph;
}

}  // namespace simsgd::replay
