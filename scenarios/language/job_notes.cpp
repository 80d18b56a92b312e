#include "scenarios/language/job_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/notes.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

/// A target that an evaluation may show so much later than it was met, as a share of its time, is worth a
/// note.
constexpr double kLateTarget = 0.1;

class UnusedOptions {
 public:
  UnusedOptions(const Reader& reader, Job& job) : reader_(reader), job_(job) {}

  void find() {
    if (job_.learner == nullptr) without_learner();
    const Json& failures = reader_.value("/failures");
    if (!failures.contains("mean_time_between") && failures["crashes"].empty() && failures["restart"] != 0)
      unused("/failures/restart", "nothing crashes");
    const Json& links = reader_.value("/network")["slow_links"];
    for (std::size_t i = 0; i < links.size() && !job_.network.has_jitter(); ++i)
      if (links[i].contains("jitter_factor"))
        unused(child("/network/slow_links", i) + "/jitter_factor", "/network/jitter is 0");
    const Network& network = job_.cluster.network;
    if (job_.cluster.device.communication_share && job_.cluster.gpus_per_node == 1 &&
        *job_.cluster.device.communication_share * network.inside.bandwidth_Bps >=
            network.between.bandwidth_Bps)
      unused("/cluster/device/communication_share",
             "with one GPU per node messages cross the nic alone, and what is left of gpu_link is no less");
    stragglers();
    workload();
  }

 private:
  void unused(const std::string& pointer, const std::string& why) {
    add_note(job_.notes, {"unused-option", fmt::format("{} has no effect: {}", pointer, why)});
  }

  void without_learner() {
    const Json& written = reader_.value("/optimizer");
    thread_local std::map<Json, Json> of_names;
    Json& defaults = of_names[written["name"]];
    if (defaults.is_null())
      defaults = with_defaults(resolved_schema()["properties"]["optimizer"], {{"name", written["name"]}});
    Json optimizer = defaults;
    for (const char* key : {"momentum", "clip_norm"})  // take memory or time, learner or not
      if (written.contains(key)) optimizer[key] = written[key];
    if (written != optimizer) unused("/optimizer", "there is no learner");
    if (const Json& record = reader_.value("/record"); record["evaluate_every"] != 0)
      unused("/record/evaluate_every", "there is no learner");
  }

  void stragglers() {
    const Json& stragglers = reader_.value("/stragglers");
    for (std::size_t i = 0; i < stragglers.size(); ++i) {
      const Json& each = stragglers[i];
      const std::string pointer = child("/stragglers", i);
      if (each["from_step"].get<std::uint64_t>() > job_.stop.steps)
        unused(pointer, fmt::format("it begins at step {}, and the run ends after {}",
                                    each["from_step"].dump(), job_.stop.steps));
      if (each["probability"] == 0) unused(pointer, "its probability is 0");
    }
  }

  void workload() {
    const Json& workload = reader_.value("/workload");
    if (!workload.is_object() || !workload.contains("layers")) return;
    const auto own = [&workload] {
      return std::ranges::any_of(workload["layers"], [](const Json& layer) {
        return layer.contains("forward") || layer.contains("backward");
      });
    };
    for (const char* key : {"layer_times_batch", "measured_on", "host_gap"})
      if (workload.contains(key) && !own())
        unused(std::string("/workload/") + key, "no layer has a time of its own");
  }

  const Reader& reader_;
  Job& job_;
};

/// Share of its time by which a target may have been met before the evaluation that showed it.
std::optional<double> lateness(const Job& job, const RunRecord& record) {
  if (job.target.metric != Target::Metric::test_accuracy && job.target.metric != Target::Metric::test_loss)
    return std::nullopt;
  for (const MetricValue& metric : metric_values(record, job)) {
    if (metric.name != "time_to_target_s" || !(metric.value > 0)) continue;
    double before_s = 0;
    for (const EvaluationPoint& point : record.evaluations)
      if (point.time_s < metric.value) before_s = point.time_s;
    return 1 - before_s / metric.value;
  }
  return std::nullopt;
}

}  // namespace

void note_device_time(const Reader& reader, const Device& device, const Workload& workload,
                      int measured_samples, std::vector<Note>& notes) {
  const double samples = static_cast<double>(workload.batch) / workload.micro_batches;
  const Json& section = reader.value("/workload");
  const char* given = !section.is_object()            ? ""
                      : section.contains("step_time") ? "step_time"
                      : section.contains("step_cost") ? "step_cost"
                                                      : "";
  if (*given != '\0')
    return add_note(
        notes,
        {"assumed-layers",
         fmt::format(
             "the workload's {} is the same on every device; {} equal layers stand for the network: how much communication hides behind the backward pass depends on them (/workload/equal_layers); activations are not counted as memory",
             given, workload.layers.size())});
  if (measured_samples > 0 && samples != measured_samples)
    add_note(notes,
             {"extrapolated-device-time",
              fmt::format("a step of {} samples on {} is taken in proportion from one measured with {}",
                          human_number(samples), device.name, human_number(measured_samples))});
  const bool own_times = section.is_object() && std::ranges::all_of(section["layers"], [](const Json& layer) {
                           return layer.contains("forward") || layer.contains("backward");
                         });
  if (measured_samples == 0 && !own_times)
    add_note(
        notes,
        {"modelled-device-time",
         fmt::format(
             "no step was measured on {}: it is modelled from FLOPs at {:.4g} % of the peak and from memory traffic",
             device.name, 100 * device.efficiency)});
}

