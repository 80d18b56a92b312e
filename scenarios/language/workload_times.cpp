#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/job_notes.hpp"
#include "scenarios/language/sections.hpp"
#include "scenarios/language/step_cost.hpp"
#include "scenarios/language/workload_table.hpp"

namespace simsgd {

namespace {

/// Seconds of all layers for one micro-batch, the baseline of a step, and where it comes from.
bool resolve_times(const Reader& reader, const Device& device, WorkloadTable& table) {
  Workload& workload = table.workload;
  const double samples = static_cast<double>(workload.batch) / workload.micro_batches;
  const OneDeviceTime* measured = nearest_time(table.one_device, device.name, samples);
  if (measured != nullptr) {
    const std::optional<StepLaw>& law = measured->law;
    if (law && !check_range(reader, measured->pointer, *law, samples)) return false;
    if (!share_measured_time(table.layers, device, samples, measured->seconds(samples))) {
      reader.error("/workload/layers", "have times of their own that add up to more than the measured step",
                   fmt::format("Mend them, or the one-device time of {} for {} samples",
                               human_time(law ? law->seconds(samples) : measured->step_s),
                               law ? human_number(samples) : std::to_string(measured->batch)));
      return false;
    }
    workload.step_law = law;
    workload.one_device_step_s = law ? workload.micro_batches * law->seconds(samples)
                                     : measured->step_s / measured->batch * workload.batch;
    workload.one_device_source =
        law ? fmt::format("{}, by samples: {}", device.name, measured->source)
            : fmt::format("{}, batch {}: {}", device.name, measured->batch, measured->source);
  } else if (!model_times(table.layers, device, samples)) {
    reader.error("/workload", fmt::format("has no one-device time for the device \"{}\"", device.name),
                 "Add a measured time to \"one_device\", or give the layers' forward_flop and the device's "
                 "peak_flops");
    return false;
  }
  workload.layers = std::move(table.layers.layers);
  if (measured != nullptr) return true;
  workload.one_device_step_s = workload.step_compute_s();
  workload.one_device_source =
      table.step_is_given ? (workload.step_law ? "step_cost of the workload" : "step_time of the workload")
                          : fmt::format("modelled from FLOPs and memory traffic on {}", device.name);
  return true;
}

/// What the model of a layer's time needs of the device, and the device does not know.
void note_modelled_times(const Device& device, const WorkloadTable& table, std::vector<Note>& notes) {
  const bool measured = nearest_time(table.one_device, device.name, 1) != nullptr;
  const bool all_own = std::all_of(table.layers.own.begin(), table.layers.own.end(),
                                   [](const auto& own) { return own.has_value(); });
  if (measured || all_own) return;
  const auto note = [&](const char* what, const char* key) {
    add_note(notes, {"unknown-cost", fmt::format("{}: device {} has no \"{}\"", what, device.name, key)});
  };
  if (!device.launch_s.known()) note("launching a kernel takes no time", "launch");
  if (!(device.memory_Bps > 0)) note("a layer's memory traffic takes no time", "memory_bandwidth");
}

}  // namespace

std::optional<Workload> build_workload(const Reader& reader, const WorkloadSetting& setting,
                                       std::vector<Note>& notes) {
  std::optional<WorkloadTable> table =
      read_workload(reader, setting.device != nullptr ? setting.device->name : "");
  if (!table && setting.learner != nullptr && reader.usable("/workload") &&
      reader.value("/workload").is_string())
    table = workload_of(*setting.learner);
  if (!table || setting.device == nullptr) return std::nullopt;
  table->workload.bytes_per_parameter = setting.precision == Precision::fp32 ? 4 : 2;
  if (!resolve_times(reader, *setting.device, *table)) return std::nullopt;
  note_modelled_times(*setting.device, *table, notes);
  const double samples = static_cast<double>(table->workload.batch) / table->workload.micro_batches;
  const OneDeviceTime* measured = nearest_time(table->one_device, setting.device->name, samples);
  const double measured_samples = measured == nullptr ? 0 : measured->law ? samples : measured->batch;
  note_device_time(reader, *setting.device, table->workload, static_cast<int>(measured_samples), notes);
  return std::move(table->workload);
}

}  // namespace simsgd
