// simsgd import: measurements out of files of other programs, and of our own, as one table.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/verbs.hpp"
#include "results/atomic_file.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/measurements.hpp"

namespace simsgd {

namespace {

struct ImportVerb {
  std::vector<std::string> files, set;
  std::string output = "-", map, format, workload, stragglers;
  bool json = false;
};

std::map<std::string, std::string> constants_of(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> constants;
  std::vector<InputError> errors;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0)
      errors.push_back(
          {"--set", "", "is not an assignment", printable(argument), "Write key=value, such as workers=8"});
    else if (!constants.emplace(argument.substr(0, equals), argument.substr(equals + 1)).second)
      errors.push_back({"--set", "", "sets the same key twice", printable(argument), "Keep one of the two"});
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  return constants;
}

OrderedJson json_of(const Measurement& row) {
  OrderedJson json = {{"quantity", row.quantity}};
  const auto put = [&json](const char* key, const auto& value, bool given) {
    if (given) json[key] = value;
  };
  put("operation", row.operation, !row.operation.empty());
  put("workers", row.workers, row.workers != 0);
  put("nodes", row.nodes, row.nodes != 0);
  put("bytes", row.bytes, !std::isnan(row.bytes));
  json["value_SI"] = row.value;
  put("deviation_SI", row.deviation, !std::isnan(row.deviation));
  json["samples"] = row.samples;
  put("campaign", row.campaign, !row.campaign.empty());
  json["source"] = row.source;
  put("line", row.line, row.line != 0);
  put("labels", row.labels, !row.labels.empty());
  return json;
}

using Write = std::function<void(const std::string&)>;

// A row is written before the next one is made: there may be millions.
void write_json(const Measurements& all, const Write& write) {
  const auto text = [](const OrderedJson& json) {
    return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  };
  write("{\"schema_version\":1,\"rows\":[");
  const char* separator = "\n";
  for (const Measurement& row : all.rows) {
    write(separator + text(json_of(row)));
    separator = ",\n";
  }
  write("\n],\"files\":[");
  separator = "\n";
  for (const ImportReport& report : all.reports) {
    write(separator + text({{"file", report.file},
                            {"format", report.format},
                            {"rows", report.rows},
                            {"understood", report.understood},
                            {"ignored", report.ignored}}));
    separator = ",\n";
  }
  write("\n]}\n");
}

void print_report(const ImportReport& report) {
  fmt::print(stderr, "{}: {} ({})\n", printable(report.file), counted(report.rows, "measurement"),
             report.format);
  for (const auto& [kind, count] : report.understood)
    fmt::print(stderr, "  {} ({})\n", printable(kind), count);
  for (const auto& [reason, count] : report.ignored)
    fmt::print(stderr, "  WARNING: {} ({})\n", printable(reason), count);
}

// Both are made before anything is written.
struct RecordedFiles {
  std::string workload, stragglers;

  RecordedFiles(const ImportVerb& verb, const Imported& all) {
    std::vector<InputError> errors;
    const std::string& file = verb.files.front();
    if (!verb.workload.empty() && all.workloads.size() != 1)
      errors.push_back({file, "", "does not contain exactly one network",
                        fmt::format("{} networks", all.workloads.size()),
                        "Leave out --workload, or name files of one network"});
    if (!verb.stragglers.empty() && all.steps.empty())
      errors.push_back({file, "", "contains no steps of workers", "", "Leave out --stragglers"});
    if (!errors.empty()) throw ConfigError(std::move(errors));
    if (!verb.workload.empty()) workload = workload_file(all.workloads.front(), file);
    if (!verb.stragglers.empty()) stragglers = straggler_file(all.steps);
  }
};

int run_import(const ImportVerb& verb) {
  ImportOptions options;
  options.format = verb.format;
  options.map_path = verb.map;
  options.set = constants_of(verb.set);
  const Imported all = import_files(verb.files, options);
  const RecordedFiles recorded(verb, all);
  const auto write_all = [&](const Write& write) {
    if (verb.json)
      write_json(all, write);
    else
      write_measurement_table(all.rows, write);
  };
  if (verb.output == "-") {
    // Labels of foreign files: a terminal would take their escape sequences for its own.
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    write_all([terminal](const std::string& piece) {
      fmt::print("{}", terminal ? printable_lines(piece) : piece);
    });
  } else {
    AtomicFile file(verb.output);
    write_all([&file](const std::string& piece) { file.write(piece); });
    file.finish();
  }
  if (!recorded.workload.empty()) write_file_atomically(verb.workload, recorded.workload);
  if (!recorded.stragglers.empty()) write_file_atomically(verb.stragglers, recorded.stragglers);
  for (const ImportReport& report : all.reports) print_report(report);
  return 0;
}

std::string formats_text() {
  std::string text = "Formats, recognised by the content unless --format names one:\n";
  for (const ImportFormat& format : import_formats())
    text += fmt::format("  {:<16}{}\n", format.info.name, format.info.summary);
  return text;
}

}  // namespace

void add_import(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb =
      app.add_subcommand("import", "Make one table of measurements from logs, traces and tables");
  auto settings = std::make_shared<ImportVerb>();
  verb->add_option(
          "FILES", settings->files,
          "Logs, traces, tables or documents, plain or gzip, or - for standard input. Give the files of all processes of a job together")
      ->required();
  verb->add_option("-o,--output", settings->output, "Write the table to this file, completely or not at all")
      ->type_name("FILE")
      ->capture_default_str();
  verb->add_option("--map", settings->map,
                   "JSON file that says what columns or JSON pointers mean (docs/import.md)")
      ->type_name("MAP.json");
  verb->add_option("--format", settings->format, "Format of all files")->type_name("NAME");
  verb->add_option("--set", settings->set,
                   "A value that the files do not contain: operation, workers, nodes, campaign, or a label")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  verb->add_option("--workload", settings->workload,
                   "Write the network that the recorded job trains as a workload file")
      ->type_name("FILE");
  verb->add_option("--stragglers", settings->stragglers,
                   "Write the computing time of each worker and step, which the straggler `trace` replays")
      ->type_name("FILE");
  verb->add_flag("--json", settings->json, "One JSON document instead of CSV");
  verb->footer(formats_text() + "Example:\n  simsgd import all_reduce_8.log all_reduce_4.json -o data.csv");
  verb->callback([settings, &exit_code] { exit_code.value = run_import(*settings); });
}

}  // namespace simsgd
