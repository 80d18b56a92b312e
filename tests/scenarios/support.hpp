// Scenario files in a folder of their own, and what the loader says about them.
#pragma once

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

#include "scenarios/language/scenario.hpp"
#include "scenarios/language/study.hpp"
#include "sim/base/errors.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test {

/// A temporary folder, removed with everything in it.
class Folder {
 public:
  Folder() {
    static std::atomic<int> count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("simsgd_scenarios_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path(name);
  }
  std::string write_json(const std::string& name, const Json& value) const {
    return write(name, value.dump(1));
  }

  /// `text` with this folder's name taken out of paths.
  std::string without_folder(std::string text) const {
    const std::string prefix = path_.string() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  }

  /// Everything that is wrong with a scenario, one error per line; "" where a job can be made of it.
  std::string errors(const std::string& name, const Overrides& overrides = {}) const {
    return without_folder(refusal_of<ConfigError>([&] { make_job(load_scenario(path(name), overrides)); }));
  }

 private:
  std::filesystem::path path_;
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

/// A learner on generated data.
inline Json small_learner() {
  return {
      {"model", {{"name", "softmax_regression"}}}, {"data", {{"name", "gaussian_mixture"}}}, {"batch", 16}};
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

}  // namespace simsgd::test
