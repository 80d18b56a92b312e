#include "analysis/calibration/log_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/language/json_source.hpp"
#include "scenarios/language/workload_section.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/field.hpp"

namespace simsgd {

namespace {

/// As nccl-tests has it: what each rank passes on, whatever their number.
double bus_Bps(const Measurement& row) {
  const double ranks = row.workers;
  return (row.operation == "all_reduce" ? 2 : 1) * (ranks - 1) / ranks * row.bytes / row.value;
}

constexpr double kFlat = 1.1;  // assumed: times the smallest size's, as flat as launches make it

int nodes_for(int workers, int per_node) { return (workers + per_node - 1) / per_node; }

/// Of a log whose ranks are threads of one process: "Rank  0 ... Pid  63453 ... device  0".
bool one_process(const std::string& text) {
  std::set<std::string> processes;
  int ranks = 0;
  for (std::size_t at = text.find(" Pid "); at != std::string::npos; at = text.find(" Pid ", at + 1)) {
    const std::size_t begin = text.find_first_not_of(' ', at + 5);
    if (begin == std::string::npos) break;
    processes.insert(text.substr(begin, text.find(' ', begin) - begin));
    ++ranks;
  }
  return ranks > 1 && processes.size() == 1;
}

/// The largest size, where bus bandwidth is still that much higher than at half of it or less; else 0.
double still_growing(const std::vector<Measurement>& rows, const std::function<bool(int workers)>& of) {
  constexpr double kGrowth = 1.3;
  double largest = 0, there = 0, below = 0;
  for (const Measurement& row : rows)
    if (of(row.workers)) largest = std::max(largest, row.bytes);
  for (const Measurement& row : rows)
    if (of(row.workers)) {
      double& most = row.bytes > largest / 2 ? there : below;
      most = std::max(most, bus_Bps(row));
    }
  return below > 0 && there > kGrowth * below ? largest : 0;
}

/// Sizes of one process's ranks take the same, a launch for each rank, until the operation takes longer.
double past_launches(const std::vector<Measurement>& rows, const std::string& file) {
  std::map<double, double> times;  // by bytes: the fastest
  for (const Measurement& row : rows) {
    if (row.source != file || !(row.bytes > 0)) continue;
    double& best = times.emplace(row.bytes, row.value).first->second;
    best = std::min(best, row.value);
  }
  if (times.empty()) return 0;
  const double flat_s = times.begin()->second;
  for (const auto& [bytes, seconds] : times)
    if (seconds > kFlat * flat_s) return bytes;
  return 0;  // nothing would be left
}

}  // namespace

LogMachine machine_of_logs(const std::vector<std::string>& logs, const LogSettings& settings,
                           const std::vector<Measurement>& rows) {
  LogMachine machine;
  std::vector<InputError> errors;
  std::set<std::string> without_nodes, without_ranks;
  if (settings.gpus_per_node) machine.gpus_per_node = *settings.gpus_per_node;
  for (const Measurement& row : rows) {
    machine.workers.insert(row.workers);
    machine.operations.insert(row.operation);
    if (row.workers == 0) without_ranks.insert(row.source);
    if (settings.gpus_per_node) continue;
    if (row.nodes == 0 && row.workers > 1) without_nodes.insert(row.source);
    if (row.nodes > 0)
      machine.gpus_per_node = std::max(machine.gpus_per_node, nodes_for(row.workers, row.nodes));
  }
  for (const std::string& file : without_nodes)
    errors.push_back({file, "", "does not say how many nodes it ran on", "",
                      "Give --gpus-per-node, which then holds for all logs"});
  std::set<std::string> uneven;
  for (const Measurement& row : rows)
    if (row.nodes > 0 && row.nodes != nodes_for(row.workers, machine.gpus_per_node) &&
        uneven.insert(row.source).second)
      errors.push_back(
          {row.source, "",
           fmt::format("ran with another number of ranks per node than {}", machine.gpus_per_node),
           fmt::format("{} ranks on {} nodes", row.workers, row.nodes),
           "Calibrate logs of full nodes together"});
  for (const std::string& file : without_ranks)
    errors.push_back({file, "", "does not say how many ranks took part", "",
                      "Import it with --set workers=N, and calibrate the table that import writes"});
  if (machine.workers.size() == 1 && *machine.workers.begin() == 1)
    errors.push_back({logs.front(), "", "has a single rank, which does not communicate", "",
                      "Give a log of two ranks or more"});
  if (!errors.empty()) throw ConfigError(std::move(errors));
  machine.nodes = nodes_for(*machine.workers.rbegin(), machine.gpus_per_node);
  for (const Measurement& row : rows) {
    double& largest = row.workers > machine.gpus_per_node ? machine.between_Bps : machine.inside_Bps;
    largest = std::max(largest, bus_Bps(row));
  }
  const auto inside = [&](int workers) { return workers <= machine.gpus_per_node; };
  machine.inside_cut = still_growing(rows, inside);
  machine.between_cut = still_growing(rows, std::not_fn(inside));
  std::map<std::string, std::string> devices;  // and the first log that names each
  for (const std::string& file : logs) {
    constexpr std::size_t kHead = 1 << 16;  // where logs list their devices
    const std::string text = file.ends_with(".gz") ? "" : read_file(file).substr(0, kHead);
    if (one_process(text))
      if (const double bytes = past_launches(rows, file); bytes > 0) machine.from_bytes[file] = bytes;
    if (const std::string named = shipped_device(text).file; !named.empty()) devices.emplace(named, file);
  }
  if (devices.size() > 1 && settings.device.empty()) {
    const auto& [other, file] = *std::next(devices.begin());
    errors.push_back({file, "", "names another GPU than " + devices.begin()->second,
                      other + " beside " + devices.begin()->first,
                      "Calibrate logs of one machine together, or choose the GPU with --device"});
    throw ConfigError(std::move(errors));
  }
  machine.device = devices.empty() ? "" : devices.begin()->first;
  if (!settings.device.empty()) machine.device = settings.device;
  return machine;
}

}  // namespace simsgd
