// Points that visitors added to a study. In the store they are a sweep of their own, "NAME: explored", of the
// same runs that `sweep run` would make; on the page they stand among the study's points.
#pragma once

#include <string>
#include <vector>

#include "analysis/runs/results.hpp"
#include "analysis/runs/store.hpp"

namespace simsgd::live {

class ExploredPoints {
 public:
  /// Of a study, with those that are in the store already.
  ExploredPoints(const ResultStore& store, const ResultStudy& study);

  /// Whether the study, or what was added to it, has a point of that run.
  bool has(const std::string& key) const;
  /// Adds a point and writes the sweep.
  void add(ResultStore& store, ResultPoint point);

  std::size_t count() const { return sweep_.points.size(); }

  /// `studies` with these points in the study, each where its values have their place, and no longer by
  /// themselves.
  void join(std::vector<ResultStudy>& studies) const;

 private:
  std::string study_id_;
  std::vector<std::string> study_keys_;  // sorted
  ResultStudy sweep_;
  std::vector<std::string> ids_;  // under which the store has it; more than one where a process was killed
};

/// Sorts by the values of each axis, the last one fastest: numbers ascending, others as they first come.
void order_by_values(std::vector<ResultPoint>& points);

}  // namespace simsgd::live
