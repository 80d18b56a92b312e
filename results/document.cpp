#include "results/document.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "results/curves.hpp"
#include "results/summary.hpp"
#include "results/version.hpp"
#include "scenarios/language/job_notes.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/record.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

using Document = nlohmann::ordered_json;

constexpr std::size_t kMostLinks = 64;
constexpr int kMostListedWorkers = 10000;  // a row is some kilobytes: beyond, as in a brief document

Document metrics_part(const RunRecord& record, const Job& job) {
  const std::vector<MetricValue> values = metric_values(record, job);
  Document::object_t part;  // whose [] compares a name with all before
  part.reserve(values.size());
  for (const MetricValue& metric : values) part.emplace_back(metric.name, metric.value);
  return part;
}

template <std::size_t size, class Name>
Document by_kind(const std::array<double, size>& values, Name name) {
  Document part = Document::object();
  for (std::size_t i = 0; i < size; ++i) part[name(i)] = values[i];
  return part;
}

std::string activity_key(std::size_t index) { return activity_metric(static_cast<Activity>(index)); }
std::string traffic_key(std::size_t index) { return traffic_name(static_cast<Traffic>(index)); }

Document histogram_part(const Histogram& histogram) {
  Document bins = Document::array();
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const int bin = histogram.first + static_cast<int>(i);
    if (const std::uint64_t count = histogram.counts[i]; count > 0)
      bins.push_back({std::pow(10, bin / 10.0), std::pow(10, (bin + 1) / 10.0), count});
  }
  return {{"zero", histogram.zero}, {"bins", std::move(bins)}};
}

Document distributions_part(const WorkerRecord& worker) {
  Document ages = Document::array();
  for (const auto& [age, count] : worker.ages) ages.push_back({age, count});
  return {{activity_metric(Activity::wait), histogram_part(worker.step_wait)},
          {activity_metric(Activity::straggle), histogram_part(worker.step_straggle)},
          {"staleness", std::move(ages)}};
}

double time_of(const WorkerRecord& worker) {
  double total_s = 0;
  for (const double seconds : worker.activity_s) total_s += seconds;
  return total_s;
}

double mean_staleness(const WorkerRecord& worker) {
  return worker.staleness_count > 0 ? worker.staleness_sum / static_cast<double>(worker.staleness_count)
                                    : 0.0;
}

