#include "analysis/calibration/log_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/calibration/uncertainty.hpp"
#include "scenarios/language/json_source.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/field.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/operation.hpp"
#include "sim/stacks/stack.hpp"
#include "traces/import.hpp"

namespace simsgd {

namespace {

constexpr double kFastestInside_Bps = 900e9;  // NVLink 5, one way (NVIDIA's data sheets)
constexpr double kFastestNic_Bps = 100e9;     // a NIC of 800 Gb/s for each GPU (ConnectX-8)
constexpr double kPcie_Bps = 64e9;            // PCIe 5.0 x16, one way
constexpr int kStarts = 20;                   // with fewer the fit to 2 and 4 A100 ends in a worse place

Json parameter(const std::string& name, const std::vector<std::string>& pointers,
               const std::vector<double>& factors, double low, double high, const std::string& source,
               bool a_time = false) {
  Json made = {{"name", name}, {"low", low}, {"high", high}, {"source", source}};
  for (const std::string& pointer : pointers) made["pointers"].push_back("/cluster" + pointer);
  if (!factors.empty()) made["factors"] = factors;
  if (a_time) made["scales"] = "with_time";
  return made;
}

/// A link is half to twice as fast as what the ranks passed on at best, where sizes reach far enough to tell.
Json link_parameters(const LogMachine& machine) {
  Json all = Json::array();
  const auto add = [&](const char* name, const char* pointer, double measured_Bps, bool cut, double fastest,
                       const char* sheet) {
    const double twice = 2 * measured_Bps;
    all.push_back(
        parameter(name, {pointer}, {}, measured_Bps / 2, cut ? std::max(fastest, twice) : twice,
                  cut ? fmt::format("half the largest bus bandwidth that was measured, and {}", sheet)
                      : "half to twice the largest bus bandwidth that was measured"));
  };
  const bool none_inside = machine.inside_Bps == 0;
  if (machine.gpus_per_node > 1)
    add("bandwidth in the node", "/gpu_link/bandwidth",
        none_inside ? machine.between_Bps : machine.inside_Bps, none_inside || machine.inside_cut > 0,
        kFastestInside_Bps, "NVLink 5");
  if (machine.nodes > 1)
    add("bandwidth between nodes", "/nic/bandwidth", machine.between_Bps, machine.between_cut > 0,
        kFastestNic_Bps * machine.gpus_per_node, "NICs of 800 Gb/s");
  return all;
}

/// A way of NCCL's as its own tuning model has it.
struct TunedWay {
  std::string protocol;
  bool tree = false;
  double launch_s = 0, latency_s = 0, between_s = 0, share = 0;
};

std::vector<TunedWay> tuned_ways(const LogMachine& machine, const char* inside) {
  std::vector<TunedWay> ways;
  const StackContext context{.gpu_link_Bps = machine.gpus_per_node > 1 ? 1.0 : 0.0,
                             .nic_Bps = 1,
                             .workers = *machine.workers.rbegin(),
                             .gpus_per_node = machine.gpus_per_node};
  for (const char* protocol : {"ll", "ll128", "simple"})
    for (const bool tree : {false, true}) {
      const Stack stack = make_stack({{"name", "nccl"},
                                      {"inside", inside},
                                      {"protocol", protocol},
                                      {"algorithm", tree ? "tree" : "ring"}},
                                     context);
      const Json& way = stack.collectives.front().second.at("fastest").at(0);  // of all_reduce
      const double latency_s = way.at("step_latency");
      ways.push_back({protocol, tree, way.at("launch"), latency_s,
                      latency_s + way.at("between_latency").get<double>(), way.at("bandwidth_share")});
    }
  return ways;
}

/// What a protocol's lines have of data, beside flags (NCCL's sources: 4 of 8 bytes, 120 of 128): it cannot
/// pass on more of a link. Over PCIe host memory bounds all, and the fitted link is not the wire.
double payload_share(std::string_view protocol) { return protocol == "ll" ? 0.5 : 120.0 / 128; }

/// NCCL's stack, which takes what its own estimate says, or what is the fastest. Launches, latencies and
/// shares are so many times those of NCCL's own model, which tells how ring and tree differ. Several numbers
/// of ranks in a node tell protocols apart: each has factors of its own, but LL128 where the estimate
/// chooses, which few sizes then go by. Else one factor on the launches, and on the latencies, of all: fitted
/// to 8 and 16 A100 it misses 32 by 9 %, factors of each protocol by 15 %. `own`: with NCCL's own numbers,
/// but for one factor on all launches and latencies, which few sizes tell.
Json stack_model(const LogMachine& machine, const char* inside, bool by_estimate, bool own) {
  const bool pcie = std::string_view(inside) == "pcie";
  const bool has_inside = machine.gpus_per_node > 1, has_between = machine.nodes > 1;
  const std::vector<TunedWay> ways = tuned_ways(machine, inside);
  const std::string source = "NCCL's tuning model";
  Json parameters = Json::array();
  using Numbers = std::vector<std::pair<const char*, double TunedWay::*>>;
  const auto times_nccl = [&](const std::vector<std::string>& protocols, const std::string& what,
                              const Numbers& numbers, double low, double high) {
    std::vector<std::string> pointers;
    std::vector<double> factors;
    for (const auto& [key, value] : numbers)
      for (const TunedWay& way : ways) {
        if (std::ranges::find(protocols, way.protocol) == protocols.end()) continue;
        pointers.push_back("/stack/" + way.protocol + (way.tree ? "/tree/" : "/ring/") + key);
        factors.push_back(way.*value);
      }
    const bool a_share = std::string_view(numbers.front().first) == "share";
    const double most = a_share ? high / *std::ranges::max_element(factors) : high;
    const std::string of = protocols.size() == 1 ? protocols.front() + ": " : "";
    parameters.push_back(
        parameter(of + what + ", times NCCL's", pointers, factors, low, most, source, !a_share));
  };
  const Numbers launches = {{"launch", &TunedWay::launch_s}},
                inside_nodes = {{"latency", &TunedWay::latency_s}},
                between = {{"between_latency", &TunedWay::between_s}};
  const auto add_times = [&](const std::vector<std::string>& protocols) {
    times_nccl(protocols, "launches", launches, 0.2, 5);
    if (has_inside) times_nccl(protocols, "latencies in a node", inside_nodes, 0.2, 5);
    if (has_between) times_nccl(protocols, "latencies between nodes", between, 0.2, 10);
  };
  std::vector<std::string> protocols = {"ll", "ll128", "simple"};
  if (pcie) protocols.erase(protocols.begin() + 1);
  const bool apart =
      std::ranges::count_if(machine.workers, [&](int each) { return each <= machine.gpus_per_node; }) > 1;
  if (own) {
    Numbers all = launches;
    if (has_inside) all.insert(all.end(), inside_nodes.begin(), inside_nodes.end());
    if (has_between) all.insert(all.end(), between.begin(), between.end());
    times_nccl(protocols, "launches and latencies", all, 0.2, 5);
    protocols.clear();
  } else if (!apart) {
    add_times(protocols);
  }
  for (const std::string& protocol : protocols) {
    const bool few_sizes = by_estimate && protocol == "ll128";
    if (apart && !few_sizes) add_times({protocol});
    if (apart && protocol == "ll")
      parameters.push_back(parameter("ll: launch of filled threads", {"/stack/ll/filled_launch"}, {}, 10e-9,
                                     7e-6, "up to NCCL's launch", true));
    if (apart && protocol != "ll")
      parameters.push_back(parameter(protocol + ": kernels' passes over the vector",
                                     {"/stack/" + protocol + "/payload"}, {}, 1e-14, 1e-10,
                                     "100 TB/s to 10 GB/s", true));
    if (protocol != "simple" && !(apart && few_sizes))
      times_nccl({protocol}, "shares", {{"share", &TunedWay::share}}, 0.02,
                 pcie ? 1 : payload_share(protocol));
  }
  if (has_between && !own)
    parameters.push_back(parameter("simple: share of trees", {"/stack/simple/tree/share"}, {}, 0.46, 1,
                                   "half of NCCL's 0.92, and all"));
  for (Json& each : link_parameters(machine)) parameters.push_back(std::move(each));
  return {{"name", fmt::format("NCCL's stack{}{}{}", pcie ? ", PCIe in the node" : "",
                               by_estimate ? "" : ", the fastest", own ? ", its own numbers" : "")},
          {"set",
           {{"/cluster/stack",
             {{"name", "nccl"}, {"inside", inside}, {"choice", by_estimate ? "nccl" : "fastest"}}}}},
          {"parameters", std::move(parameters)}};
}

Json ring_model(const LogMachine& machine) {
  Json parameters = Json::array(), set = Json::object();
  for (const std::string& operation : machine.operations)
    if (operation == "all_reduce" || operation == "all_gather" || operation == "reduce_scatter")
      set["/cluster/collectives"][operation] = Json::array({{{"schedule", "ring"}}});
  std::vector<std::string> launches, latencies;
  for (const auto& each : set["/cluster/collectives"].items()) {
    launches.push_back("/collectives/" + each.key() + "/0/launch");
    latencies.push_back("/collectives/" + each.key() + "/0/step_latency");
  }
  parameters.push_back(
      parameter("launch", launches, {}, 0.1e-6, 10e-3, "a launch, or a TCP round trip", true));
  parameters.push_back(parameter("latency of a step", latencies, {}, 10e-9, 1e-3, "NVLink to TCP", true));
  for (Json& each : link_parameters(machine)) parameters.push_back(std::move(each));
  return {{"name", "one ring"}, {"set", std::move(set)}, {"parameters", std::move(parameters)}};
}

/// Numbers of ranks that can be left out, and the others still tell every number of the model.
bool can_leave_workers_out(const LogMachine& machine) {
  const auto several =
      std::ranges::count_if(machine.workers, [&](int each) { return each > machine.gpus_per_node; });
  return machine.workers.size() >= 3 && (machine.nodes == 1 || several >= 2);
}

Json cluster_of(const LogMachine& machine) {
  Json cluster = {
      {"name", "calibrated"},
      {"device", {{"use", machine.device}}},
      {"gpus_per_node", machine.gpus_per_node},
      {"gpu_link", {{"bandwidth", 100e9}, {"latency", 0}}},
      {"nic", {{"bandwidth", 10e9}, {"latency", 0}}},
      {"topology", {{"name", "star"}}},
      {"host",
       {{"copy", 0},
        {"merge", 70e-9},
        {"scatter_add", 4e-9},
        {"staged", false},
        {"tensor", 0},
        {"pack", 0},
        {"reduce", 0},
        {"launch", 0}}},
      {"source",
       "Made of logs by simsgd calibrate. Latencies of links and costs of hosts are 0: what there is of them is in the fitted numbers. merge and scatter_add as in clusters/infiniband-100g.json."}};
  if (machine.nodes == 1) cluster["nodes"] = 1;  // of what is between nodes the logs tell nothing
  return cluster;
}

}  // namespace

bool is_spec(const std::string& path) {
  const FoundFile found = find_file(path, "");
  if (found.path.empty() || !found.path.ends_with(".json"))
    return found.path.empty() && path.ends_with(".json");
  const Json json = Json::parse(read_file(found.path), nullptr, false, true);
  return json.is_discarded() || (json.is_object() && (json.contains("data") || json.contains("use")));
}

LogSpec spec_of_logs(const std::vector<std::string>& logs, const LogSettings& settings) {
  std::vector<Measurement> rows = import_files(logs, {}).rows;
  const auto unfit = [](const Measurement& row) {
    return row.quantity != "time_s" || !(row.bytes > 0) ||
           (row.operation != "all_reduce" && row.operation != "all_gather" &&
            row.operation != "reduce_scatter");
  };
  // One rank does not communicate: beside others it tells nothing.
  const auto alone = [](const Measurement& row) { return row.workers == 1; };
  const bool drop_alone = std::ranges::any_of(rows, alone) && !std::ranges::all_of(rows, alone);
  if (drop_alone) std::erase_if(rows, alone);
  std::set<std::string> untold, used;
  for (const Measurement& row : rows)
    if (row.operation.empty()) untold.insert(row.source);
  std::erase_if(rows, unfit);
  for (const Measurement& row : rows) used.insert(row.source);
  for (const std::string& file : logs) {  // a table that `import` wrote keeps the names of its logs
    if (used.contains(file) || rows.empty()) continue;
    for (const Measurement& row : import_files({file}, {}).rows)
      if (!unfit(row) && !(drop_alone && alone(row))) used.insert(file);
  }
  LogSpec made;
  std::vector<InputError> errors;
  for (const std::string& file : logs)
    if (untold.contains(file))
      errors.push_back(
          {file, "", "does not say which operation it measured", "",
           "Import it with --set operation=all_reduce, or whichever it is, and calibrate the table that import writes"});
    else if (!used.contains(file) && rows.empty())
      errors.push_back({file, "", "has no times of all_reduce, all_gather or reduce_scatter", "",
                        "Give logs of these operations, or a spec (docs/calibration.md)"});
    else if (!used.contains(file))
      made.notes.push_back(
          file +
          " has no times of all_reduce, all_gather or reduce_scatter among several ranks: it is not used");
  if (!errors.empty()) throw ConfigError(std::move(errors));
  LogMachine machine = machine_of_logs(logs, settings, rows);
  if (machine.device.empty()) {
    machine.device = "devices/h100.json";
    made.notes.push_back("the logs name no device that SimSGD ships: " + machine.device +
                         " takes its place, which affects computing only; --device chooses another");
  } else if (settings.device.empty()) {
    made.notes.push_back("the device of the logs is assumed to be " + machine.device);
  }
  for (const auto& [cut, where, link] : {std::tuple(machine.inside_cut, "in a node", "in the node"),
                                         std::tuple(machine.between_cut, "over nodes", "between nodes")})
    if (cut > 0)
      made.notes.push_back(fmt::format(
          "{} bus bandwidth still grows at the largest size, {}, so the bandwidth {} is hardly determined: measure larger sizes, up to 1 GB",
          where, human_bytes(cut), link));
  Json data = Json::array();
  for (const std::string& file : logs) {
    data.push_back(
        {{"files", {file}}, {"where", {{"quantity", "time_s"}, {"operation", machine.operations}}}});
    if (drop_alone) data.back()["where"]["workers"] = {{"at_least", 2}};
    if (const auto from = machine.from_bytes.find(file); from != machine.from_bytes.end()) {
      data.back()["where"]["bytes"] = {{"at_least", from->second}};
      made.notes.push_back(fmt::format(
          "{}: one process launches on all its GPUs in turn, which hides the times of smaller messages; only those from {} on are fitted",
          file, human_bytes(from->second)));
    } else {
      data.back()["where"]["bytes"] = {{"at_least", 1}};
    }
  }
  Json models = Json::array({ring_model(machine)});
  for (const bool own : {true, false})
    for (const bool by_estimate : {true, false}) {
      models.push_back(stack_model(machine, "nvlink", by_estimate, own));
      if (machine.gpus_per_node > 1 && machine.inside_Bps < kPcie_Bps)
        models.push_back(stack_model(machine, "pcie", by_estimate, own));
    }
  Json leave_out = Json::array({"octave"});
  if (can_leave_workers_out(machine)) leave_out.push_back("workers");
  made.spec = {{"name", "logs"},
               {"description", fmt::format("{} ranks in nodes of {}", fmt::join(machine.workers, ", "),
                                           machine.gpus_per_node)},
               {"scenario", {{"cluster", cluster_of(machine)}}},
               {"data", std::move(data)},
               {"predict", {{{"as", "collective"}}}},
               {"models", std::move(models)},
               {"fit", {{"leave_out", std::move(leave_out)}, {"outlier", 0.05}, {"starts", kStarts}}}};
  return made;
}

namespace {

std::vector<std::string> told_by(const Calibration& calibration) {
  std::map<int, std::pair<double, double>> sizes;  // by number of ranks: the least and the most
  std::set<std::string> operations;
  for (const Measurement& row : calibration.measurements) {
    auto& [least, most] = sizes.emplace(row.workers, std::pair(row.bytes, row.bytes)).first->second;
    least = std::min(least, row.bytes);
    most = std::max(most, row.bytes);
    operations.insert(row.operation);
  }
  std::vector<std::pair<std::pair<double, double>, std::vector<int>>> alike;
  for (const auto& [workers, range] : sizes) {
    if (alike.empty() || alike.back().first != range) alike.push_back({range, {}});
    alike.back().second.push_back(workers);
  }
  std::vector<std::string> among;
  for (const auto& [range, workers] : alike)
    among.push_back(fmt::format("{} to {} among {}", human_bytes(range.first), human_bytes(range.second),
                                fmt::join(workers, ", ")));
  const Json& cluster = calibration.spec.scenario.at("cluster");
  const int per_node = cluster.at("gpus_per_node");
  std::vector<std::string> all = {fmt::format("determined: {} of {} ranks in nodes of {}",
                                              fmt::join(operations, ", "), fmt::join(among, ", and "),
                                              per_node)};
  const ModelResult& chosen = calibration.models[calibration.chosen];
  if (std::isfinite(chosen.left_out_error))
    all.push_back(fmt::format(
        "determined: parts that were left out of the fit ({}) are predicted with a mean error of {:.1f} %",
        fmt::join(calibration.spec.fit.leave_out, ", "), 100 * chosen.left_out_error));
  if (cluster.contains("nodes"))
    all.push_back(
        "not determined: anything between nodes; the cluster has one node. Add a log of two nodes or more");
  else if (sizes.size() < 3)
    all.push_back(
        "not determined: how times grow with nodes beyond these; no number of ranks could be left out, so intervals widen by assumption. Add a log of twice as many ranks");
  if (sizes.size() == 1)
    all.push_back(
        "not determined: launch and latency of a step separately, so times of small messages among other numbers of ranks are uncertain");
  constexpr double kWide = 2;  // the interval's ends are further apart than this factor
  const std::vector<NumberInterval> intervals = number_intervals(calibration, 0.9);
  for (std::size_t j = 0; j < calibration.model().parameters.size(); ++j) {
    const ParameterSpec& parameter = calibration.model().parameters[j];
    for (const NumberInterval& each : intervals)
      if (each.pointer == parameter.key(parameter.pointers.front()) &&
          (calibration.best().at_bound[j] || (each.known && each.high > kWide * each.low)))
        all.push_back(fmt::format("hardly determined: {}{}", parameter.name,
                                  calibration.best().at_bound[j] ? ", which ends at a bound" : ""));
  }
  all.emplace_back(
      "not determined: computing (give --workload a trace), and operations that were not measured");
  return all;
}

}  // namespace

LogCalibration calibrate_logs(LogSpec logs, const CalibrationSettings& settings) {
  std::vector<std::pair<std::string, std::string>> idle;  // the model, and its parameter
  while (true) try {
      LogCalibration made{calibrate(read_spec(logs.spec, "logs", SpecUse::cluster), settings), {}, {}};
      made.told = told_by(*made.calibration);
      for (const auto& [model, name] : idle)
        if (model == made.calibration->model().name)
          made.told.push_back("not determined: " + name +
                              ": no measurement depends on it, so it keeps NCCL's own value");
      made.spec = std::move(logs.spec);
      return made;
    } catch (const IdleParameters& error) {
      for (Json& model : logs.spec["models"]) {
        if (model["name"] != error.model) continue;
        Json kept = Json::array();
        for (Json& each : model["parameters"])
          if (std::find(error.names.begin(), error.names.end(), each["name"]) == error.names.end())
            kept.push_back(std::move(each));
        model["parameters"] = std::move(kept);
      }
      for (const std::string& name : error.names) idle.emplace_back(error.model, name);
    }
}

}  // namespace simsgd
