#include "analysis/questions/test_claim.hpp"

namespace simsgd {

namespace {

ResultPoint row_of(const PointResult& result) {
  const StudyPoint& point = result.point.point;
  ResultPoint row;
  row.position = result.point.position;
  row.label = point.label;
  for (std::size_t i = 0; i < point.coordinates.size(); ++i) {
    const Assignment& set = point.coordinates[i];
    if (set.pointer == "/seed")
      row.seed = set.value.get<std::int64_t>();
    else
      row.coordinates.push_back({point.shown[i].first, set.pointer, point.shown[i].second,
                                 nlohmann::ordered_json::parse(set.value.dump())});
  }
  row.key = result.point.key;
  row.status = result.status;
  row.error = result.error;
  return row;
}

}  // namespace

TestedClaim test_claim(const std::string& path, const Overrides& overrides, const SweepSettings& settings,
                       const std::function<void(const SweepProgress&)>& progress) {
  const Claim claim = load_claim(path, overrides);
  const Study study = load_study(path, overrides);
  TestedClaim tested;
  ResultStudy results{"", study.name, study.file, {}, {}};
  std::map<std::string, nlohmann::ordered_json> targets;  // of runs, by key
  const auto take = [&](const PointResult& result) {
    results.points.push_back(row_of(result));
    if (result.status == RunStatus::ok) {
      const RunRow run = result.run();
      results.points.back().metrics = run.metrics;
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
