#include "results/document.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>

#include "scenarios/language/job_notes.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

using Document = nlohmann::ordered_json;

constexpr std::size_t kMostLinks = 64;

Document context_part(const RunContext& context) {
  return {{"program", context.program},
          {"version", context.version},
          {"git_commit", context.git_commit},
          {"simgrid_version", context.simgrid_version},
          {"build_type", context.build_type},
          {"host", context.host},
          {"date", context.date},
          {"wall_time_s", context.wall_time_s},
          {"peak_memory_bytes", context.peak_memory_bytes}};
}

Document metrics_part(const RunRecord& record, const Job& job) {
  Document part = Document::object();
  for (const MetricValue& metric : metric_values(record, job)) part[metric.name] = metric.value;
  return part;
}

template <std::size_t size, class Name>
Document by_kind(const std::array<double, size>& values, Name name) {
  Document part = Document::object();
  for (std::size_t i = 0; i < size; ++i) part[name(i)] = values[i];
  return part;
}

std::string activity_key(std::size_t index) { return activity_name(static_cast<Activity>(index)) + "_s"; }
std::string traffic_key(std::size_t index) { return traffic_name(static_cast<Traffic>(index)); }

Document histogram_part(const Histogram& histogram) {
  Document bins = Document::array();
  for (std::size_t i = 0; i < Histogram::kBins; ++i) {
    const int bin = Histogram::kFirst + static_cast<int>(i);
    if (const std::uint64_t count = histogram.counts[i]; count > 0)
      bins.push_back({std::pow(10, bin / 10.0), std::pow(10, (bin + 1) / 10.0), count});
  }
  return {{"zero", histogram.zero}, {"bins", std::move(bins)}};
}

Document distributions_part(const WorkerRecord& worker) {
  Document ages = Document::array();
  for (const auto& [age, count] : worker.ages) ages.push_back({age, count});
  return {{"wait_s", histogram_part(worker.step_wait)},
          {"straggle_s", histogram_part(worker.step_straggle)},
          {"staleness", std::move(ages)}};
}

Document worker_part(int rank, const WorkerRecord& worker, const Job& job) {
  double total = 0;
  for (const double seconds : worker.activity_s) total += seconds;
  Document part = {{"rank", rank},          {"node", job.cluster.node_of_rank(rank)},
                   {"steps", worker.steps}, {"samples", worker.samples},
                   {"end_s", worker.end_s}, {"time_s", total}};
  part["time_by_activity"] = by_kind(worker.activity_s, activity_key);
  part["communication_s"] = by_kind(worker.communication_s, traffic_key);
  part["communication_exposed_s"] = by_kind(worker.exposed_s, traffic_key);
  part["communication_not_hidden_s"] = by_kind(worker.not_hidden_s, traffic_key);
  part["bytes_sent"] = by_kind(worker.bytes_sent, traffic_key);
  part["staleness"] = {
      {"mean",
       worker.staleness_count > 0 ? worker.staleness_sum / static_cast<double>(worker.staleness_count) : 0.0},
      {"max", worker.staleness_max},
      {"count", worker.staleness_count}};
  part["distributions"] = distributions_part(worker);
  return part;
}

Document workers_part(const RunRecord& record, const Job& job) {
  Document part = Document::array();
  for (std::size_t rank = 0; rank < record.workers.size(); ++rank)
    part.push_back(worker_part(static_cast<int>(rank), record.workers[rank], job));
  return part;
}

double utilisation(const LinkRecord& link, double end_s) {
  return end_s > 0 && link.bandwidth_Bps > 0 ? link.bytes / (link.bandwidth_Bps * end_s) : 0;
}

Document links_part(const RunRecord& record) {
  std::vector<LinkRecord> links = record.links;
  std::sort(links.begin(), links.end(), [&record](const LinkRecord& a, const LinkRecord& b) {
    const double busy_a = utilisation(a, record.end_s), busy_b = utilisation(b, record.end_s);
    return busy_a != busy_b ? busy_a > busy_b : a.name < b.name;
  });
  Document part = Document::array();
  for (std::size_t i = 0; i < std::min(kMostLinks, links.size()); ++i)
    part.push_back({{"name", links[i].name},
                    {"bandwidth_Bps", links[i].bandwidth_Bps},
                    {"bytes", links[i].bytes},
                    {"utilisation", utilisation(links[i], record.end_s)}});
  return part;
}

Document fidelity_part(const RunRecord& record) {
  Document part = Document::array();
  for (const FidelityRecord& each : record.fidelities)
    part.push_back({{"operation", each.operation},
                    {"fidelity", each.fidelity},
                    {"reason", each.reason},
                    {"exact", each.exact},
                    {"count", each.count}});
  return part;
}

Document tables_part(const RunRecord& record) {
  Document part = Document::object();
  for (const RecordTable& table : record.tables) {
    Document rows = Document::array();
    for (const std::vector<RecordTable::Cell>& row : table.rows) {
      Document cells = Document::array();
      for (const RecordTable::Cell& cell : row)
        std::visit([&cells](const auto& value) { cells.push_back(value); }, cell);
      rows.push_back(std::move(cells));
    }
    part[table.name] = {{"columns", table.columns}, {"rows", std::move(rows)}};
  }
  return part;
}

/// JSON has no NaN: what has no value is null.
Document number(double value) { return std::isfinite(value) ? Document(value) : Document(nullptr); }

