// What the tests of stragglers share: making them from JSON text, and means with their standard error.
#pragma once

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/cluster/stragglers/registry.hpp"
#include "sim/distributions/registry.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test {

/// The stragglers of a JSON list (or of one object) in a job of so many workers.
inline Stragglers stragglers(const std::string& text, int workers, std::uint64_t seed = 1,
                             const std::vector<int>& node_of_rank = {}) {
  Json list = Json::parse(text);
  if (list.is_object()) list = Json::array({list});
  Stragglers all;
  for (std::size_t i = 0; i < list.size(); ++i)
    all.add(make_straggler(list[i], {.workers = workers,
                                     .node_of_rank = node_of_rank,
                                     .seed = seed,
                                     .index = static_cast<std::uint32_t>(i)}));
  return all;
}

/// A distribution from `{"name": ..., parameters}`.
inline Distribution distribution(const std::string& text, DrawUnit unit = DrawUnit::seconds) {
  return draw_of(Json::parse(text), "delay", unit);
}

/// The full text of the ParameterError that `action` throws; "" if it throws none.
template <typename Action>
std::string rejection(const Action& action) {
  return refusal_of<ParameterError>(action);
}

/// Writes a file into the build folder and returns its path.
inline std::string file_with(const std::string& name, const std::string& content) {
  const std::string path = std::string(SIMSGD_BINARY_DIR) + "/tests/cluster/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

/// Mean of a sample, and whether an expected value lies within four of its standard errors.
class Sample {
 public:
  void add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
  }
  double mean() const { return sum_ / count_; }
  double standard_error() const { return std::sqrt((squares_ / count_ - mean() * mean()) / count_); }
  bool agrees_with(double expected) const { return std::fabs(mean() - expected) < 4 * standard_error(); }

 private:
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace simsgd::test
