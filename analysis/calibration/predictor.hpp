// What the simulator says of points, for values of the parameters. Collectives and messages are costed in
// this process, runs simulated here where they are short, in children where they are not; each run once: what
// a setting gave for a patch is remembered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/calibration/points.hpp"

namespace simsgd {

/// What runs gave: by setting and patch, the metrics that points of the setting need. NaN: the run failed, or
/// has no such metric.
struct RunMemo {
  std::map<std::string, std::vector<double>> metrics;
  std::uint64_t recalled = 0;  ///< predictions that no simulation was needed for
  std::string failure;         ///< why the first run that failed did; "": none has
};

struct PredictorSettings {
  int jobs = 1;  ///< children, or threads, at a time; of 1 everything is here
  std::function<bool()> interrupted{};
  std::function<void(std::uint64_t simulations)> progress{};  ///< called several times a second
  RunMemo* memo = nullptr;  ///< of the same points before; null: one of its own
};

class Predictor {
 public:
  Predictor(const Points& points, PredictorSettings settings);
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  /// Of the points `which`, in their units, for each patch. NaN where the simulator cannot say (a run that
  /// fails). Throws Interrupted.
  std::vector<std::vector<double>> predict(const std::vector<Patch>& patches,
                                           const std::vector<std::size_t>& which) const;
  std::vector<double> predict(const Patch& patch, const std::vector<std::size_t>& which) const {
    return predict(std::vector<Patch>{patch}, which).front();
  }
  /// Calls `body` with 0 to count - 1: of points without runs several at a time, as runs take children, which
  /// no thread may fork. Throws what the least of the numbers that threw did.
  void each(std::size_t count, const std::function<void(std::size_t)>& body) const;
  /// Of all that were predicted so far.
  const RunMemo& memo() const { return memo_; }

 private:
  /// A run that is not known yet.
  struct RunTask {
    std::string key;
    std::size_t setting = 0;
    Patch patch;
  };
  void run_all(const std::vector<RunTask>& tasks) const;

  const Points& points_;
  PredictorSettings settings_;
  mutable RunMemo own_memo_;
  RunMemo& memo_;                                            ///< speeds up, and changes no prediction
  std::map<std::size_t, std::vector<std::string>> metrics_;  ///< of each setting that is a run
};

}  // namespace simsgd
