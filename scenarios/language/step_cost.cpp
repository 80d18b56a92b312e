#include "scenarios/language/step_cost.hpp"

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

}  // namespace simsgd
