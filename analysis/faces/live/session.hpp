// What the server knows and does: answers visitors, and says which points are to be simulated.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/faces/live/controls.hpp"
#include "analysis/faces/live/explored.hpp"
#include "analysis/faces/live/front.hpp"
#include "analysis/faces/live/source.hpp"
#include "analysis/questions/study_report.hpp"
#include "analysis/runs/child_pool.hpp"
#include "analysis/runs/point_loader.hpp"
#include "analysis/runs/store.hpp"
#include "analysis/runs/turns.hpp"

namespace simsgd::live {

/// Points that wait at most.
inline constexpr std::size_t kMostWaiting = 64;

struct SessionSettings {
  int threads = 1;            ///< of each point's numerics
  std::size_t points = 1000;  ///< simulated in all
  std::string libraries;      ///< JavaScript that draws, or empty: tables
};

class Session {
 public:
  /// Opens the store for writing where points can be simulated; throws as ResultStore.
  Session(Source source, SessionSettings settings);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Source& source() const { return source_; }

  /// Never throws for what a visitor sent. Throws RunError where the store cannot be written.
  Reply answer(Ask ask, const std::string& body);

  // For run_in_children; tasks are numbered as they come.
  NextTask next();
  std::string simulate(std::size_t task) const;  ///< in a child
  void ended(std::size_t task, const ChildEnd& end);
  void tick();

 private:
  /// A study that points can be added to.
  struct Open {
    OpenStudy of;
    Controls controls;
    PointLoader loader;
    ExploredPoints explored;
  };
  struct Task {
    Open* open = nullptr;
    StudyPoint point;
    std::string key;
  };
  /// Of a run that somebody asked for.
  struct Standing {
    std::string state, error;  ///< "waiting", "running", "done", "failed", "impossible", "dropped"
  };
  struct Ticket {
    std::string study;
    nlohmann::ordered_json at;                              ///< labels by the names of axes
    std::vector<std::pair<std::string, std::string>> runs;  ///< seed and key
  };

  const questions::Report& made_report(bool anew);
  std::string page();
  nlohmann::ordered_json controls_json() const;
  nlohmann::ordered_json state_json() const;
  nlohmann::ordered_json ticket_json(std::uint64_t number) const;
  Reply ticket(const std::string& number) const;
  Reply ask_for(const std::string& body);
  Reply enter(Open& open, std::vector<StudyPoint> points);
  Reply drop();
  bool is_needed(const std::string& key) const;
  void set(const std::string& key, const std::string& state, const std::string& error = "");

  Source source_;
  SessionSettings settings_;
  std::unique_ptr<ResultStore> store_;  // none where all can only be looked at
  std::unique_ptr<Turns> turns_;
  std::vector<std::unique_ptr<Open>> open_;
  std::deque<Task> tasks_;  // all that ever came
  std::deque<std::size_t> waiting_;
  std::size_t running_ = 0, simulated_ = 0, failed_ = 0;
  std::map<std::string, Standing> standings_;  // by key
  std::map<std::uint64_t, Ticket> tickets_;
  std::uint64_t tickets_given_ = 0, version_ = 1;
  std::optional<questions::Report> report_;
  std::uint64_t report_version_ = 0;  // of the report
};

}  // namespace simsgd::live
