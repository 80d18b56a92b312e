#include "analysis/questions/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/runner.hpp"
#include "analysis/runs/child_pool.hpp"
#include "scenarios/language/communication.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "scenarios/language/workload_section.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/plugin.hpp"
#include "sim/record.hpp"

namespace simsgd {

namespace {

constexpr const char* kFile = "explain";  // what errors in the scenario call it
constexpr int kSteps = 16;                // two rounds of what happens every eighth step
constexpr int kPeriod = 8, kMicroBatches = 4;

struct Framework {
  const char* name;
  Json algorithm, stack;
};

/// Horovod's settings are those of 0.21 and later (docs/stacks.md).
const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> all = {
      {"ddp", {{"name", "allreduce_sgd"}}, {{"name", "nccl"}}},
      {"fsdp", {{"name", "fsdp"}}, {{"name", "nccl"}}},
      {"zero2", {{"name", "fsdp"}, {"stage", 2}}, {{"name", "nccl"}}},
      {"horovod",
       {{"name", "allreduce_sgd"}},
       {{"name", "horovod"}, {"cycle", "1 ms"}, {"fusion", "128 MiB"}}},
      {"gloo", {{"name", "allreduce_sgd"}}, {{"name", "gloo"}}},
      {"mpi", {{"name", "allreduce_sgd"}}, {{"name", "mpi"}}}};
  return all;
}

/// A rate in Gb/s between a prefix and a suffix: 25 of "25gbe"; 0 where there is none.
double rate_in(const std::string& text, const std::string& prefix, const std::string& suffix) {
  if (!text.starts_with(prefix) || !text.ends_with(suffix) || text.size() <= prefix.size() + suffix.size())
    return 0;
  const auto rate =
      number_of_text<double>(text.substr(prefix.size(), text.size() - prefix.size() - suffix.size()));
  return rate && *rate > 0 && *rate <= 1e5 ? *rate : 0;
}

/// The section "cluster": null where the network has no such name.
Json cluster_of(const std::string& network) {
  if (network.ends_with(".json")) return {{"use", network}};
  // Not ethernet-1g.json: its hosts are those of one paper, with GPUs on a single lane of PCIe 1.0.
  if (const double rate = rate_in(network, "", "gbe"); rate > 0) {
    Json cluster = {{"use", "clusters/ethernet-10g.json"}, {"nic", {{"bandwidth", rate * 1e9 / 8}}}};
    if (rate == 1) cluster["gpus_per_node"] = 1;
    return cluster;
  }
  // The file's bandwidth is what payloads get of 100 Gb/s: 96 %.
  if (const double rate = rate_in(network, "ib", ""); rate > 0)
    return {{"use", "clusters/infiniband-100g.json"},
            {"nic", {{"bandwidth", rate * 1e9 / 8}, {"goodput", 0.96}}}};
  return nullptr;
}

const Framework* framework_of(const std::string& name) {
  if (name.empty()) return &frameworks().front();
  for (const Framework& each : frameworks())
    if (name == each.name) return &each;
  return nullptr;
}

void check(const ScalingQuestion& question) {
  std::vector<InputError> errors;
  constexpr double kMost = 1e12;  // of a workload's step_time and parameters
  const auto positive = [&](const char* option, double value, const char* remedy) {
    if (!(value > 0) || value > kMost)
      errors.push_back({option, "", value > 0 ? "must be at most 1e12" : "must be above 0",
                        fmt::format("{}", value), remedy});
  };
  positive("--parameters", question.parameters, "Write how many the network has, such as 110e6");
  positive("--step", question.step_s, "Write what a step takes on one GPU, such as 0.13s");
  if (question.gpus < 1 || question.gpus > kMostWorkers)
    errors.push_back({"--gpus", "", fmt::format("must be from 1 to {}", kMostWorkers),
                      std::to_string(question.gpus), "Write how many GPUs train together"});
  if (question.gpus_per_node && *question.gpus_per_node < 1)
    errors.push_back({"--gpus-per-node", "", "must be at least 1", std::to_string(*question.gpus_per_node),
                      "Write how many GPUs share a node, or leave it to the cluster file"});
  if (cluster_of(question.network).is_null())
    errors.push_back({"--network", "", "is not a network", question.network,
                      "Write 10gbe (TCP), ib100 (RDMA), another rate in Gb/s, or a cluster file (*.json)"});
  if (framework_of(question.framework) == nullptr)
    errors.push_back({"--framework", "", "is not a framework", question.framework,
                      which_there_are(question.framework, scaling_frameworks(), "Use")});
  if (!errors.empty()) throw ConfigError(errors);
}

Json document_of(const ScalingQuestion& question) {
  const Framework& framework = *framework_of(question.framework);
  Json cluster = cluster_of(question.network);
  cluster["workers"] = question.gpus;
  if (question.gpus_per_node) cluster["gpus_per_node"] = *question.gpus_per_node;
  // A step's time is measured on the user's GPU, not on the file's, so its memory says nothing.
  if (!question.network.ends_with(".json")) cluster["device"]["memory"] = 0;
  if (!question.network.ends_with(".json") || !question.framework.empty()) cluster["stack"] = framework.stack;
  return {{"name", fmt::format("{} GPUs on {}", question.gpus, question.network)},
          {"cluster", std::move(cluster)},
          {"workload", {{"step_time", question.step_s}, {"parameters", question.parameters}, {"batch", 1}}},
          {"learner", nullptr},
          {"algorithm", framework.algorithm},
          {"stop", {{"steps", kSteps}}},
          {"record", {{"timeline_events", 0}}}};
}

Scenario scenario_of(Json document) {
  JsonFiles files;
  files.put(kFile, std::move(document));
  return finished(load(files, kFile, {}, false));
}

/// What is wrong with the scenario, named by the option that it comes from.
ConfigError by_options(const ConfigError& error) {
  std::vector<InputError> all = error.errors();
  for (InputError& each : all) {
    if (each.file != kFile) continue;
    if (each.pointer == "/cluster/workers") {
      each = {"--gpus", "", each.problem, each.found, each.remedy};
    } else if (each.pointer == "/cluster/use") {
      each = {"--network", "", each.problem, each.found, each.remedy};
    } else if (each.pointer == "/workload/batch") {  // memory, which a batch of 1 takes too
      each = {
          "--parameters", "", each.problem, "",
          "Shard them with --framework fsdp, over more GPUs, or name a network by its rate, which has no device"};
    }
  }
  return ConfigError(std::move(all));
}

/// Square matrices with as many parameters, for what works on matrices.
Json matrices(const ScalingQuestion& question) {
  const int count = kUsualEqualLayers;
  const double side = std::max(1.0, std::round(std::sqrt(question.parameters / count)));
  Json layers = Json::array();
  for (int i = 0; i < count; ++i)
    layers.push_back({{"type", "fc"},
                      {"tensors", {{side, side}}},
                      {"forward", question.step_s / count / 3},
                      {"backward", question.step_s / count * 2 / 3}});
  return {{"layers", std::move(layers)}, {"layer_times_batch", 1}, {"batch", 1}};
}

/// One run of the question with something changed.
struct Variant {
  ScalingCase what;
  Json document;
  double work = 1;  ///< steps of the question in one of its steps
};

std::vector<Variant> remedies(const ScalingQuestion& question, const Json& base) {
  std::vector<Variant> all;
  const auto add = [&](const char* name, std::string label, const char* caveat, auto&& change,
                       double work = 1) {
    Variant variant{{name, std::move(label), caveat, question.gpus}, base, work};
    change(variant.document);
    all.push_back(std::move(variant));
  };
  const auto algorithm = [](Json chosen) {
    return [chosen = std::move(chosen)](Json& document) { document["algorithm"] = chosen; };
  };
  const std::string current = base["algorithm"]["name"];
  add("fp16_messages", "16-bit gradients", "sums are rounded",
      [](Json& document) { document["network"]["precision"] = "fp16"; });
  add(
      "accumulation", fmt::format("{} micro-batches a step", kMicroBatches), "a larger batch",
      [&](Json& document) {
        document["workload"]["step_time"] = question.step_s * kMicroBatches;
        document["workload"]["batch"] = kMicroBatches;
        document["workload"]["micro_batches"] = kMicroBatches;
      },
      kMicroBatches);
  add("local_sgd", fmt::format("local SGD, averaged every {} steps", kPeriod), "models differ in between",
      algorithm({{"name", "local_sgd"}, {"period", kPeriod}}));
  add("powersgd", "PowerSGD of rank 4", "an approximation; taken for square layers", [&](Json& document) {
    document["algorithm"] = {{"name", "powersgd"}, {"rank", 4}};
    document["workload"] = matrices(question);
  });
  add("topk", "the largest 1 % of each gradient", "an approximation, added up on hosts",
      algorithm({{"name", "topk_sgd"}, {"density", 0.01}}));
  if (current != "fsdp") {
    add("zero2", "ZeRO-2 (gradients and optimizer sharded)", "saves memory, not bytes",
        algorithm({{"name", "fsdp"}, {"stage", 2}}));
    add("fsdp", "FSDP (parameters sharded too)", "saves memory; half as many bytes again",
        algorithm({{"name", "fsdp"}}));
  } else {
    add("ddp", "DDP (nothing sharded)", "the whole model in each GPU's memory",
        algorithm({{"name", "allreduce_sgd"}}));
  }
  return all;
}

/// 1, 2, 4, ... GPUs, one and two nodes, and what is asked.
std::vector<int> sizes_of(int gpus, int per_node) {
  std::vector<int> sizes = {per_node, 2 * per_node, gpus};
  for (int size = 1; size < gpus; size *= 2) sizes.push_back(size);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  sizes.erase(std::upper_bound(sizes.begin(), sizes.end(), gpus), sizes.end());
  return sizes;
}

int nodes_of(int gpus, int per_node) { return (gpus + per_node - 1) / per_node; }

/// Runs them, each in a child, and hands their metrics over in order; {"impossible": ...} where one cannot
/// be.
class Runs {
 public:
  explicit Runs(const ScalingSettings& settings) : settings_(settings) {}

