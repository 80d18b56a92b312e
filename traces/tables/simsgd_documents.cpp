// simsgd_documents: what `simsgd run --json` and `simsgd-measure run --json` print, `simsgd sweep run --json`
// a line each, and lines of spool files. Of the metrics: throughput and the mean time of a step, and what the
// latter is the sum of stays in the document.
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/reading/input.hpp"
#include "traces/reading/json.hpp"

namespace simsgd::importers {

namespace {

using nlohmann::json;

constexpr const char* kMetrics[] = {"throughput_samples_per_s", "iteration_time_mean_s"};

// "workloads/resnet50.json" of {"use": ...}, "self", or the name that a resolved scenario has.
std::string name_of(const json& section) {
  if (section.is_string()) return section.get<std::string>();
  const std::string name = text_of(member(section, "name"));
  return name.empty() ? text_of(member(section, "use")) : name;
}

void label_document(const json& document, Measurement& row) {
  const json& scenario = member(document, "scenario");
  const auto put = [&row](const char* label, const std::string& text) {
    if (!text.empty()) row.labels[label] = printable(text);
  };
  put("algorithm", name_of(member(scenario, "algorithm")));
  put("workload", name_of(member(scenario, "workload")));
  put("cluster", name_of(member(scenario, "cluster")));
  put("scenario", text_of(member(scenario, "name")));
  put("clock", text_of(member(document, "clock")));
  for (const auto& [label, value] : {std::pair{"batch", &member(member(scenario, "workload"), "batch")},
                                     {"seed", &member(scenario, "seed")}})
    if (value->is_number()) put(label, value->dump());
}

int nodes_of(const json& workers) {
  int nodes = 0;
  for (const json& worker : workers)
    nodes = std::max(nodes, 1 + std::min(count_of(member(worker, "node"), 0, -1), 1 << 24));
  return nodes;
}

void read_run(const json& document, std::size_t line, ImportedFile& file) {
  const json& metrics = member(document, "metrics");
  if (!metrics.is_object()) return file.ignore("documents without metrics");
  Measurement common;
  const json& workers = member(document, "workers");
  common.workers = workers.is_array() ? static_cast<int>(std::min<std::size_t>(workers.size(), 1 << 24)) : 0;
  if (common.workers == 0)
    common.workers = count_of(member(member(member(document, "scenario"), "cluster"), "workers"), 1, 0);
  common.nodes = workers.is_array() ? nodes_of(workers) : 0;
  common.line = line;
  label_document(document, common);
  std::size_t left = metrics.size();
  for (const char* name : kMetrics) {
    const json& value = member(metrics, name);
    if (!value.is_number()) continue;
    --left;
    Measurement row = common;
    row.quantity = name;
    row.value = value.get<double>();
    file.add(std::move(row));
  }
  file.understand("runs");
  file.understand("other metrics", left);
}

void read_object(const json& object, std::size_t line, ImportedFile& file) {
  const json& run = member(object, "run");
  if (member(object, "sweep").is_object()) return file.understand("plans of sweeps");
  const json& document = run.is_object() ? member(run, "document") : object;
  if (run.is_object() && !document.is_object()) return file.understand("runs that failed");
  read_run(document, line, file);
}

void read_simsgd_documents(Input& input, ImportedFile& file) {
  std::string_view line;
  if (!input.line(line)) return;
  const bool ended = input.line_ended();
  const json first = parse_line(line);
  if (first.is_discarded()) {  // one document over several lines
    std::string text(line);
    if (ended) text += "\n" + input.rest();
    return read_object(parse_document(text, input.name()), 0, file);
  }
  read_object(first, 1, file);
  while (input.line(line)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const json object = parse_line(line);
    if (object.is_object())
      read_object(object, input.line_number(), file);
    else if (input.line_ended())
      file.ignore("lines that are not JSON objects");
    else
      file.understand("truncated last lines");
  }
}

bool is_simsgd_document(std::string_view head) {
  if (first_character(head) != '{') return false;
  head = head.substr(head.find('{'), 4096);
  return holds(head, "\"schema_version\"") || head.starts_with("{\"run\":") ||
         head.starts_with("{\"sweep\":");
}

}  // namespace

std::vector<ImportFormat> simsgd_documents() {
  return {{{.name = "simsgd",
            .summary = "documents of simsgd run --json and simsgd-measure, and lines of sweeps",
            .citation = ""},
           is_simsgd_document,
           make_importer<FileImporter<read_simsgd_documents>>}};
}

}  // namespace simsgd::importers
