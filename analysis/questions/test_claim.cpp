#include "analysis/questions/test_claim.hpp"

namespace simsgd {

TestedClaim test_claim(const std::string& path, const Overrides& overrides, const SweepSettings& settings,
                       const std::function<void(const SweepProgress&)>& progress) {
  const Claim claim = load_claim(path, overrides);
  const Study study = load_study(path, overrides);
  TestedClaim tested;
  ResultStudy results{"", study.name, study.file, {}, {}};
  std::map<std::string, nlohmann::ordered_json> targets;  // of runs, by key
  const auto take = [&](const PointResult& result) {
    ResultPoint& point = results.points.emplace_back(result_point(study, result.point));
    point.status = result.status;
    point.error = result.error;
    if (result.status == RunStatus::ok) {
      const RunRow run = result.run();
      point.metrics = run.metrics;
      targets[result.point.key]["target"] =
          run.read().at("scenario").value("target", nlohmann::ordered_json());
    } else if (++tested.failed == 1) {
      tested.first_failure = result.point.point.label + ": " + result.error;
    }
  };
  run_sweep(study, settings, {{}, take, progress});
  tested.points = results.points.size();
  const frame::Frame frame(results, {[&](const std::string& key) { return targets[key]; }, {}, {}, {}});
  tested.verdict = judge_claim(claim, study.file, frame);
  return tested;
}

}  // namespace simsgd
