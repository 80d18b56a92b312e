// Measurements as points: each with the scenario that predicts it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/calibration/spec.hpp"
#include "scenarios/language/study.hpp"
#include "traces/measurements.hpp"

namespace simsgd {

/// Values at pointers of a scenario that was loaded, in SI units.
using Patch = std::vector<std::pair<std::string, Json>>;
/// What follows a '#' of a pointer tells parameters apart that set it for different measurements: the pointer
/// without it.
inline std::string pointer_of_key(const std::string& key) { return key.substr(0, key.find('#')); }
void apply(const Patch& patch, Json& document);

/// A scenario as some points need it.
struct Setting {
  Scenario scenario;
  PredictSpec::Kind kind = PredictSpec::Kind::collective;
  std::vector<std::string> left_alone{};  ///< pointers of ensembles and parameters that this does not go with
};
/// Without what the setting does not go with.
Patch patch_for(const Setting& setting, Patch patch);

struct Point {
  Measurement measurement;
  std::size_t setting = 0;
  std::string metric;  ///< of a run
  double times = 1;    ///< so many of it are what was measured
  bool fitted = false;
  std::vector<std::size_t> tests;  ///< of the spec, that it belongs to

  double bytes() const { return measurement.bytes; }
};

struct Points {
  std::vector<Setting> settings;
  std::vector<Point> points;
  std::vector<std::string> warnings;  ///< what was left out, for people
};

/// The measurements of the spec's data, below `directory`, selected and summarised. Throws ConfigError.
std::vector<Measurement> load_measurements(const Spec& spec, const std::string& directory);

/// A parameter that there is one of for each value of some columns becomes as many: of what is fitted.
void expand_each(Spec& spec, const std::vector<Measurement>& measurements);

/// Those that are fitted or tested, as `model` predicts them. Throws ConfigError: what nothing predicts, what
/// is both fitted and tested, what the scenario cannot be set to.
Points make_points(const Spec& spec, const ModelSpec& model, const std::vector<Measurement>& measurements);

/// The same points as the studies beside predict them, where nothing was fitted; nothing without such
/// studies. A point that they lack is predicted as it stands. Throws ConfigError.
std::optional<Points> points_beside(const Spec& spec, const Points& points);

}  // namespace simsgd
