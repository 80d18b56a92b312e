// "step_cost" and "one_device" of a workload: what a pass takes on a device, as it is written.
#include "scenarios/language/workload_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/job_notes.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

std::optional<StepLaw> read_step_cost(const Reader& reader, const std::string& pointer,
                                      const StepCostSection& section) {
  const bool costs = section.fixed_s || section.per_sample_s, table = section.times.has_value();
  const std::string give = "Give \"fixed\" and \"per_sample\", or \"times\"";
  if (costs == table) {
    reader.error(pointer, table ? "says the time twice" : "does not say how long a pass takes", give);
    return std::nullopt;
  }
  StepLaw law{.fixed_s = section.fixed_s.value_or(0), .per_sample_s = section.per_sample_s.value_or(0)};
  if (costs && !(law.fixed_s + law.per_sample_s > 0)) {
    reader.error(pointer, "takes no time", "Give a \"fixed\" or \"per_sample\" above 0");
    return std::nullopt;
  }
  for (std::size_t i = 0; table && i < section.times->size(); ++i) {
    const StepCostSection::Time& time = (*section.times)[i];
    if (i > 0 && time.batch <= (*section.times)[i - 1].batch) {
      reader.error(child(pointer + "/times", i) + "/batch", "is not above the one before it",
                   "List the measurements by ascending batch, each once");
      return std::nullopt;
    }
    law.times.push_back({static_cast<double>(time.batch), time.step_s});
  }
  const double evaluation_s = section.evaluation_s.value_or(0);
  law.per_sample_s += evaluation_s;
  for (StepLaw::Time& time : law.times) time.seconds += time.samples * evaluation_s;
  return law;
}

std::string range_text(const StepLaw& law) {
  const std::string least = human_number(law.times.front().samples);
  return law.times.size() == 1 ? least : least + " to " + human_number(law.times.back().samples);
}

std::string samples_text(double samples) {
  return human_number(samples) + (samples == 1 ? " sample" : " samples");
}

bool check_range(const Reader& reader, const std::string& pointer, const StepLaw& law, double samples) {
  if (law.holds(samples)) return true;
  const bool parts = reader.value("/workload/micro_batches") != 1;
  reader.error(
      "/workload/batch",
      fmt::format("makes {} of {}, beyond the {} that {}/times were measured with",
                  parts ? "micro-batches" : "a pass", samples_text(samples), range_text(law), pointer),
      fmt::format("Use {} samples{}, or measure more", range_text(law),
                  parts ? " for each of the micro_batches" : ""));
  return false;
}

namespace {

/// A time by samples of one device; nothing where something is wrong with it.
std::optional<OneDeviceTime> law_of(const Reader& reader, const OneDeviceSection& entry,
                                    const std::string& pointer) {
  if (entry.batch) reader.error(pointer + "/batch", "has no effect together with \"step_cost\"", "Remove it");
  auto law = read_step_cost(reader, pointer + "/step_cost", *entry.step_cost);
  if (!law) return std::nullopt;
  return OneDeviceTime{.device = entry.device,
                       .source = entry.source,
                       .law = std::move(law),
                       .pointer = pointer + "/step_cost"};
}

/// A time by samples is the only one of its device.
void check_laws(const Reader& reader, const std::vector<OneDeviceSection>& entries) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    for (std::size_t before = 0; before < i; ++before)
      if (entries[before].device == entries[i].device && (entries[before].step_cost || entries[i].step_cost))
        reader.error(child("/workload/one_device", i),
                     fmt::format("is a time of {} beside entry {}, but a \"step_cost\" is for all batches",
                                 entries[i].device, before),
                     "Keep one of the two");
}

}  // namespace

std::vector<OneDeviceTime> one_device_times(const Reader& reader,
                                            const std::vector<OneDeviceSection>& entries) {
  std::vector<OneDeviceTime> times;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const OneDeviceSection& entry = entries[i];
    const std::string pointer = child("/workload/one_device", i);
    const int ways =
        entry.forward_backward_s.has_value() + entry.samples_per_s.has_value() + entry.step_cost.has_value();
    if (ways != 1) {
      reader.error(pointer, ways > 1 ? "says the time twice" : "does not say how long the step takes",
                   "Give either \"forward_backward\" or \"samples_per_s\", or a \"step_cost\"");
    } else if (entry.step_cost) {
      if (auto law = law_of(reader, entry, pointer)) times.push_back(std::move(*law));
    } else if (!entry.batch) {
      reader.error(pointer, "lacks the key \"batch\"", "Add \"batch\": the samples of the measured step");
    } else {
      const double step_s =
          entry.samples_per_s ? *entry.batch / *entry.samples_per_s : *entry.forward_backward_s;
      times.push_back({entry.device, *entry.batch, step_s, entry.source});
    }
  }
  check_laws(reader, entries);
  return times;
}

