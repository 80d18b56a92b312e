// libFuzzer: whatever a file holds, an import ends in rows or in a ConfigError. The first byte chooses: 0 the
// map, from 0x80 on a format that is told by the content, else which it is said to be.
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
  if (size == 0) return 0;
  const auto& formats = simsgd::import_formats();
  const std::size_t choice = data[0] >= 0x80 ? formats.size() + 1
                             : data[0] == 0  ? 0
                                             : 1 + (data[0] - 1U) % formats.size();
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    ImportOptions options;
    options.set = {{"workers", "4"}};
    if (choice == 0) return any_map(text), 0;
    if (choice <= formats.size()) options.format = formats[choice - 1].info.name;
    if (options.format.starts_with("mapped_")) options.map = map_of(options.format == "mapped_json");
    const simsgd::Imported all = simsgd::import_text("f", text, options);
    simsgd::write_measurement_table(all.rows, [](const std::string&) {});
    if (!all.steps.empty()) (void)simsgd::straggler_file(all.steps);
    for (const simsgd::RecordedWorkload& workload : all.workloads) (void)simsgd::workload_file(workload, "f");
  } catch (const simsgd::ConfigError&) {
  } catch (const nlohmann::json::out_of_range&) {
    if (choice != 0) throw;  // of the map's own text, which is read here
  }
  return 0;
}
