// libFuzzer: whatever a file holds, reading it ends in rows, in a replay or in a ConfigError. The environment
// variable SIMSGD_FUZZ says what it is read as: a format of `simsgd import`, "any" where the content has to
// tell it, "map" where a map comes first, or "replay". .ci/fuzz goes through all of them.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/replay/report.hpp"
#include "sim/base/errors.hpp"
#include "traces/import.hpp"
#include "traces/measurements.hpp"

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

void import_as(const std::string& mode, const std::string& text) {
  ImportOptions options;
  options.set = {{"workers", "4"}, {"batch", "8"}};
  if (mode != "any") options.format = mode;
  if (mode.starts_with("mapped_")) options.map = map_of(mode == "mapped_json");
  const simsgd::Imported imported = simsgd::import_text("f", text, options);
  simsgd::write_measurement_table(imported.rows, [](const std::string&) {});
  (void)simsgd::straggler_file(imported.steps);
  for (const simsgd::RecordedWorkload& workload : imported.workloads)
    if (workload.batch > 0) (void)simsgd::workload_file(workload, "f");
}

void replay(const std::string& text) {
  simsgd::RecordedJob job = simsgd::read_recorded_job("f", text);
  simsgd::replay::ReplayOptions options;
  options.ideal = text.size() % 2 == 0;
  options.network = 2;
  if (job.replicas > 1) options.heal = {0};
  if (text.size() % 4 == 0 && job.workers.size() < 64) {
    options.workers = 2 * static_cast<int>(job.workers.size());
    options.draws = 2;
  }
  (void)simsgd::replay::replay_job(std::move(job), options);
}

const std::string& mode() {
  static const std::string chosen = [] {
    const char* said = std::getenv("SIMSGD_FUZZ");
    const std::string name = said == nullptr ? "" : said;
    bool known = name == "any" || name == "map" || name == "replay";
    for (const simsgd::ImportFormat& format : simsgd::import_formats())
      known = known || format.info.name == name;
    if (known) return name;
    std::fputs("SIMSGD_FUZZ has to be any, map, replay", stderr);
    for (const simsgd::ImportFormat& format : simsgd::import_formats())
      std::fprintf(stderr, ", %s", format.info.name.c_str());
    std::fputs("\n", stderr);
    std::exit(2);
  }();
  return chosen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    if (mode() == "map")
      any_map(text);
    else if (mode() == "replay")
      replay(text);
    else
      import_as(mode(), text);
  } catch (const simsgd::ConfigError&) {
  } catch (const nlohmann::json::out_of_range&) {
    if (mode() != "map") throw;  // of the map's own text, which is read here
  }
  return 0;
}