  std::vector<OrderedJson> documents(const std::vector<Json>& asked, bool intervals) {
    std::vector<OrderedJson> all(asked.size());
    run_in_children(
        asked.size(), {.jobs = settings_.jobs, .interrupted = settings_.interrupted},
        [&](std::size_t i) { return run(asked[i], intervals); },
        [&](std::size_t i, const ChildEnd& end) {
          if (end.kind != ChildEnd::Kind::answered)
            throw RunError(end.kind == ChildEnd::Kind::threw ? end.text : "A run " + end.text + ".");
          all[i] = OrderedJson::parse(end.text);
          if (settings_.progress) settings_.progress(++done_);
        });
    return all;
  }

 private:
  static std::string run(const Json& document, bool intervals) {
    try {
      const Scenario scenario = scenario_of(document);
      const Job job = make_job(scenario);
      OrderedJson made =
          (intervals ? run_with_intervals(scenario, job, {}, {.jobs = 1}) : run_job(scenario, job, {}, true))
              .document;
      OrderedJson read;  // of thousands of workers there are megabytes beside it
      for (const char* part : {"metrics", "intervals", "notes"})
        if (made.contains(part)) read[part] = std::move(made[part]);
      return read.dump();
    } catch (const ConfigError& error) {
      const InputError& first = error.errors().front();
      // What is wrong is what the change needs, not a value at a place that nobody wrote.
      return Json{{"impossible", first.problem}}.dump();
    } catch (const RunError& error) {
      return Json{{"impossible", error.what()}}.dump();
    }
  }

