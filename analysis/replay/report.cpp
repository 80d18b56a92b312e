#include "analysis/replay/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "analysis/replay/step_links.hpp"
#include "sim/base/printable.hpp"

namespace simsgd::replay {

namespace {

constexpr double kMostInferred = 0.05;           // of a step, before a barrier is warned of
constexpr double kLeastGain = 0.01;              // of a step, for gaps to be called slow
constexpr double kMostEvaluations = 5e8;         // of operations, for the map of workers: some seconds
constexpr std::size_t kMostResampled = 250'000;  // that more workers are drawn from

using Keeps = std::function<bool(const Operation&)>;

class Decomposition {
 public:
  // Pieces are graphs with the workers of this one.
  explicit Decomposition(ReplayReport& report) : report_(report) {
    const Graph& graph = report.graph;
    for (std::size_t kind = 0; kind < graph.kinds.size(); ++kind)
      parts_.push_back({report.kinds, printable(graph.kinds[kind]), [kind](const Operation& each) {
                          return static_cast<std::size_t>(each.kind) == kind;
                        }});
    const auto add_places = [&](std::vector<Share>& shares, int count, int RecordedPlace::*which) {
      for (int place = 0; place < count; ++place)
        parts_.push_back({shares, fmt::format("{}", place), [&graph, which, place](const Operation& each) {
                            return graph.place_of(each).*which == place;
                          }});
    };
    if (graph.stages > 1) add_places(report.stages, graph.stages, &RecordedPlace::stage);
    if (graph.replicas > 1 && !too_many("replica", static_cast<std::size_t>(graph.replicas)))
      add_places(report.replicas, graph.replicas, &RecordedPlace::replica);
    if (!too_many("worker", graph.workers.size())) report.worker_slowdown.resize(graph.workers.size());
  }

  void add(const Graph& piece) {
    times_ = recorded_times(piece, false);
    const std::vector<double> ideal_s = steps_s(piece, [](const Operation&) { return false; });
    report_.ideal_s.insert(report_.ideal_s.end(), ideal_s.begin(), ideal_s.end());
    for (Part& part : parts_)
      for (const double step_s : steps_s(piece, part.keeps)) part.sum_s += step_s;
    for (std::size_t worker = 0; worker < report_.worker_slowdown.size(); ++worker) {
      const std::vector<double>& row = steps_s(
          piece, [worker](const Operation& each) { return static_cast<std::size_t>(each.worker) == worker; });
      for (std::size_t s = 0; s < row.size(); ++s)
        report_.worker_slowdown[worker].push_back(row[s] / ideal_s[s]);
    }
  }

  void finish() {
    const auto steps = static_cast<double>(report_.ideal_s.size());
    for (const Part& part : parts_)
      part.shares.push_back({part.name, part.sum_s / steps / mean(report_.ideal_s)});
    std::ranges::stable_sort(report_.kinds,
                             [](const Share& a, const Share& b) { return a.slowdown > b.slowdown; });
  }

 private:
  // What of a job is kept as recorded while everything else is equalised.
  struct Part {
    std::vector<Share>& shares;  // which it is one of
    std::string name;
    Keeps keeps;
    double sum_s = 0;  // of steps
  };

  bool too_many(const char* what, std::size_t count) {
    if (static_cast<double>(count) * static_cast<double>(report_.operations) <= kMostEvaluations)
      return false;
    report_.notes.push_back(
        fmt::format("Left out: slow-down by {}, because {} of them times {} operations are too many", what,
                    count, report_.operations));
    return true;
  }

  // With only what `keeps` says as recorded. Good until the next call.
  const std::vector<double>& steps_s(const Graph& piece, const Keeps& keeps) {
    play(piece, equalised(piece, times_, report_.equal_s, keeps), played_);
    return played_.step_s;
  }