std::optional<Note> note_on_host_costs(const Cluster& cluster) {
  const HostCosts& host = cluster.host;
  const std::pair<const char*, const Cost&> costs[] = {{"launch", host.launch_s},
                                                       {"pack", host.pack_s_per_byte},
                                                       {"staged", host.staging_Bps},
                                                       {"reduce", host.reduce_s_per_byte},
                                                       {"tensor", host.tensor_s}};
  std::vector<std::string> unknown;
  for (const auto& [key, cost] : costs)
    if (!cost.known()) unknown.push_back(fmt::format("\"host.{}\"", key));
  if (cluster.workers() == 1 || unknown.empty()) return std::nullopt;
  return Note{
      "unknown-cost",
      fmt::format(
          "the hosts' work in communication takes no time as far as it is unknown: cluster {} has no {}",
          cluster.name, fmt::join(unknown, ", "))};
}

std::optional<Note> note_on_latency(const Cluster& cluster) {
  int last = -1;
  for (int rank = 0; rank < cluster.workers() && last < 0; ++rank)
    if (cluster.node_of_rank(rank) != cluster.node_of_rank(0)) last = rank;
  if (last < 0) return std::nullopt;  // one node
  const int from = cluster.endpoint_of_rank.front(),
            to = cluster.endpoint_of_rank[static_cast<std::size_t>(last)];
  if (cluster.network.message_cost(from, to, 1).alpha_s + cluster.host.message_s > 0) return std::nullopt;
  return Note{
      "zero-latency",
      fmt::format(
          "latency between nodes is 0 in cluster {}, which no network has (/cluster/nic/latency): messages take none, except what the cluster's collectives set themselves",
          cluster.name)};
}

void note_job(const Reader& reader, Job& job) {
  const Distribution& factor = job.workload.compute_factor;
  if (factor.kind != Distribution::Kind::constant) {
    const Json& workload = reader.value("/workload");
    const double mean = factor.mean();
    add_note(
        job.notes,
        {"workload-imbalance",
         fmt::format(
             "the workload's own {} makes steps longer and shorter, stragglers apart: a tenth takes below {:.2f} of the mean, a tenth above {:.2f}",
             workload.contains("compute_time") ? "compute_time" : "compute_factor",
             factor.quantile(0.1) / mean, factor.quantile(0.9) / mean)});
  }
  constexpr double kSlowest_Bps = 7000;  // a modem of 1998: 56 kb/s
  const Network& network = job.cluster.network;
  for (const auto& [key, link] : {std::pair("nic", &network.between), std::pair("gpu_link", &network.inside)})
    if (job.workers() > 1 && link->bandwidth_Bps > 0 && link->bandwidth_Bps < kSlowest_Bps)
      add_note(
          job.notes,
          {"slow-link",
           fmt::format(
               "/cluster/{}/bandwidth leaves {:.4g} bytes per second, less than a modem: numbers without a unit are in SI. Write \"10 Gbps\" for 10 Gb/s",
               key, link->bandwidth_Bps)});
  const Json& algorithm = reader.value("/algorithm");
  const int parts = algorithm.value("micro_batches", 1);
  if (parts > job.workload.batch)
    add_note(job.notes,
             {"batch-below-one",
              fmt::format(
                  "each of the {} micro-batches of a step has {:.3g} samples of the workload, less than one",
                  parts, static_cast<double>(job.workload.batch) / parts)});
  UnusedOptions(reader, job).find();
}

std::vector<Note> notes_of_run(const Json& scenario, const Job& job, const RunRecord& record) {
  std::vector<Note> notes;
  if (record.clock != "wall" && scenario.value("compute", "") == "real")
    add_note(
        notes,
        {"unused-option",
         "/compute has no effect: a simulation takes the workload's times; simsgd-measure takes the time that computing takes"});
  const Json network = scenario.value("network", Json::object());
  Json standing;
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    const std::string op = op_name(plugin.op);
    if (!network.contains(op)) continue;
    if (standing.is_null()) standing = standing_policies(scenario.at("cluster"));
    const bool performed = std::ranges::any_of(
        record.fidelities, [&](const FidelityRecord& each) { return each.operation.starts_with(op + " "); });
    if (!performed && network[op] != standing[op])
      add_note(notes, {"unused-option", fmt::format("/network/{} has no effect: the run performs none", op)});
  }
  const bool silent = std::ranges::all_of(record.workers, [](const WorkerRecord& each) {
    return std::ranges::all_of(each.bytes_sent, [](double sent) { return sent == 0; });
  });
  if (job.workers() > 1 && silent)
    add_note(notes,
             {"no-exchange",
              "no worker sent anything: the run ends before the method's first exchange, or it has none"});
  if (const std::optional<double> late = lateness(job, record); late && *late > kLateTarget)
    add_note(
        notes,
        {"coarse-target",
         fmt::format(
             "time_to_target_s is when an evaluation showed the target and may be late by up to {:.0f} %: evaluate more often to know it better",
             100 * *late)});
  return notes;
}

}  // namespace simsgd
