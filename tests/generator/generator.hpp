// Scenarios out of the schema: every key may appear, with ordinary values and with those at the bounds, and
// some are broken on purpose. Small, so that those that are right run in milliseconds.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd::test {

/// The files that a generated scenario may name, written into a folder: a table, a graph, a trace, each right
/// and damaged.
void write_data_files(const std::string& folder);

class ScenarioGenerator {
 public:
  explicit ScenarioGenerator(std::uint64_t seed) : state_(seed) {}

  Json scenario();

 private:
  std::uint64_t draw();
  /// From 0 to below `count`.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(draw() % count); }
  bool chance(double probability) { return uniform() < probability; }
  double uniform() { return static_cast<double>(draw() >> 11) * 0x1p-53; }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }

  /// A value that meets the schema, mostly; `key`: what it is called there.
  Json value(const Json& schema, const std::string& key);
  Json object(const Json& schema);
  Json number(const Json& schema);
  Json quantity(const Json& schema);
  Json text(const std::string& key);

  Json section(const std::string& name);
  Json cluster(int workers);
  void one_way(Json& one_device);
  Json workload();
  Json learner();
  Json stop();
  void make_small(Json& scenario);
  void mutate(Json& scenario);

  std::uint64_t state_;
};

}  // namespace simsgd::test
