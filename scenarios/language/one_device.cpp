#include "scenarios/language/one_device.hpp"

#include <fmt/format.h>

namespace simsgd {

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
