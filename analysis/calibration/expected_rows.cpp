#include "analysis/calibration/expected_rows.hpp"

#include <nlohmann/json.hpp>

namespace simsgd {

Study study_with(const std::string& file, const std::map<std::string, Json>& set) {
  Overrides overrides;
  for (const auto& [pointer, value] : set) overrides.set.emplace_back(pointer, value.dump());
  return expand_study(file, overrides);
}

std::vector<Measurement> expected_rows(const std::string& file, const Study& study) {
  std::vector<Measurement> rows;
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const Json resolved = load_point(study, study.points[i]).resolved;
    Measurement row;
    row.workers = resolved.at("cluster").at("workers").get<int>();
    row.labels = {{kStudyColumn, file},
                  {kPointColumn, std::to_string(i + 1)},
                  {"algorithm", resolved.at("algorithm").value("name", "")},
                  {"workload", resolved.at("workload").value("name", "")},
                  {"batch", resolved.at("workload").value("batch", Json()).dump()}};
    for (const auto& [axis, label] : study.points[i].shown) row.labels.emplace(axis, label);
    row.source = file;
    for (const Json& expected : resolved.value("expected", Json::array())) {
      row.quantity = expected.at("metric").get<std::string>();
      row.value = expected.at("value").get<double>();
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace simsgd
