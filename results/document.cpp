#include "results/document.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "results/curves.hpp"
#include "results/summary.hpp"
#include "scenarios/language/job_notes.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/activities.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

using Document = nlohmann::ordered_json;

constexpr std::size_t kMostLinks = 64;
constexpr int kMostListedWorkers = 1 << 17;  // a row is some kilobytes: beyond, as in a brief document

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

std::string activity_key(std::size_t index) { return activity_metric(static_cast<Activity>(index)); }
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
  return {{activity_metric(Activity::wait), histogram_part(worker.step_wait)},
          {activity_metric(Activity::straggle), histogram_part(worker.step_straggle)},
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
  part["communication_overhead_s"] = by_kind(worker.overhead_s, traffic_key);
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

Document links_part(const RunRecord& record, std::size_t most) {
  std::vector<LinkRecord> links = record.links;
  std::sort(links.begin(), links.end(), [&record](const LinkRecord& a, const LinkRecord& b) {
    const double busy_a = utilisation(a, record.end_s), busy_b = utilisation(b, record.end_s);
    return busy_a != busy_b ? busy_a > busy_b : a.name < b.name;
  });
  Document part = Document::array();
  for (std::size_t i = 0; i < std::min(most, links.size()); ++i)
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

// All that stands between metrics and series, in the document's order; `workers` puts its own there.
Document with_parts(const RunContext& context, const Scenario& scenario, const Job& job,
                    const RunRecord& record, Document shown_scenario, std::size_t links,
                    const std::function<void(Document&)>& workers) {
  Document document;
  document["schema_version"] = kSchemaVersion;
  document["context"] = to_json(context);
  document["scenario"] = std::move(shown_scenario);
  document["clock"] = record.clock;
  document["one_device"] = {{"step_s", job.workload.one_device_step_s},
                            {"source", job.workload.one_device_source}};
  document["metrics"] = metrics_part(record, job);
  document["memory"] = memory_part(job);
  workers(document);
  document["links"] = links_part(record, links);
  document["links_total"] = record.links.size();
  document["fidelity"] = fidelity_part(record);
  document["tables"] = tables_part(record);
  document["series"] = series_of(record);
  document["notes"] = notes_part(scenario, job, record);
  return document;
}

using Values = std::map<std::string, std::vector<double>>;

// Activities go by their own names; the other groups' are told apart by the group.
Values values_of(const RunRecord& record) {
  Values values;
  const auto add = [&values](const std::string& group, const auto& numbers, auto name) {
    for (std::size_t i = 0; i < numbers.size(); ++i) values[group + name(i)].push_back(numbers[i]);
  };
  for (const WorkerRecord& worker : record.workers) {
    double total = 0;
    for (const double seconds : worker.activity_s) total += seconds;
    values["steps"].push_back(static_cast<double>(worker.steps));
    values["samples"].push_back(worker.samples);
    values["end_s"].push_back(worker.end_s);
    values["time_s"].push_back(total);
    add("", worker.activity_s, activity_key);
    add("communication_s/", worker.communication_s, traffic_key);
    add("communication_exposed_s/", worker.exposed_s, traffic_key);
    add("communication_overhead_s/", worker.overhead_s, traffic_key);
    add("bytes_sent/", worker.bytes_sent, traffic_key);
    values["staleness/mean"].push_back(
        worker.staleness_count > 0 ? worker.staleness_sum / static_cast<double>(worker.staleness_count)
                                   : 0.0);
    values["staleness/max"].push_back(static_cast<double>(worker.staleness_max));
  }
  return values;
}

Values values_of(const Document& workers) {
  Values values;
  for (const Document& worker : workers) {
    for (const auto& [name, value] : worker.items()) {
      if (value.is_number() && name != "rank" && name != "node") values[name].push_back(value);
      if (!value.is_object() || name == "distributions") continue;
      const std::string prefix = name == "time_by_activity" ? "" : name + "/";
      for (const auto& [part, number] : value.items())
        if (part != "count") values[prefix + part].push_back(number);
    }
  }
  return values;
}

Document spreads_part(Values&& values) {
  Document part = Document::object();
  for (auto& [name, each] : values) {
    Document& spread = part[name];
    for (const double q : {0.0, 0.25, 0.5, 0.75, 1.0}) spread.push_back(quantile(each, q));
  }
  return part;
}

// As much of a worker's row as tells who is slow.
Document busy_part(const RunRecord& record) {
  Document part = Document::array();
  for (std::size_t rank = 0; rank < record.workers.size(); ++rank) {
    const WorkerRecord& worker = record.workers[rank];
    Document time = Document::object();
    for (const Activity activity : {Activity::compute, Activity::straggle})
      time[activity_metric(activity)] = worker.activity_s[static_cast<std::size_t>(activity)];
    part.push_back({{"rank", rank}, {"steps", worker.steps}, {"time_by_activity", std::move(time)}});
  }
  return part;
}

void add_spreads(Document& document, const RunRecord& record) {
  document["worker_spreads"] = spreads_part(values_of(record));
  document["slowest_worker"] = slowest_worker_text(busy_part(record));
}

}  // namespace

nlohmann::ordered_json make_document(const RunContext& context, const Scenario& scenario, const Job& job,
                                     const RunRecord& record) {
  return with_parts(context, scenario, job, record, Document::parse(completed(scenario, job).dump()),
                    kMostLinks, [&](Document& document) {
                      if (job.workers() <= kMostListedWorkers)
                        document["workers"] = workers_part(record, job);
                      else
                        add_spreads(document, record);
                    });
}

nlohmann::ordered_json make_brief_document(const RunContext& context, const Scenario& scenario,
                                           const Job& job, const RunRecord& record) {
  return with_parts(context, scenario, job, record, nullptr, kBriefLinks,
                    [&](Document& document) { add_spreads(document, record); });
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

}  // namespace simsgd