  ReplayReport& report_;
  std::vector<Part> parts_;
  Times times_;
  Played played_;
};

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// What its barriers hold, each from the first to the last that they hold.
void add_inferred(const Graph& piece, ReplayReport& report) {
  for (std::size_t group = 0; group + 1 < piece.group_begin.size(); ++group) {
    const Operation& first = piece.operations[piece.group_begin[group]];
    const auto kind = static_cast<std::size_t>(first.kind);
    if (!piece.unrecorded[kind]) continue;
    std::size_t which = 0;
    while (unrecorded_before(piece.synchronisations[which].kind) != piece.kinds[kind] ||
           std::ranges::count(piece.synchronisations[which].workers, first.worker) == 0)
      ++which;
    Explained longest;
    for (std::size_t o = piece.group_begin[group]; o < piece.group_begin[group + 1]; ++o) {
      longest.held_s = std::max(longest.held_s, piece.operations[o].recorded_s);
      longest.own_s = std::max(longest.own_s, piece.operations[o].duration_s);
    }
    report.inferred[which].held_s += longest.held_s;
    report.inferred[which].own_s += longest.own_s;
  }
}

/// What the options change of the recorded times.
Times changed_times(const Graph& graph, const ReplayOptions& options, bool gaps,
                    const std::vector<double>& equal_s) {
  Times times = recorded_times(graph, gaps);
  if (!options.heal.empty()) times = healed(graph, std::move(times), options.heal, "--heal");
  if (options.ideal) times = ideal(graph, std::move(times), equal_s);
  if (options.network != 1) times = faster_network(graph, std::move(times), options.network);
  return times;
}

void add_steps(const Graph& piece, const ReplayOptions& options, ReplayReport& report) {
  for (const Step& step : piece.steps) report.recorded_s.push_back(step.recorded_s);
  append(report.replayed_s, play(piece, recorded_times(piece, true)).step_s);
  append(report.without_gaps_s, play(piece, recorded_times(piece, false)).step_s);
  for (SlowPart& part : report.slow)
    append(part.healed_s,
           play(piece, healed(piece, recorded_times(piece, true), part.workers, "--heal")).step_s);
  if (!report.what_if) return;
  append(report.what_if->step_s, play(piece, changed_times(piece, options, true, report.equal_s)).step_s);
  append(report.what_if->without_gaps_s,
         play(piece, changed_times(piece, options, false, report.equal_s)).step_s);
}

// Steps spread over the record, as many as there is room for.
void thin(RecordedJob& job, const Graph& graph) {
  const std::size_t all = graph.steps.size();
  const std::size_t room = std::max<std::size_t>(all * kMostResampled / job.operations.size(), 1);
  std::set<std::int64_t> kept;
  for (std::size_t i = 0; i < std::min(room, all); ++i)
    kept.insert(graph.steps[i * all / std::min(room, all)].number);
  std::erase_if(job.operations,
                [&kept](const RecordedOperation& each) { return kept.count(each.step) == 0; });
}

void add_sizes(const ReplayOptions& options, ReplayReport& report) {
  const auto all_sizes = [&](const RecordedJob& job, const Graph& graph) {
    for (const int workers : sizes_up_to(graph, options.workers, "--workers"))
      report.sizes.push_back(
          resize(job, graph, workers, {options.draws, options.seed, options.network}, "--workers"));
  };
  if (report.opening.steps.size() == report.graph.steps.size()) return all_sizes(report.job, report.opening);
  thin(report.job, report.graph);
  all_sizes(report.job, make_graph(report.job, report.graph));
}

std::string what_if_name(const ReplayOptions& options) {
  std::string name;
  const auto add = [&name](const std::string& part) { name += (name.empty() ? "" : ", ") + part; };
  if (!options.heal.empty())
    add(fmt::format("{} {} healed", options.heal.size() == 1 ? "worker" : "workers",
                    fmt::join(options.heal, ", ")));
  if (options.ideal) add("operations of a kind equal");
  if (options.network != 1) add(fmt::format("network {}x", options.network));
  return name;
}

void add_notes(ReplayReport& report, const ReplayOptions& options) {
  const Graph& graph = report.graph;
  for (std::size_t i = 0; i < graph.synchronisations.size(); ++i) {
    const Synchronisation& each = graph.synchronisations[i];
    const double share =
        report.inferred[i].held_s / mean(report.recorded_s) / static_cast<double>(report.recorded_s.size());
    const std::string what = fmt::format(
        "workers (stages {}) wait for each other before {}, for something that is not recorded: modelled as a barrier, which explains {:.1f} % of a step",
        fmt::join(stages_of(graph, each), ", "), printable(each.kind), 100 * share);
    if (share > kMostInferred)
      report.graph.warnings[what + "; with --no-inferred it counts as gaps"] = each.workers.size();
    else
      report.notes.push_back(fmt::format("{} {}", each.workers.size(), what));
  }
  if (const std::vector<int> stages = whole_stages(graph, options.heal);
      !options.heal.empty() && !stages.empty())
    report.notes.push_back(fmt::format(
        "All workers of stages {} are healed: they compute as long as other stages, whose layers may be smaller; their gaps stay",
        fmt::join(stages, ", ")));
  if (options.network != 1 && !graph.synchronisations.empty())
    report.notes.push_back("A faster network does not shorten waiting for something that is not recorded");
  if (options.network != 1)
    report.notes.push_back("Assumed: messages and collectives are transfer only, without latency");
  if (options.workers == 0) return;
  report.notes.push_back(fmt::format(
      "More workers: {} draws; each new replica is one of {} recorded ones, each of its steps one of {}; a worker's batch stays the same",
      options.draws, graph.replicas, graph.steps.size()));
  report.notes.push_back(
      "Assumed: collectives over replicas take (n - 1) / n of a fixed time, as a ring without latency");
  if (!report.sizes.empty() && report.sizes.back().steps < graph.steps.size())
    report.notes.push_back(fmt::format("{} workers: only {} of {} steps, to save memory",
                                       report.sizes.back().workers, report.sizes.back().steps,
                                       graph.steps.size()));
}

}  // namespace

std::set<int> stages_of(const Graph& graph, const Synchronisation& held) {
  std::set<int> stages;
  for (const std::int32_t worker : held.workers)
    stages.insert(graph.workers[static_cast<std::size_t>(worker)].stage);
  return stages;
}

std::string worker_text(const Graph& graph, std::size_t worker) {
  const RecordedPlace& place = graph.workers[worker];
  std::string text = fmt::format("{} (", worker);
  if (graph.stages > 1) text += fmt::format("stage {}, ", place.stage);
  if (graph.tensors > 1) text += fmt::format("slice {}, ", place.tensor);
  return text + fmt::format("replica {})", place.replica);
}

ReplayReport replay_job(RecordedJob job, const ReplayOptions& options) {
  ReplayReport report;
  report.job = std::move(job);
  report.operations = report.job.operations.size();
  GraphPieces pieces(report.job, options.at_once, options.infer);
  report.graph = pieces.whole();
  if (options.workers > 0)  // before anything that takes long
    sizes_up_to(report.graph, options.workers, "--workers");
  EqualDurations durations;
  SlowParts slow;
  pieces.each([&](const Graph& piece) {
    durations.add(piece);
    slow.add(piece);
  });
  report.equal_s = durations.durations_s();
  report.slow = slow.found(report.graph);
  report.inferred.resize(report.graph.synchronisations.size());
  if (const std::string name = what_if_name(options); !name.empty()) report.what_if = WhatIf{name, {}, {}};
  Decomposition parts(report);
  pieces.each([&](const Graph& piece) {
    add_steps(piece, options, report);
    add_inferred(piece, report);
    parts.add(piece);
  });
  if (!(mean(report.ideal_s) > 0))  // no slow-down is a number
    throw ConfigError(
        {report.job.file, "", "has no operation that takes time", "", "Give durations above 0"});
  parts.finish();
  std::erase_if(report.slow, [&](const SlowPart& part) {
    return part.gaps && mean(part.healed_s) > (1 - kLeastGain) * mean(report.replayed_s);
  });
  report.opening = std::move(pieces).take_first();
  if (options.workers > 0) add_sizes(options, report);
  decltype(report.job.operations)().swap(report.job.operations);
  add_notes(report, options);
  return report;
}

// A replay as pictures: workers and steps as a map of colours, operations as a timeline for Perfetto.

namespace {

constexpr std::size_t kMostEvents = 200000;  // of one timeline: whole steps until then
constexpr double kClipped_s = 50e-6;         // slices of one track that overlap by so much are cut

std::string quoted_text(const std::string& value) { return nlohmann::json(printable(value)).dump(); }

// White at 1, red above, blue below.
std::string colour(double slowdown, double most) {
  const double share = most > 0 ? std::clamp(std::fabs(slowdown - 1) / most, 0.0, 1.0) : 0;
  const int pale = static_cast<int>(std::lround(255 * (1 - share)));
  return slowdown >= 1 ? fmt::format("#ff{0:02x}{0:02x}", pale) : fmt::format("#{0:02x}{0:02x}ff", pale);
}

class TimelineText {
 public:
  explicit TimelineText(const Graph& graph) : graph_(graph) {}

