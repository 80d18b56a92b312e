#include "sim/base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <map>

namespace simsgd {

namespace {

struct DimensionInfo {
  Dimension dimension;
  std::string_view name;
  std::string_view example;
};

constexpr std::array<DimensionInfo, 7> kDimensions = {{
    {Dimension::time_s, "time", "\"20 ms\" or 0.02 (seconds)"},
    {Dimension::bytes, "bytes", "\"16 GB\" or 16e9 (bytes)"},
    {Dimension::rate_Bps, "bandwidth", "\"10 Gbps\", \"1.25 GB/s\" or 1.25e9 (bytes per second)"},
    {Dimension::flop, "flop", "\"4.1 GFLOP\" or 4.1e9"},
    {Dimension::rate_flops, "flops", "\"15.7 TFLOPS\" or 15.7e12 (per second)"},
    {Dimension::power_W, "power", "\"300 W\" or 300 (watts)"},
    {Dimension::number, "number", "a number"},
}};

using UnitTable = std::map<std::string, double, std::less<>>;

void add_prefixed(UnitTable& table, const std::string& unit, double scale) {
  const std::array<std::pair<const char*, double>, 7> prefixes = {
      {{"", 1.0}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}}};
  for (const auto& [prefix, factor] : prefixes) table[prefix + unit] = factor * scale;
}

void add_binary(UnitTable& table, const std::string& unit) {
  double factor = 1;
  for (const char* prefix : {"Ki", "Mi", "Gi", "Ti"}) table[prefix + unit] = factor *= 1024.0;
}

UnitTable make_units(Dimension dimension) {
  UnitTable table;
  switch (dimension) {
    case Dimension::time_s:
      table = {{"s", 1.0},   {"ms", 1e-3},  {"us", 1e-6}, {"\xC2\xB5s", 1e-6},
               {"ns", 1e-9}, {"min", 60.0}, {"h", 3600.0}};
      break;
    case Dimension::bytes:
      add_prefixed(table, "B", 1.0);
      add_binary(table, "B");
      break;
    case Dimension::rate_Bps:
      add_prefixed(table, "B/s", 1.0);
      add_binary(table, "B/s");
      for (const char* bits : {"bps", "b/s", "bit/s"}) add_prefixed(table, bits, 0.125);
      break;
    case Dimension::flop:
      add_prefixed(table, "FLOP", 1.0);
      break;
    case Dimension::rate_flops:
      for (const char* unit : {"FLOPS", "FLOP/s", "FLOPs"}) add_prefixed(table, unit, 1.0);
      break;
    case Dimension::power_W:
      table = {{"W", 1.0}, {"kW", 1e3}, {"mW", 1e-3}};
      break;
    case Dimension::number:
      break;
  }
  return table;
}

std::string significant(double value) { return fmt::format("{:.3g}", value); }

}  // namespace

ParsedQuantity parse_quantity(std::string_view text, Dimension dimension) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return {false, 0, "is not a number with a unit"};
  std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (unit.empty()) return {true, value, ""};
  const UnitTable units = make_units(dimension);
  const auto found = units.find(unit);
  if (found == units.end())
    return {false, 0,
            fmt::format("has the unit \"{}\", which is not a unit of {}", unit, dimension_name(dimension))};
  return {true, value * found->second, ""};
}

std::string_view dimension_name(Dimension dimension) {
  return kDimensions[static_cast<std::size_t>(dimension)].name;
}

bool dimension_from_name(std::string_view name, Dimension& dimension) {
  for (const DimensionInfo& info : kDimensions) {
    if (info.name == name) {
      dimension = info.dimension;
      return true;
    }
  }
  return false;
}

std::string_view dimension_example(Dimension dimension) {
  return kDimensions[static_cast<std::size_t>(dimension)].example;
}

std::string human_time(double seconds) {
  const double magnitude = std::fabs(seconds);
  if (magnitude == 0) return "0 s";
  // 999.5 of a unit would be printed as 1e+03 of it: it is 1 of the next.
  if (magnitude < 999.5e-9) return significant(seconds * 1e9) + " ns";
  if (magnitude < 999.5e-6) return significant(seconds * 1e6) + " us";
  if (magnitude < 0.9995) return significant(seconds * 1e3) + " ms";
  if (magnitude < 999.5) return significant(seconds) + " s";
  if (magnitude < 100 * 3600.0) return human_number(seconds) + " s";
  return human_number(seconds / 3600) + " h";
}

std::string human_bytes(double bytes) {
  for (const auto& [unit, scale] : {std::pair{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}})
    if (bytes >= 0.9995 * scale) return significant(bytes / scale) + " " + unit;
  return fmt::format("{:.0f} B", bytes);
}

std::string human_number(double value) {
  if (std::fabs(value) < 999.5) return significant(value);
  std::string digits = fmt::format("{:.0f}", std::fabs(value));
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return (value < 0 ? "-" : "") + digits;
}

}  // namespace simsgd
