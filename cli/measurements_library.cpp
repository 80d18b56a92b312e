#include "cli/measurements_library.hpp"

#include <CLI/CLI.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/this_program.hpp"

namespace simsgd {

const MeasurementsLibrary& measurements_library() {
  using Opened = const MeasurementsLibrary* (*)();
  static const MeasurementsLibrary& library = *reinterpret_cast<Opened>(
      function_of_own_library("libsimsgd_measurements.so", "simsgd_measurements"))();
  return library;
}

void add_verb_of_measurements(const std::string& verb, CLI::App& app, ExitCode& exit_code) {
  try {
    measurements_library().add_verb(verb, app, exit_code);
  } catch (const RunError& missing) {
    app.add_subcommand(verb, "Not built yet: ./setup.sh build")->allow_extras()->callback([missing] {
      throw missing;
    });
  }
}

}  // namespace simsgd
