// Pieces of JSON Schema (draft 7) from which the scenario language is put together, and its sections.
#pragma once

#include <string>
#include <vector>

#include "sim/plugin.hpp"

namespace simsgd::schema {

/// Fits an int.
Json integer(const std::string& description, std::int64_t minimum);
/// Fits 53 bits.
Json big_integer(const std::string& description, std::int64_t minimum);
Json number(const std::string& description);
Json text(const std::string& description);
Json flag(const std::string& description);
Json choice(const std::string& description, const std::vector<std::string>& values);
Json list(const std::string& description, Json items);
/// Strict: other keys are errors.
Json object(const std::string& description, Json properties, const std::vector<std::string>& required = {});
/// One of several forms, told apart by their type, by the constant of their "name", or by their keys.
Json either(const std::string& description, std::vector<Json> forms);
/// An object whose "name" chooses a plug-in and whose other keys are that plug-in's parameters.
Json plugin(const std::string& description, const std::vector<PluginInfo>& plugins);

Json with_default(Json schema, Json value);
Json at_least(Json schema, double minimum);
/// A time of at least 0.
Json time_of(const std::string& description);
Json at_most(Json schema, double maximum);
Json above(Json schema, double bound);

// The sections of a scenario, one function each.
Json cluster();
Json workload();
Json learner();
Json optimizer();
Json algorithm();
Json stragglers();
Json failures();
Json network();
Json stop();
Json target();
Json record();
Json expected();
Json axes();
Json seeds();

}  // namespace simsgd::schema
