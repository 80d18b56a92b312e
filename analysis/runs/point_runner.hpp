// One point of a sweep in a child: loaded, run, and the answer that it sends back.
#pragma once

#include <string>

#include "analysis/runs/child_pool.hpp"
#include "analysis/runs/run_row.hpp"
#include "analysis/runs/sweep.hpp"
#include "scenarios/language/point_loader.hpp"

namespace simsgd {

/// Of a child that gave no answer; without its key.
RunRow failed_run(const ChildEnd& end, const Json& scenario);

class PointRunner {
 public:
  /// Both must outlive it.
  PointRunner(const Study& study, const SweepSettings& settings) : settings_(settings), loader_(study) {}

  /// In a child: runs the point, and gives what run_of reads.
  std::string run(const SweepPoint& point);
  /// What became of it, here.
  RunRow run_of(const SweepPoint& point, const ChildEnd& end);

 private:
  const SweepSettings& settings_;
  PointLoader loader_;
};

}  // namespace simsgd
