// What numbers leave out: runs that failed, points that were not run.
#pragma once

#include <string>
#include <vector>

#include "analysis/frame/frame.hpp"

namespace simsgd::frame {

/// "2 of 40 runs failed: severity=2, seed=1: out of memory; ..."; nothing where none did. And what is to run.
std::vector<std::string> notes_on_missing(const std::vector<const ResultPoint*>& points);

/// Throws RunError where no point has ended with a result.
void expect_results(const Frame& frame);

}  // namespace simsgd::frame
