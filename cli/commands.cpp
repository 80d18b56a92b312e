#include "cli/commands.hpp"

#include <CLI/CLI.hpp>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/questions/study_report.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/reference.hpp"
#include "scenarios/language/schema.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/recording/metrics.hpp"
#include "traces/import_format.hpp"

namespace simsgd {

namespace {

/// "INT" of "INT:INT in [1 - 1024]".
std::string first_word(const std::string& type) { return type.substr(0, type.find(':')); }

/// "mean" and "median" of "TEXT:{mean,median}", as CLI::IsMember describes itself.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t open = type.find(":{");
  if (open == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 2, type.find('}', open) - open - 2), ',');
}

CommandOption option_of(const CLI::Option& option) {
  CommandOption made;
  for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
  made.positional = made.names.empty();
  if (made.positional) made.names.push_back(option.get_name(true));
  if (option.get_items_expected_max() > 0) made.value = first_word(option.get_type_name());
  made.choices = choices_of(option.get_type_name());
  made.description = option.get_description();
  made.required = option.get_required();
  made.repeated = option.get_items_expected_max() > 1;
  return made;
}

void add_commands(const CLI::App& app, const std::string& name, std::vector<Command>& all) {
  const auto shown = [](const CLI::App* verb) { return !verb->get_group().empty(); };
  Command command{name, app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) command.options.push_back(option_of(*option));
  const std::vector<const CLI::App*> verbs = app.get_subcommands(shown);
  for (const CLI::App* verb : verbs) command.verbs.push_back(verb->get_name());
  all.push_back(std::move(command));
  for (const CLI::App* verb : verbs)
    add_commands(*verb, name.empty() ? verb->get_name() : name + " " + verb->get_name(), all);
}

std::vector<std::string> operations() {
  std::set<std::string> names;
  for (const SchedulePlugin& plugin : schedule_plugins()) names.insert(op_name(plugin.op));
  return {names.begin(), names.end()};
}

std::vector<std::string> schedule_names() {
  std::set<std::string> names;
  for (const SchedulePlugin& plugin : schedule_plugins()) names.insert(plugin.info.name);
  return {names.begin(), names.end()};
}

std::vector<std::string> import_format_names() {
  std::vector<std::string> names;
  for (const ImportFormat& format : import_formats()) names.push_back(format.info.name);
  return names;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric& metric : metrics()) names.push_back(metric.name);
  return names;
}

std::string with_first_elements(const std::string& pointer) {
  std::string settable;
  for (const std::string& token : tokens(pointer)) settable = child(settable, token == "*" ? "0" : token);
  return settable;
}

/// Without the quotation marks of a text: `--set` takes what is not JSON as text.
std::string as_argument(const std::string& json) {
  const Json value = Json::parse(json);
  return value.is_string() ? value.get<std::string>() : json;
}

}  // namespace

std::vector<std::string> values_at(const std::string& pointer) {
  for (const PointerValues& each : pointer_values())
    if (each.pointer == pointer) return each.values;
  return {};
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> all;
  add_commands(app, "", all);
  return all;
}

ShellCompletion completion_of(const Command& command, const CommandOption& option) {
  using Kind = ShellCompletion::Kind;
  const std::string& name = option.names.back();
  if (!option.choices.empty()) return {Kind::words, option.choices};
  if (command.name == "list" && name == "KIND") return {Kind::list_kinds};
  if (command.name == "list" && name == "NAME") return {Kind::list_names};
  if (command.name == "schema" && name == "KIND") return {Kind::words, file_kinds()};
  if (name == "OPERATION") return {Kind::words, operations()};
  if (name == "--schedule") return {Kind::words, schedule_names()};
  if (name == "--fidelity") return {Kind::words, values_at("/network/fidelity")};
  if (command.name == "import") {
    if (name == "--format") return {Kind::words, import_format_names()};
    if (name == "--set") return {};
    if (option.positional || option.value == "FILE") return {Kind::files};
    if (name == "--map") return {Kind::json_files};
  }
  if (command.name == "replay" && option.positional) return {Kind::files};
  if (command.name == "report") {
    if (name == "--chart") return {Kind::words, questions::chart_names()};
    if (option.value == "FILE") return {Kind::files};
  }
  if (command.name == "explore" && option.positional) return {Kind::files};
  if (name == "--set" && command.name != "list") return {Kind::pointers};
  if (option.value == "DIR") return {Kind::directories};
  if (option.value == "F.db" || name == "F.db") return {Kind::files};
  if (name == "--metric") return {Kind::words, metric_names()};
  if (command.name.starts_with("results")) return {};
  if (name == "--cluster" || option.positional) return {Kind::json_files};
  return {};
}

std::vector<std::string> settable_pointers() {
  std::set<std::string> pointers;
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys) pointers.insert(with_first_elements(key.pointer));
  return {pointers.begin(), pointers.end()};
}

std::vector<PointerValues> pointer_values() {
  std::map<std::string, std::set<std::string>> values;
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys)
      for (const std::string& value : key.values)
        values[with_first_elements(key.pointer)].insert(as_argument(value));
  std::vector<PointerValues> all;
  for (const auto& [pointer, each] : values) all.push_back({pointer, {each.begin(), each.end()}});
  return all;
}

}  // namespace simsgd