namespace {

// assumed: a smaller share of a step that the device waits for its host is not news.
constexpr double kLargeGap = 0.1;

/// Own times become those of `device`, where they were measured on another one; that is said.
bool scale_to(const Reader& reader, const Device& device, WorkloadTable& table, double samples,
              std::vector<Note>& notes) {
  if (!table.measured_on || is_device(table.measured_on->name, device.name)) return true;
  const Device& from = *table.measured_on;
  const auto scaled = scale_own_times(table.layers, from, device, samples);
  if (scaled) {
    add_note(
        notes,
        {"scaled-device-time",
         fmt::format(
             "the layers' times were measured on {} and are scaled to {}, {}: to {:.3g} of them in all",
             from.name, device.name,
             scaled->by_layers ? "each by the two devices' modelled times of its FLOPs and memory traffic"
                               : "all alike by the two devices' rates, since no layer tells its FLOPs",
             scaled->share)});
    return true;
  }
  reader.error(
      "/workload/measured_on",
      fmt::format(
          "is not the cluster's device {}, and no rate is known of both by which the layers' times could be scaled",
          device.name),
      "Give \"peak_flops\" or \"memory_bandwidth\" of both, or a time in \"one_device\" that was measured on the cluster's device");
  return false;
}

/// The step that own times make, and what is to be known of them.
void take_own_times(const Device& device, double samples, WorkloadTable& table, std::vector<Note>& notes) {
  Workload& workload = table.workload;
  const double gap_s = table.forward_gap_s + table.backward_gap_s,
               passes_s = workload.forward_s() + workload.backward_s();
  if (!table.measured_on)
    add_note(
        notes,
        {"unknown-device",
         fmt::format(
             "the layers' own times hold on {} as on any device: the workload does not say what they were measured on (/workload/measured_on)",
             device.name)});
  if (samples != table.own_batch)
    add_note(
        notes,
        {"extrapolated-device-time",
         fmt::format("the layers' times for {} samples are taken in proportion from those measured with {}",
                     human_number(samples), human_number(table.own_batch))});
  if (!(gap_s > 0)) return;
  lengthen_passes(workload.layers, table.forward_gap_s, table.backward_gap_s);
  workload.step_law = StepLaw{.fixed_s = gap_s, .per_sample_s = passes_s / samples};
  if (gap_s > kLargeGap * (gap_s + passes_s))
    add_note(
        notes,
        {"host-gap",
         fmt::format(
             "in {:.0f} % of a step of one device, {}, it waits for its host, which launches or loads: that stays the same for any device and batch (/workload/host_gap)",
             100 * gap_s / (gap_s + passes_s), human_time(gap_s))});
}

/// Seconds of all layers for one micro-batch, the baseline of a step, and where it comes from.
bool resolve_times(const Reader& reader, const Device& device, WorkloadTable& table,
                   std::vector<Note>& notes) {
  Workload& workload = table.workload;
  const double samples = static_cast<double>(workload.batch) / workload.micro_batches;
  const OneDeviceTime* measured = nearest_time(table.one_device, device.name, samples);
  const auto has_own = [](const auto& own) { return own.has_value(); };
  const bool own = !table.step_is_given && std::ranges::any_of(table.layers.own, has_own);
  const bool all_own = own && std::ranges::all_of(table.layers.own, has_own);
  // The layers' times only share a measured step: its sum needs no other device.
  if (own && !(measured != nullptr && all_own) && !scale_to(reader, device, table, samples, notes))
    return false;
  if (measured != nullptr) {
    const std::optional<StepLaw>& law = measured->law;
    if (law && !check_range(reader, measured->pointer, *law, samples)) return false;
    if (!share_measured_time(table.layers, device, samples, measured->seconds(samples))) {
      reader.error("/workload/layers", "have times of their own that add up to more than the measured step",
                   fmt::format("Correct them, or the one-device time of {} for {} samples",
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
    reader.error(
        "/workload", fmt::format("has no one-device time for the device \"{}\"", device.name),
        "Add a measured time to \"one_device\", or give the layers' forward_flop and the device's peak_flops");
    return false;
  }
  workload.layers = std::move(table.layers.layers);
  if (measured != nullptr) return true;
  if (own) take_own_times(device, samples, table, notes);
  workload.one_device_step_s = workload.step_compute_s();
  const std::string on = !table.measured_on ? "" : fmt::format(", measured on {}", table.measured_on->name);
  const bool other = table.measured_on && !is_device(table.measured_on->name, device.name);
  workload.one_device_source =
      table.step_is_given ? (workload.step_law ? "step_cost of the workload" : "step_time of the workload")
      : all_own ? fmt::format("times of the layers{}, batch {}{}", on, human_number(table.own_batch),
                              other ? ", scaled to " + device.name : "")
      : own
          ? fmt::format("times of some layers{}, of the others modelled from FLOPs and memory traffic on {}",
                        on, device.name)
          : fmt::format("modelled from FLOPs and memory traffic on {}", device.name);
  return true;
}

/// What the model of a layer's time needs of the device, and the device does not know.
void note_modelled_times(const Device& device, const WorkloadTable& table, std::vector<Note>& notes) {
  const bool measured = nearest_time(table.one_device, device.name, 1) != nullptr;
  const bool all_own = std::ranges::all_of(table.layers.own, [](const auto& own) { return own.has_value(); });
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
  if (!table) return std::nullopt;
  table->workload.bytes_per_parameter = setting.precision == Precision::fp32 ? 4 : 2;
  if (setting.device == nullptr) {
    table->workload.layers = std::move(table->layers.layers);
    return std::move(table->workload);
  }
  if (!resolve_times(reader, *setting.device, *table, notes)) return std::nullopt;
  note_modelled_times(*setting.device, *table, notes);
  const double samples = static_cast<double>(table->workload.batch) / table->workload.micro_batches;
  const OneDeviceTime* measured = nearest_time(table->one_device, setting.device->name, samples);
  const double measured_samples = measured == nullptr ? 0 : measured->law ? samples : measured->batch;
  note_device_time(reader, *setting.device, table->workload, static_cast<int>(measured_samples), notes);
  return std::move(table->workload);
}

}  // namespace simsgd
