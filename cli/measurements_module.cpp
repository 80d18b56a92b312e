// What is seen of libsimsgd_measurements.so.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/measurements_library.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"

namespace simsgd {

/// Written by CMake from the list of verbs.
void add_measurement_verb(const std::string& verb, CLI::App& app, ExitCode& exit_code);

namespace {

Json recorded_workload(const std::string& path, const std::function<Json()>& own_batch) {
  Imported recorded = import_files({path}, {});
  if (recorded.workloads.size() == 1 && recorded.workloads.front().batch < 1) {
    const std::string batch = own_batch().dump();
    fmt::print(stderr, "note: {} does not say its batch; it is taken to be the scenario's, {}\n",
               printable(path), batch);
    ImportOptions told;
    told.set["batch"] = batch;
    recorded = import_files({path}, told);
  }
  if (recorded.workloads.size() != 1)
    throw ConfigError({"--workload", "", "contains no network, or several", path,
                       "Name a workload file, or a trace of one rank"});
  return Json::parse(workload_file(recorded.workloads.front(), path));
}

std::vector<std::string> names_of_import_formats() {
  std::vector<std::string> names;
  for (const ImportFormat& format : import_formats()) names.push_back(format.info.name);
  return names;
}

}  // namespace

}  // namespace simsgd

extern "C" __attribute__((visibility("default"))) const simsgd::MeasurementsLibrary* simsgd_measurements() {
  static const simsgd::MeasurementsLibrary library = {simsgd::add_measurement_verb, simsgd::recorded_workload,
                                                      simsgd::names_of_import_formats};
  return &library;
}
