// What a replay tells: steps as recorded, without gaps, ideal and as they would have been; how much each
// worker, stage, step and kind of operation slows the job down.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/replay/replay.hpp"

namespace simsgd::replay {

struct ReplayOptions {
  bool ideal = false;
  std::vector<int> heal;
  double network = 1;  ///< speed, of the recorded one
  int workers = 0;     ///< up to how many; 0: as many as recorded
  int draws = 20;
  std::uint64_t seed = 1;
  bool infer = true;              ///< take what holds workers together, and nobody recorded, for a barrier
  std::size_t at_once = 100'000;  ///< operations whose graph is held at a time; results are the same
};

/// By step, in seconds.
struct WhatIf {
  std::string name;
  std::vector<double> step_s, without_gaps_s;
};

/// Mean step with only this as recorded and everything else equalised, over the ideal one: above 1 it slows
/// the job down by itself. A stage that has less to do than others can be below 1.
struct Share {
  std::string name;
  double slowdown = 1;
};

/// What a synchronisation explains of the steps, in seconds of all of them.
struct Explained {
  double held_s = 0;  ///< from the first of its workers that is ready on
  double own_s = 0;   ///< from the last one on
};

struct ReplayReport {
  RecordedJob job;                                                      ///< without its operations
  std::size_t operations = 0;                                           ///< recorded
  Graph graph;                                                          ///< of all steps, without operations
  Graph opening;                                                        ///< its first steps, with theirs
  std::vector<double> equal_s;                                          ///< by kind, see equal_durations_s
  std::vector<double> recorded_s, replayed_s, without_gaps_s, ideal_s;  ///< by step; the ideal has no gaps
  std::optional<WhatIf> what_if;
  std::vector<Explained> inferred;  ///< by Graph::synchronisations
  std::vector<SlowPart> slow;
  std::vector<Share> kinds, stages, replicas;        ///< from the greatest on; stages and replicas in order
  std::vector<std::vector<double>> worker_slowdown;  ///< [worker][step], see Share; empty: left out
  std::vector<ResizedJob> sizes;
  std::vector<std::string> notes;  ///< what is assumed, or left out

  double launch_slowdown() const { return mean(recorded_s) / mean(without_gaps_s); }
  double blocking_slowdown() const { return mean(without_gaps_s) / mean(ideal_s); }
};

/// Throws ConfigError.
ReplayReport replay_job(RecordedJob job, const ReplayOptions& options);

/// Of the workers that something holds together.
std::set<int> stages_of(const Graph& graph, const Synchronisation& held);

/// "3 (stage 1, replica 1)".
std::string worker_text(const Graph& graph, std::size_t worker);

/// Who is slow, by how much, and what healing gives.
std::string conclusion(const ReplayReport& report);
/// For people.
std::string replay_text(const ReplayReport& report);
/// One document; without its context.
nlohmann::ordered_json replay_document(const ReplayReport& report);
/// CSV: worker, replica, stage, slice, step, slowdown.
std::string heat_map_csv(const ReplayReport& report);
/// The same as a picture.
std::string heat_map_svg(const ReplayReport& report);
/// Chrome trace events: the replay, and beside it the what-if, or the ideal where there is none.
std::string replay_timeline(const ReplayReport& report, const ReplayOptions& options);

}  // namespace simsgd::replay
