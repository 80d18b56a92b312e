// simsgd schema: the JSON Schema (draft 7) of scenarios, studies and the files that they use, composed from
// the plug-ins.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "cli/verbs.hpp"
#include "scenarios/language/schema.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

int print_schema(const std::string& kind) {
  const std::vector<std::string>& kinds = file_kinds();
  if (std::ranges::find(kinds, kind) == kinds.end())
    throw ConfigError(InputError{"KIND", "", "is unknown", kind, which_there_are(kind, kinds)});
  fmt::print("{}", editor_schema_text(kind));
  return 0;
}

}  // namespace

void add_schema(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("schema", "Print the JSON Schema of scenario files");
  auto kind = std::make_shared<std::string>("scenario");
  verb->add_option("KIND", *kind, "Kind of file: " + one_of(file_kinds()) + " (default: scenario)");
  verb->footer("Example (completion in an editor):\n  simsgd schema > scenario.schema.json");
  verb->callback([kind, &exit_code] { exit_code.value = print_schema(*kind); });
}

}  // namespace simsgd
