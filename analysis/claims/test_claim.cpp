#include "analysis/claims/test_claim.hpp"

namespace simsgd {

TestedClaim test_claim(const std::string& path, const Overrides& overrides, const SweepSettings& settings,
                       const std::function<void(const SweepProgress&)>& progress) {
  const Claim claim = load_claim(path, overrides);
  const Study study = load_study(path, overrides);
  TestedClaim tested;
  std::vector<ClaimRun> runs;
  const auto take = [&](const PointResult& result) {
    ClaimRun run;
    run.settings = claim_settings(settings_of(result.point.point), run.seed);
    ++tested.points;
    if (result.status == RunStatus::ok) {
      run.metrics = result.run().metrics;
    } else {
      ++tested.failed;
      if (tested.first_failure.empty()) tested.first_failure = result.point.point.label + ": " + result.error;
    }
    runs.push_back(std::move(run));
  };
  run_sweep(study, settings, {{}, take, progress});
  tested.verdict = judge_claim(claim, study.file, runs);
  return tested;
}

}  // namespace simsgd
