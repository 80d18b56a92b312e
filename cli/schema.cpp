// simsgd schema: the JSON Schema (draft 7) of the scenario language, composed from the plug-ins.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/verbs.hpp"
#include "scenarios/language/schema.hpp"

namespace simsgd {

void add_schema(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("schema", "Print the JSON Schema of scenario files");
  verb->footer("Example (completion in an editor):\n  simsgd schema > scenario.schema.json");
  verb->callback([&exit_code] {
    fmt::print("{}\n", scenario_schema().dump(2));
    exit_code.value = 0;
  });
}

}  // namespace simsgd
