// What the builders of a job read from and report to.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

class Reader {
 public:
  Reader(const Scenario& scenario, ErrorList& errors) : scenario_(scenario), errors_(errors) {}

  /// Whether there is a value at `pointer`, and nothing wrong with it so far.
  bool usable(const std::string& pointer) const;
  bool has(const std::string& pointer) const;
  const Json& value(const std::string& pointer) const;
  /// The object at `pointer` as the struct of its section.
  template <class Section>
  Section section(const std::string& pointer) const {
    return options_of<Section>(value(pointer));
  }

  void error(const std::string& pointer, const std::string& problem, const std::string& remedy) const;

  /// What `make` returns, or nothing where it throws a ParameterError, which is reported below `pointer`, or
  /// a ConfigError of a data file.
  template <class Make>
  auto attempt(const std::string& pointer, Make make) const -> std::optional<decltype(make())> {
    try {
      return make();
    } catch (const ParameterError& problem) {
      error(pointer + problem.key, problem.problem, problem.remedy);
      return std::nullopt;
    } catch (const ConfigError& problems) {
      for (const InputError& each : problems.errors()) errors_.add(pointer, each);
      return std::nullopt;
    }
  }

  /// The path of a data file that the object at `pointer` names: looked for like a `use`, from the file where
  /// the name was written; beside that file where it is nowhere.
  std::filesystem::path resolve(const std::string& pointer, const std::string& name) const;

  /// The file in which the value at `pointer` was written.
  std::string origin_file(const std::string& pointer) const { return scenario_.origins.at(pointer).file; }

  std::uint64_t seed() const { return value("/seed").get<std::uint64_t>(); }

 private:
  const Scenario& scenario_;
  ErrorList& errors_;
};

}  // namespace simsgd