  // `processes`: the first number of this variant's processes.
  void add(const std::string& name, int processes, const Played& played, const Times& times,
           const std::vector<double>& offset_s, std::size_t steps) {
    const int sublanes = static_cast<int>(graph_.lanes.size());
    for (std::size_t w = 0; w < graph_.workers.size(); ++w)
      line(fmt::format(
          "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}}",
          processes + static_cast<int>(w), quoted_text(name + ": worker " + worker_text(graph_, w))));
    std::vector<std::size_t> order(graph_.group_begin[graph_.steps[steps - 1].end_group]);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::size_t first = 0;
    for (std::size_t s = 0; s < steps; ++s) {
      const std::size_t end = graph_.group_begin[graph_.steps[s].end_group];
      const auto from = order.begin() + static_cast<std::ptrdiff_t>(first);
      const auto to = order.begin() + static_cast<std::ptrdiff_t>(end);
      std::sort(from, to, [&played](std::size_t a, std::size_t b) {
        return std::pair(played.launch_s[a], -played.end_s[a]) <
               std::pair(played.launch_s[b], -played.end_s[b]);
      });
      for (auto o = from; o != to; ++o)
        if (graph_.operations[*o].line > 0) slice(processes, *o, played, times, offset_s[s], sublanes);
      first = end;
    }
    for (const auto& [track, open] : tracks_)
      line(fmt::format(
          "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}",
          track.first, track.second,
          quoted_text(graph_.lanes[static_cast<std::size_t>(track.second % sublanes)])));
    tracks_.clear();
  }