Document worker_part(int rank, const WorkerRecord& worker, const Job& job) {
  Document part = {{"rank", rank},          {"node", job.cluster.node_of_rank(rank)},
                   {"steps", worker.steps}, {"samples", worker.samples},
                   {"end_s", worker.end_s}, {"time_s", time_of(worker)}};
  part["time_by_activity"] = by_kind(worker.activity_s, activity_key);
  part["communication_s"] = by_kind(worker.communication_s, traffic_key);
  part["communication_exposed_s"] = by_kind(worker.exposed_s, traffic_key);
  part["communication_overhead_s"] = by_kind(worker.overhead_s, traffic_key);
  part["bytes_sent"] = by_kind(worker.bytes_sent, traffic_key);
  part["staleness"] = {
      {"mean", mean_staleness(worker)}, {"max", worker.staleness_max}, {"count", worker.staleness_count}};
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

Document links_part(const RunRecord& record, std::size_t most) {
  std::vector<const LinkRecord*> links;
  for (const LinkRecord& link : record.links) links.push_back(&link);
  const auto end = links.begin() + static_cast<std::ptrdiff_t>(std::min(most, links.size()));
  std::partial_sort(links.begin(), end, links.end(), [&record](const LinkRecord* a, const LinkRecord* b) {
    const double busy_a = utilisation(*a, record.end_s), busy_b = utilisation(*b, record.end_s);
    return busy_a != busy_b ? busy_a > busy_b : a->name < b->name;
  });
  links.erase(end, links.end());
  Document part = Document::array();
  for (const LinkRecord* link : links)
    part.push_back({{"name", link->name},
                    {"bandwidth_Bps", link->bandwidth_Bps},
                    {"bytes", link->bytes},
                    {"utilisation", utilisation(*link, record.end_s)}});
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

Document memory_part(const Job& job) {
  Document part = Document::array();
  for (const MemoryPart& each : job.memory) part.push_back({{"part", each.name}, {"bytes", each.bytes}});
  return part;
}

Document notes_part(const Scenario& scenario, const Job& job, const RunRecord& record) {
  std::vector<Note> notes = job.notes;
  for (Note& note : notes_of_run(scenario.resolved, job, record)) add_note(notes, std::move(note));
  Document part = Document::array();
  for (const Note& note : notes) part.push_back(note.text);
  return part;
}

using Values = std::map<std::string, std::vector<double>>;

// Activities go by their own names; the other groups' are told apart by the group.
void add_values(Values& values, const Document& worker) {
  for (const auto& [name, value] : worker.items()) {
    if (value.is_number() && name != "rank" && name != "node") values[name].push_back(value);
    if (!value.is_object() || name == "distributions") continue;
    const std::string prefix = name == "time_by_activity" ? "" : name + "/";
    for (const auto& [part, number] : value.items())
      if (part != "count") values[prefix + part].push_back(number);
  }
}

Values values_of(const Document& workers) {
  Values values;
  for (const Document& worker : workers) add_values(values, worker);
  return values;
}

Document spread_of(const std::vector<double>& values) {
  Document spread = Document::array();
  for (const double q : {0.0, 0.25, 0.5, 0.75, 1.0}) spread.push_back(quantile(values, q));
  return spread;
}

Document spreads_part(const Values& values) {
  Document part = Document::object();
  for (const auto& [name, each] : values) part[name] = spread_of(each);
  return part;
}

using NumberOf = std::function<double(const WorkerRecord&)>;

template <std::size_t size, class Name>
void add_numbers(std::map<std::string, NumberOf>& numbers, const std::string& group,
                 std::array<double, size> WorkerTotals::*values, Name name) {
  for (std::size_t i = 0; i < size; ++i)
    numbers[group + name(i)] = [values, i](const WorkerRecord& worker) { return (worker.*values)[i]; };
}

// Those of worker_part, by the names that add_values gives them.
std::map<std::string, NumberOf> worker_numbers() {
  std::map<std::string, NumberOf> numbers{
      {"steps", [](const WorkerRecord& worker) { return static_cast<double>(worker.steps); }},
      {"samples", [](const WorkerRecord& worker) { return worker.samples; }},
      {"end_s", [](const WorkerRecord& worker) { return worker.end_s; }},
      {"time_s", time_of},
      {"staleness/mean", mean_staleness},
      {"staleness/max", [](const WorkerRecord& worker) { return worker.staleness_max; }}};
  add_numbers(numbers, "", &WorkerTotals::activity_s, activity_key);
  add_numbers(numbers, "communication_s/", &WorkerTotals::communication_s, traffic_key);
  add_numbers(numbers, "communication_exposed_s/", &WorkerTotals::exposed_s, traffic_key);
  add_numbers(numbers, "communication_overhead_s/", &WorkerTotals::overhead_s, traffic_key);
  add_numbers(numbers, "bytes_sent/", &WorkerTotals::bytes_sent, traffic_key);
  return numbers;
}

/// What stands for the rows of all workers, which are not made: the spread of each number, and who is
/// slowest.
void add_spreads(Document& document, const RunRecord& record) {
  static const std::map<std::string, NumberOf> kNumbers = worker_numbers();
  Document::object_t spreads;
  spreads.reserve(kNumbers.size());
  std::vector<double> values(record.workers.size());
  for (const auto& [name, number] : kNumbers) {
    std::transform(record.workers.begin(), record.workers.end(), values.begin(), number);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    spreads.emplace_back(name,
                         *least == *most ? Document(std::vector<double>(5, *least)) : spread_of(values));
  }
  document["worker_spreads"] = std::move(spreads);
  std::vector<BusyWorker> busy;
  for (std::size_t rank = 0; rank < record.workers.size(); ++rank) {
    const WorkerRecord& worker = record.workers[rank];
    const double busy_s = worker.activity_s[static_cast<std::size_t>(Activity::compute)] +
                          worker.activity_s[static_cast<std::size_t>(Activity::straggle)];
    if (worker.steps > 0)
      busy.push_back({busy_s / static_cast<double>(worker.steps), static_cast<int>(rank)});
  }
  document["slowest_worker"] = slowest_of(std::move(busy));
}

Document with_parts(const RunContext& context, const Scenario& scenario, const Job& job,
                    const RunRecord& record, Document shown_scenario, bool brief) {
  Document document = Document::object();
  document.get_ref<Document::object_t&>().reserve(24);  // else what it has is copied as it grows
  document["schema_version"] = kSchemaVersion;
  document["context"] = to_json(context);
  document["scenario"] = std::move(shown_scenario);
  document["clock"] = record.clock;
  document["one_device"] = {{"step_s", job.workload.one_device_step_s},
                            {"source", job.workload.one_device_source}};
  document["metrics"] = metrics_part(record, job);
  document["memory"] = memory_part(job);
  if (brief || job.workers() > kMostListedWorkers)
    add_spreads(document, record);
  else
    document["workers"] = workers_part(record, job);
  document["links"] = links_part(record, brief ? kBriefLinks : kMostLinks);
  document["links_total"] = record.links.size();
  document["fidelity"] = fidelity_part(record);
  document["tables"] = tables_part(record);
  document["series"] = series_of(record);
  document["notes"] = notes_part(scenario, job, record);
  return document;
}

}  // namespace

nlohmann::ordered_json make_document(const RunContext& context, const Scenario& scenario, const Job& job,
                                     const RunRecord& record) {
  return with_parts(context, scenario, job, record, Document::parse(completed(scenario, job).dump()), false);
}

nlohmann::ordered_json make_brief_document(const RunContext& context, const Scenario& scenario,
                                           const Job& job, const RunRecord& record) {
  return with_parts(context, scenario, job, record, nullptr, true);
}

nlohmann::ordered_json brief_document(const nlohmann::ordered_json& document) {
  Document brief;
  for (const auto& [name, part] : document.items()) {
    if (name == "workers") {
      brief["worker_spreads"] = spreads_part(values_of(part));
      brief["slowest_worker"] = slowest_worker_text(part);
    } else {
      brief[name] = part;
    }
    if (name == "links" && part.size() > kBriefLinks)
      brief[name].erase(brief[name].begin() + kBriefLinks, brief[name].end());
  }
  return brief;
}

namespace {

std::vector<DocumentKey> run_keys() {
  return {
      {"/schema_version", "1", "Version of this layout"},
      {"/context", "",
       "Program, version, commit, machine, date, wall time and peak memory: all that is not reproducible"},
      {"/scenario", "", "The scenario with everything it uses and every default; a scenario file in itself"},
      {"/clock", "", "\"simulated\", or \"wall\" for a real run"},
      {"/one_device/step_s", "s", "A step of the workload on one device, the baseline of scaling_efficiency"},
      {"/one_device/source", "", "Where that time comes from"},
      {"/metrics/*", "", "See the table of metrics; one that has no value is left out"},
      {"/intervals/*/*/level", "1",
       "The probability with which a metric that depends on time lies in this interval: from the cluster's calibration, else from what data sheets were off by (docs/calibration.md)"},
      {"/intervals/*/*/low", "", "Lower end, in the metric's unit"},
      {"/intervals/*/*/high", "", "Upper end"},
      {"/uncertainty/draws", "1",
       "How many draws of parameters and seeds together the intervals are made of"},
      {"/uncertainty/seeds_matter", "", "Whether the seed draws anything; else only parameters are drawn"},
      {"/uncertainty/least_reach/half", "1",
       "Least reach of 50 % intervals to either side, a logarithm: as far as cells that were left out of the calibration were off, and further where nothing like this run was fitted"},
      {"/uncertainty/least_reach/nine_tenths", "1", "The same of 90 % intervals"},
      {"/uncertainty/deviations/*/deviation", "", "Standard deviation of the metric over the draws"},
      {"/uncertainty/deviations/*/of_seeds", "", "The same, if only seeds are drawn"},
      {"/uncertainty/deviations/*/of_parameters", "", "The rest, which is due to the parameters"},
      {"/uncertainty/data_sheets/*/*/level", "1",
       "The share of published cells whose computing, kernels or communication lay between low and high times what data sheets predict"},
      {"/uncertainty/data_sheets/*/*/low", "1", "The smallest ratio of measured to predicted"},
      {"/uncertainty/data_sheets/*/*/high", "1", "The most"},
      {"/memory/*/part", "", "What the algorithm keeps on each GPU: parameters, activations, ..."},
      {"/memory/*/bytes", "B", "Its size, the most of any GPU; together they are memory_bytes_per_gpu"},
      {"/workers/*/rank", "1", "Rank of the worker"},
      {"/workers/*/node", "1", "Node that it runs on"},
      {"/workers/*/steps", "1", "Steps that it completed"},
      {"/workers/*/samples", "1", "Training samples whose gradient was used"},
      {"/workers/*/end_s", "s", "When its last step ended, and what that one had left under way"},
      {"/workers/*/time_s", "s", "Sum of time_by_activity"},
      {"/workers/*/time_by_activity/*", "s", "Its whole time, by what it did"},
      {"/workers/*/communication_s/*", "s",
       "Communication in progress, exposed or hidden, by kind. Exposed may be more: computing feels an operation for its predicted time"},
      {"/workers/*/communication_exposed_s/*", "s", "Communication that it waited for, by kind"},
      {"/workers/*/communication_overhead_s/*", "s",
       "What it lost to collectives, by kind: exposed communication and host work"},
      {"/workers/*/bytes_sent/*", "B",
       "Bytes sent in its completed steps, by kind. Links also carry those of steps that the end cut off"},
      {"/workers/*/staleness/*", "1", "Ages in steps of what was applied; 0 where nothing has an age"},
      {"/workers/*/distributions/*/zero", "1", "Steps in which it waited, or straggled, less than 1 ns"},
      {"/workers/*/distributions/*/bins", "s",
       "Steps by how long it waited or straggled in them: lists of from, to (excluded) and number of steps"},
      {"/workers/*/distributions/staleness", "1", "Lists of an age in steps, and how often it occurred"},
      {"/worker_spreads/*", "",
       "Of more than 10,000 workers, in place of workers: least, lower quartile, median, upper quartile and most of each number of a row; activities by their names, others behind their group's (bytes_sent/gradient)"},
      {"/slowest_worker", "",
       "Of more than 10,000 workers: who computed longest in a step, and by how much longer than the median"},
      {"/links/*/name", "", "The busiest links, at most 64, by utilisation"},
      {"/links/*/bandwidth_Bps", "B/s", "Bandwidth of one direction"},
      {"/links/*/bytes", "B",
       "Bytes carried; of a collective that the end cut off, in proportion to its time"},
      {"/links/*/utilisation", "1", "Bytes over what it could have carried in the run"},
      {"/links_total", "1", "Links that carried anything"},
      {"/fidelity/*", "",
       "How the time of each kind of collective was found, why, whether that is exact, and how many there were"},
      {"/tables/*/columns", "", "What the algorithm decided, such as fusion groups: names of the columns"},
      {"/tables/*/rows", "", "One list for each row, a cell for each column"},
  };
}

}  // namespace

const std::vector<DocumentKey>& document_keys() {
  static const std::vector<DocumentKey> keys = [] {
    std::vector<DocumentKey> all = run_keys();
    for (const Curve& curve : curves())
      for (const CurveColumn& column : curve.columns)
        all.push_back({"/series/" + curve.series + "/*/" + column.name, column.unit,
                       column.definition + (column.when_empty.empty() ? "" : ". Null " + column.when_empty)});
    all.push_back(
        {"/notes/*", "",
         "What the result leaves out or assumes; of a real run, also what it does not take from its scenario"});
    return all;
  }();
  return keys;
}

RunContext context_of(const std::string& program) {
  RunContext context;
  context.program = program;
  context.version = version::kNumber;
  context.git_commit = version::kGitCommit;
  context.build_type = version::kBuildType;
  return context;
}

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

std::string version_text(const RunContext& context) {
  return fmt::format("{} {} ({}, {})", context.program, context.version,
                     context.git_commit.empty() ? "no commit" : context.git_commit, context.build_type);
}

nlohmann::ordered_json to_json(const RunContext& context) {
  return {{"program", context.program},
          {"version", context.version},
          {"git_commit", context.git_commit},
          {"build_type", context.build_type},
          {"host", context.host},
          {"date", context.date},
          {"wall_time_s", context.wall_time_s},
          {"peak_memory_bytes", context.peak_memory_bytes}};
}

}  // namespace simsgd