  const ScalingSettings& settings_;
  std::size_t done_ = 0;
};

double number(const OrderedJson& document, const std::string& metric) {
  const OrderedJson& metrics = document.at("metrics");
  const auto found = metrics.find(metric);
  return found == metrics.end() || !found->is_number() ? 0.0 : found->get<double>();
}

void fill(ScalingCase& made, const OrderedJson& document, double step_s, double work, int per_node) {
  made.nodes = nodes_of(made.gpus, per_node);
  if (document.contains("impossible")) {
    made.impossible = document.at("impossible").get<std::string>();
    return;
  }
  made.step_s = number(document, "iteration_time_mean_s") / work;
  made.efficiency = step_s / made.step_s;
}

void read_step(ScalingAnswer& answer, const OrderedJson& document) {
  for (const ActivityInfo& each : activities())
    if (const double seconds = number(document, activity_metric(each.activity)); seconds > 0)
      answer.parts.push_back({activity_metric(each.activity), each.label, seconds});
  for (const TrafficInfo& each : traffics()) answer.hidden_s += number(document, hidden_metric(each.traffic));
  answer.sent_bytes = number(document, "bytes_sent_per_worker_per_step");
  if (const auto intervals = document.find("intervals"); intervals != document.end())
    for (const OrderedJson& each : intervals->value("iteration_time_mean_s", OrderedJson::array()))
      answer.step_intervals.push_back({each.at("level"), each.at("low"), each.at("high")});
  for (const OrderedJson& note : document.value("notes", OrderedJson::array()))
    answer.notes.push_back(note.is_string() ? note.get<std::string>() : note.value("text", ""));
}

std::string taken_for_granted(const ScalingQuestion& question, const Json& cluster) {
  std::string text = "a gradient has 4 bytes for each parameter";
  if (!question.network.ends_with(".json") && cluster.at("gpus_per_node").get<int>() > 1)
    text += fmt::format(
        "; inside a node a GPU sends and receives {}/s, as over PCIe. For NVLink, or a network of your own, name a cluster file: --network clusters/dgx-h100.json, or another of simsgd list clusters",
        human_bytes(options_of<GpuLink>(cluster.at("gpu_link")).bandwidth_Bps));
  return text;
}

/// Efficiencies with the NICs so much faster, 2^octave.
std::vector<double> efficiencies(const Json& base, double nic_Bps, const std::vector<double>& octaves,
                                 double step_s, Runs& runs) {
  std::vector<Json> documents;
  for (const double octave : octaves) {
    documents.push_back(base);
    documents.back()["cluster"]["nic"]["bandwidth"] = nic_Bps * std::exp2(octave);
  }
  std::vector<double> all;
  for (const OrderedJson& document : runs.documents(documents, false)) {
    if (document.contains("impossible")) throw RunError(document.at("impossible").get<std::string>());
    all.push_back(step_s / number(document, "iteration_time_mean_s"));
  }
  return all;
}

/// The slowest NIC that keeps what is wanted, to 0.6 %: more bandwidth is never slower. Points of a round run
/// side by side.
void find_bandwidth(ScalingAnswer& answer, const Json& base, const Nic& nic, Runs& runs) {
  constexpr int kPoints = 4, kRounds = 5;
  const double nic_Bps = nic.bandwidth_Bps;
  constexpr double kLeast = -10;
  double low = kLeast, high = 16;  // octaves: of 10 Gb/s these are 10 Mb/s and 655 Tb/s, which is endless
  answer.limit = efficiencies(base, nic_Bps, {high}, answer.question.step_s, runs).front();
  if (answer.limit < kWantedEfficiency) answer.wanted = kWantedEfficiency * answer.limit;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> octaves;
    for (int i = 1; i <= kPoints; ++i) octaves.push_back(low + (high - low) * i / (kPoints + 1));
    const std::vector<double> kept = efficiencies(base, nic_Bps, octaves, answer.question.step_s, runs);
    for (int i = 0; i < kPoints; ++i) {
      if (kept[static_cast<std::size_t>(i)] < answer.wanted) {
        low = octaves[static_cast<std::size_t>(i)];
      } else {
        high = octaves[static_cast<std::size_t>(i)];
        break;
      }
    }
  }
  answer.wanted_Bps = nic_Bps * std::exp2(high) * nic.count;
  answer.wanted_is_least = low == kLeast;
}

}  // namespace

