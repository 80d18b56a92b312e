// "step_cost" of a workload: what a pass takes by its samples, as it is written (sim/step_law.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/reader.hpp"
#include "sim/base/fields.hpp"
#include "sim/step_law.hpp"

namespace simsgd {

struct StepCostSection {
  struct Time {
    int batch = 1;
    double step_s = 0;

    void fields(Fields& f) {
      f.whole("batch", batch, "Samples of the pass").required().at_least(1);
      f.time("step_time", step_s, "Its forward and backward pass").required().above(0);
    }
  };
  std::optional<double> fixed_s, per_sample_s;
  std::optional<std::vector<Time>> times;

  void fields(Fields& f) {
    f.time("fixed", fixed_s, "Of each pass (of each micro-batch, where gradients are accumulated)")
        .by_rule("0 beside per_sample");
    f.time("per_sample", per_sample_s, "Of each sample, on top of it").by_rule("0 beside fixed");
    f.objects(
         "times", times,
         "In place of the two: measured passes by ascending batch, interpolated on logarithmic scales, refused outside their range",
         "One measurement")
        .least_items(1);
  }
};

/// The law that is written at `pointer`. Nothing where it says too much, too little, or no time, which is
/// reported.
std::optional<StepLaw> read_step_cost(const Reader& reader, const std::string& pointer,
                                      const StepCostSection& section);

/// The samples that a table holds for, in words: "1 to 256"; and a number of them.
std::string range_text(const StepLaw& law);
std::string samples_text(double samples);

/// Whether `law`, written at `pointer`, holds for the workload's micro-batches; where it does not that is
/// reported.
bool check_range(const Reader& reader, const std::string& pointer, const StepLaw& law, double samples);

}  // namespace simsgd