  std::string text() && { return "{\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[" + text_ + "\n]}\n"; }

 private:
  // Slices of a track nest, or do not touch: a lane has as many tracks as that takes.
  void slice(int processes, std::size_t o, const Played& played, const Times& times, double offset_s,
             int sublanes) {
    const Operation& each = graph_.operations[o];
    double start_s = offset_s + played.launch_s[o];
    const double end_s = offset_s + std::max(played.end_s[o], played.launch_s[o]);
    const int process = processes + each.worker;
    int track = each.lane;
    for (;; track += sublanes) {
      std::vector<double>& open = tracks_[{process, track}];
      while (!open.empty() && open.back() <= start_s + kClipped_s && open.back() < end_s) {
        start_s = std::max(start_s, open.back());
        open.pop_back();
      }
      if (open.empty() || end_s <= open.back()) {
        open.push_back(end_s);
        break;
      }
    }
    const double waited_s = std::max(played.end_s[o] - times.duration_s[o] - played.launch_s[o], 0.0);
    line(fmt::format(
        "{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{\"micro-batch\":{},\"waited_us\":{:.3f}}}}}",
        quoted_text(graph_.kinds[static_cast<std::size_t>(each.kind)]),
        graph_.role_of(each).communication ? "communication" : "computing", process, track, start_s * 1e6,
        (end_s - start_s) * 1e6, each.micro_batch, waited_s * 1e6));
  }

  void line(const std::string& text) {
    text_ += text_.empty() ? "\n" : ",\n";
    text_ += text;
  }

  const Graph& graph_;
  std::map<std::pair<int, int>, std::vector<double>> tracks_;  // ends of what is open on each
  std::string text_;
};

}  // namespace

std::string heat_map_svg(const ReplayReport& report) {
  constexpr int kCell = 14, kLeft = 170, kTop = 40;
  const std::size_t steps = report.graph.steps.size(), workers = report.worker_slowdown.size();
  double most = 0;
  for (const std::vector<double>& row : report.worker_slowdown)
    for (const double each : row) most = std::max(most, std::fabs(each - 1));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\" aria-label=\"Slow-down by worker and step, at most {:.4f}\">\n"
      "<text x=\"4\" y=\"16\">Slow-down by one worker alone: white 1, red up to {:.4f}, blue below 1</text>\n",
      kLeft + kCell * static_cast<int>(steps) + 10, kTop + kCell * static_cast<int>(workers) + 10, 1 + most,
      1 + most);
  for (std::size_t w = 0; w < workers; ++w) {
    const int y = kTop + kCell * static_cast<int>(w);
    text += fmt::format("<text x=\"4\" y=\"{}\">{}</text>\n", y + kCell - 3, worker_text(report.graph, w));
    for (std::size_t s = 0; s < steps; ++s)
      text += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>worker {}, step {}: {:.4f}</title></rect>\n",
          kLeft + kCell * static_cast<int>(s), y, kCell, kCell, colour(report.worker_slowdown[w][s], most), w,
          report.graph.steps[s].number, report.worker_slowdown[w][s]);
  }
  return text + "</svg>\n";
}

std::string replay_timeline(const ReplayReport& report, const ReplayOptions& options) {
  const Graph& graph = report.opening;
  const Times recorded = recorded_times(graph, true);
  const Times beside = report.what_if ? changed_times(graph, options, true, report.equal_s)
                                      : ideal(graph, recorded_times(graph, false), report.equal_s);
  const Played first = play(graph, recorded), second = play(graph, beside);
  std::vector<double> offset_s;  // steps of both begin together
  double next_s = 0;
  std::size_t steps = 0;
  for (; steps < graph.steps.size(); ++steps) {
    if (steps > 0 && 2 * graph.group_begin[graph.steps[steps].end_group] > kMostEvents) break;
    offset_s.push_back(next_s);
    next_s += std::max(first.step_s[steps], second.step_s[steps]);
  }
  TimelineText text(graph);
  text.add("replay", 0, first, recorded, offset_s, steps);
  text.add(report.what_if ? report.what_if->name : "ideal", static_cast<int>(graph.workers.size()), second,
           beside, offset_s, steps);
  return std::move(text).text();
}

}  // namespace simsgd::replay
