// "step_cost" and "one_device" of a workload: what a pass takes on a device, as it is written.
#include "scenarios/language/workload_section.hpp"

#include <fmt/format.h>

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
  if (entry.batch) reader.error(pointer + "/batch", "has no effect beside \"step_cost\"", "Remove it");
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
                     fmt::format("is a time of {} beside entry {}, and a \"step_cost\" is for all batches",
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

}  // namespace simsgd