std::vector<std::string> scaling_frameworks() {
  std::vector<std::string> names;
  for (const Framework& each : frameworks()) names.emplace_back(each.name);
  return names;
}

ScalingAnswer answer(const ScalingQuestion& question, const ScalingSettings& settings) {
  check(question);
  const Json base = document_of(question);
  const Scenario scenario = [&] {
    try {
      Scenario made = scenario_of(base);
      make_job(made);  // all that is wrong, before anything runs
      return made;
    } catch (const ConfigError& error) {
      throw by_options(error);
    }
  }();
  ScalingAnswer answer;
  answer.question = question;
  const Json& cluster = scenario.resolved.at("cluster");
  answer.cluster = cluster.at("name").get<std::string>();
  answer.gpus_per_node = cluster.at("gpus_per_node").get<int>();
  const auto nic = options_of<Nic>(cluster.at("nic"));
  answer.nic_Bps = nic.bandwidth_Bps * nic.count;
  answer.scenario = OrderedJson::parse(scenario.resolved.dump());

  Runs runs(settings);
  const OrderedJson asked = runs.documents({base}, true).front();
  answer.asked = {"asked", "as asked", "", question.gpus};
  fill(answer.asked, asked, question.step_s, 1, answer.gpus_per_node);
  if (!answer.asked.impossible.empty()) throw RunError(answer.asked.impossible);
  read_step(answer, asked);
  answer.notes.insert(answer.notes.begin(), taken_for_granted(question, cluster));

  std::vector<Variant> all = remedies(question, base);
  const std::size_t tried = all.size();
  for (const int size : sizes_of(question.gpus, answer.gpus_per_node)) {
    all.push_back({{"size", "", "", size}, base});
    all.back().document["cluster"]["workers"] = size;
  }
  std::vector<Json> documents;
  for (const Variant& each : all) documents.push_back(each.document);
  const std::vector<OrderedJson> made = runs.documents(documents, false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    fill(all[i].what, made[i], question.step_s, all[i].work, answer.gpus_per_node);
    (i < tried ? answer.remedies : answer.sizes).push_back(all[i].what);
  }
  std::ranges::stable_sort(answer.remedies, [](const ScalingCase& a, const ScalingCase& b) {
    return std::pair(!a.impossible.empty(), a.step_s) < std::pair(!b.impossible.empty(), b.step_s);
  });
  if (answer.asked.nodes > 1) find_bandwidth(answer, base, nic, runs);
  return answer;
}

}  // namespace simsgd
