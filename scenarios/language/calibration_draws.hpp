// What the section "calibration" of a cluster draws: numbers of the cluster, and settings of whatever
// scenario uses it (a choice that a library or a program made and nobody wrote down, such as
// /algorithm/coupling).
#pragma once

#include <optional>
#include <string>

#include "scenarios/language/calibration_section.hpp"
#include "scenarios/language/reader.hpp"

namespace simsgd {

/// A value as some scenario may have it at `pointer`, quantities as SI numbers; nothing where no plug-in has
/// such a setting, or none takes the value. `pointer` is one of a scenario, as "/cluster/nic/bandwidth".
std::optional<Json> setting_value(const std::string& pointer, const Json& value);

/// A drawn number as the setting can have it: one that is beyond its range (a share above 1) is at its end.
double within_setting(const std::string& pointer, double number);

/// Whether numbers there may have fractions: others, such as seeds, are one of some values.
bool is_continuous(const std::string& pointer);

/// Whether this scenario has the setting, or may have it: its algorithm may be one that lacks it.
/// `resolved`: as Scenario has it.
bool has_setting(const Json& resolved, const std::string& pointer);

/// Whether the conditions of a drawn setting hold, {"/algorithm/name": ["d_psgd", "sgp"], "/cluster/workers":
/// {"at_least": 4}}; one that asks for what the scenario lacks does not.
bool where_holds(const Json& where, const Json& resolved);

/// Reports what is wrong with the section at /cluster/calibration: pointers of nothing, values that nothing
/// takes, draws that are not as many as others. False where anything is.
bool check_calibration(const Reader& reader, const CalibrationSection& section);

}  // namespace simsgd