Document series_part(const RunRecord& record) {
  Document train = Document::array(), test = Document::array();
  for (const SeriesPoint& point : record.series)
    train.push_back(
        {{"step", point.step}, {"time_s", point.time_s}, {"train_loss", number(point.train_loss)}});
  for (const EvaluationPoint& point : record.evaluations)
    test.push_back({{"step", point.step},
                    {"time_s", point.time_s},
                    {"test_loss", number(point.test_loss)},
                    {"test_accuracy", number(point.test_accuracy)},
                    {"consensus_distance", number(point.consensus_distance)},
                    {"worker_steps", point.worker_steps}});
  return {{"train", std::move(train)}, {"test", std::move(test)}};
}

Document notes_part(const Scenario& scenario, const Job& job, const RunRecord& record) {
  std::vector<Note> notes = job.notes;
  for (Note& note : notes_of_run(scenario.resolved, job, record)) add_note(notes, std::move(note));
  Document part = Document::array();
  for (const Note& note : notes) part.push_back(note.text);
  return part;
}

}  // namespace

RunContext with_machine(RunContext context) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) context.host = host.data();
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  context.date = date.data();
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    context.peak_memory_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  return context;
}

nlohmann::ordered_json make_document(const RunContext& context, const Scenario& scenario, const Job& job,
                                     const RunRecord& record) {
  Document document;
  document["schema_version"] = kSchemaVersion;
  document["context"] = context_part(context);
  document["scenario"] = Document::parse(scenario.resolved.dump());
  document["clock"] = record.clock;
  document["one_device"] = {{"step_s", job.workload.one_device_step_s},
                            {"source", job.workload.one_device_source}};
  document["metrics"] = metrics_part(record, job);
  document["workers"] = workers_part(record, job);
  document["links"] = links_part(record);
  document["links_total"] = record.links.size();
  document["fidelity"] = fidelity_part(record);
  document["tables"] = tables_part(record);
  document["series"] = series_part(record);
  document["notes"] = notes_part(scenario, job, record);
  return document;
}

const std::vector<DocumentKey>& document_keys() {
  static const std::vector<DocumentKey> keys = {
      {"/schema_version", "1", "Version of this layout"},
      {"/context", "",
       "Program, version, commit, machine, date, wall time and peak memory: all that is not reproducible"},
      {"/scenario", "", "The scenario with everything it uses and every default; a scenario file in itself"},
      {"/clock", "", "\"simulated\", or \"wall\" for a real run"},
      {"/one_device/step_s", "s", "A step of the workload on one device, the baseline of scaling_efficiency"},
      {"/one_device/source", "", "Where that time comes from"},
      {"/metrics/*", "", "See the table of metrics; one that has no value is left out"},
      {"/workers/*/rank", "1", "Rank of the worker"},
      {"/workers/*/node", "1", "Node that it runs on"},
      {"/workers/*/steps", "1", "Steps that it completed"},
      {"/workers/*/samples", "1", "Training samples whose gradient was used"},
      {"/workers/*/end_s", "s", "When its last step ended"},
      {"/workers/*/time_s", "s", "Sum of time_by_activity"},
      {"/workers/*/time_by_activity/*", "s", "Its whole time, by what it did"},
      {"/workers/*/communication_s/*", "s", "Communication in progress, exposed or hidden, by kind"},
      {"/workers/*/communication_exposed_s/*", "s", "Communication that it waited for, by kind"},
      {"/workers/*/communication_not_hidden_s/*", "s",
       "What it lost to collectives, by kind: exposed communication and host work"},
      {"/workers/*/bytes_sent/*", "B", "Bytes sent, by kind"},
      {"/workers/*/staleness/*", "1", "Ages in steps of what was applied; 0 where nothing has an age"},
      {"/workers/*/distributions/*/zero", "1", "Steps in which it waited, or straggled, less than 1 ns"},
      {"/workers/*/distributions/*/bins", "s",
       "Steps by how long it waited or straggled in them: lists of from, to (excluded) and number of steps"},
      {"/workers/*/distributions/staleness", "1", "Lists of an age in steps, and how often it occurred"},
      {"/links/*/name", "", "The busiest links, at most 64, by utilisation"},
      {"/links/*/bandwidth_Bps", "B/s", "Bandwidth of one direction"},
      {"/links/*/bytes", "B", "Bytes carried"},
      {"/links/*/utilisation", "1", "Bytes over what it could have carried in the run"},
      {"/links_total", "1", "Links that carried anything"},
      {"/fidelity/*", "",
       "How each kind of collective was costed, why, whether that is exact, and how many there were"},
      {"/tables/*/columns", "", "What the algorithm decided, such as fusion groups: names of the columns"},
      {"/tables/*/rows", "", "One list for each row, a cell for each column"},
      {"/series/train/*", "",
       "Per step: step, time_s when all had completed it, mean mini-batch loss (null without a learner)"},
      {"/series/test/*", "",
       "Per evaluation of the models at one instant: step, time_s, test_loss, test_accuracy, "
       "consensus_distance "
       "(null without a value), worker_steps: the steps that each worker had completed"},
      {"/notes/*", "",
       "What the result leaves out or assumes; of a real run, what it does not take from its scenario"},
  };
  return keys;
}

}  // namespace simsgd
