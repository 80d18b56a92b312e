#include "sim/step_law.hpp"

#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/log_interpolation.hpp"

namespace simsgd {

double StepLaw::seconds(double samples) const {
  if (times.empty()) return fixed_s + samples * per_sample_s;
  CHECK(holds(samples), "a step time was read off a table beyond its range");
  std::vector<LogPoint> table;
  for (const Time& time : times) table.push_back({time.samples, time.seconds});
  return *log_interpolated(table, samples, Outside::continued);
}

bool StepLaw::holds(double samples) const {
  return times.empty() || (samples >= times.front().samples && samples <= times.back().samples);
}

}  // namespace simsgd
