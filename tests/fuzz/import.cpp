// libFuzzer: whatever a file holds, an import ends in rows or in a ConfigError. The first line says
// which format that is, "any" where the content has to tell it, or that a map comes; of another line the
// first byte chooses.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/base/errors.hpp"
#include "traces/import.hpp"
#include "traces/import_format.hpp"
#include "traces/measurement_table.hpp"

namespace {

using simsgd::ImportOptions;

simsgd::RawValue map_of(bool pointers) {
  const auto place = [pointers](const char* name) { return (pointers ? "/" : "") + std::string(name); };
  return simsgd::RawValue(nlohmann::json{
      {"values",
       {{{"from", place("t")},
         {"unit", "us"},
         {"quantity", "time_s"},
         {"deviation", place("d")},
         {"samples", place("n")}},
        {{"from", place("r")}, {"minus", place("t")}, {"unit", "GB/s"}, {"quantity", "bandwidth_Bps"}}}},
      {"bytes", {{"from", place("b")}, {"unit", "KiB"}}},
      {"workers", place("P")},
      {"labels", {{"l", place("l")}}},
      {"where", {{place("w"), {1, "a"}}}}});
}

// The map itself as it comes: what is wrong with it is a ConfigError, too.
void any_map(const std::string& text) {
  ImportOptions options;
  const std::size_t end = text.find('\0');
  options.map = simsgd::RawValue(nlohmann::json::parse(text.substr(0, end), nullptr, false));
  if (options.map.json().is_discarded()) return;
  options.map_path = "map";
  (void)simsgd::import_text("f", end == std::string::npos ? "" : text.substr(end + 1), options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto& formats = simsgd::import_formats();
  const std::string all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\n');
  if (end == std::string::npos || end == 0) return 0;
  const std::string name = all.substr(0, end), text = all.substr(end + 1);
  const bool known = std::any_of(formats.begin(), formats.end(), [&](const simsgd::ImportFormat& format) {
    return format.info.name == name;
  });
  try {
    ImportOptions options;
    options.set = {{"workers", "4"}, {"batch", "8"}};
    if (name == "map") return any_map(text), 0;
    if (name != "any") options.format = known ? name : formats[data[0] % formats.size()].info.name;
    if (options.format.starts_with("mapped_")) options.map = map_of(options.format == "mapped_json");
    const simsgd::Imported imported = simsgd::import_text("f", text, options);
    simsgd::write_measurement_table(imported.rows, [](const std::string&) {});
    (void)simsgd::straggler_file(imported.steps);
    for (const simsgd::RecordedWorkload& workload : imported.workloads)
      if (workload.batch > 0) (void)simsgd::workload_file(workload, "f");
  } catch (const simsgd::ConfigError&) {
  } catch (const nlohmann::json::out_of_range&) {
    if (name != "map") throw;  // of the map's own text, which is read here
  }
  return 0;
}
