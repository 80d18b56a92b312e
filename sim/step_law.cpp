#include "sim/step_law.hpp"

#include "sim/base/check.hpp"
#include "sim/cluster/kernel_tables.hpp"

namespace simsgd {

double StepLaw::seconds(double samples) const {
  if (times.empty()) return fixed_s + samples * per_sample_s;
  CHECK(holds(samples), "a step time was read off a table beyond its range");
  std::vector<MeasuredTime> table;
  for (const Time& time : times) table.push_back({time.samples, time.seconds});
  return interpolated_s(table, samples);
}

bool StepLaw::holds(double samples) const {
  return times.empty() || (samples >= times.front().samples && samples <= times.back().samples);
}

}  // namespace simsgd
