// Scenario files in a folder of their own, and what the loader says about them.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "scenarios/language/scenario.hpp"
#include "scenarios/language/study.hpp"
#include "sim/base/errors.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

namespace simsgd::test {

/// A temporary folder, for scenarios.
class Folder : public TemporaryFolder {
 public:
  std::string write_json(const std::string& name, const Json& value) const {
    return write(name, value.dump(1));
  }

  /// `text` with this folder's name taken out of paths.
  std::string without_folder(std::string text) const {
    const std::string prefix = path("");
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  }

  /// Everything that is wrong with a scenario, one error per line; "" where a job can be made of it.
  std::string errors(const std::string& name, const Overrides& overrides = {}) const {
    return without_folder(refusal_of<ConfigError>([&] { make_job(load_scenario(path(name), overrides)); }));
  }
};

/// Four workers with one GPU each; every key that is not given here has a default.
inline Json small_scenario() {
  return {{"cluster",
           {{"workers", 4},
            {"device", {{"name", "D"}, {"peak_flops", "1 TFLOPS"}, {"memory", "1 GB"}}},
            {"nic", {{"bandwidth", "1 GB/s"}, {"latency", "10 us"}}},
            {"topology", {{"name", "star"}}}}},
          {"workload",
           {{"batch", 8}, {"layers", {{{"type", "fc"}, {"tensors", {1000, 10}}, {"forward_flop", 2000}}}}}},
          {"algorithm", {{"name", "allreduce_sgd"}}},
          {"stop", {{"steps", 10}}}};
}

/// A learner on generated data, of which there is little: drawing it is most of what a short run costs.
inline Json small_learner() {
  return {{"model", {{"name", "softmax_regression"}}},
          {"data", {{"name", "gaussian_mixture"}, {"samples", 500}, {"test_samples", 100}}},
          {"batch", 16}};
}

/// Everything that is wrong with a scenario.
inline std::string errors_of(const Json& scenario) {
  const Folder folder;
  folder.write_json("s.json", scenario);
  return folder.errors("s.json");
}

/// The same of the small one with `value` at `pointer`.
inline std::string errors_with(const std::string& pointer, const Json& value) {
  Json scenario = small_scenario();
  scenario[Json::json_pointer(pointer)] = value;
  return errors_of(scenario);
}

inline Scenario load(const Json& scenario, const Overrides& overrides = {}) {
  const Folder folder;
  return load_scenario(folder.write_json("s.json", scenario), overrides);
}

inline Job job_of(const Json& scenario, const Overrides& overrides = {}) {
  const Folder folder;
  return make_job(load_scenario(folder.write_json("s.json", scenario), overrides));
}

inline const std::string kScenarios = std::string(SIMSGD_SOURCE_DIR) + "/scenarios/";

inline std::vector<std::string> labels(const Study& study) {
  std::vector<std::string> all;
  for (const StudyPoint& point : study.points) all.push_back(point.label);
  return all;
}

inline Json axis(const std::string& pointer, const Json& values) {
  return {{"pointer", pointer}, {"values", values}};
}

}  // namespace simsgd::test
