// Runs the study of a claim, or finds its runs in a store, and judges the claim.
#pragma once

#include <functional>
#include <string>

#include "analysis/questions/claim_verdict.hpp"
#include "analysis/runs/sweep.hpp"

namespace simsgd {

struct TestedClaim {
  ClaimVerdict verdict;
  std::size_t points = 0, failed = 0;
  std::string first_failure;  ///< a sentence
};

/// `settings` as of a sweep; `progress` as its listener's. Throws as load_claim, load_study and run_sweep do.
TestedClaim test_claim(const std::string& study, const Overrides& overrides, const SweepSettings& settings,
                       const std::function<void(const SweepProgress&)>& progress = {});

}  // namespace simsgd
