// What is asked of every run: a metric, or a value of one of its curves.
//   time_to_target_s          a metric; a run that was asked for a target and did not meet it is censored at
//                             the end of its simulated time
//   test_accuracy@161s        a curve after so much simulated time, straight between its values; after its
//                             last value that one, before its first none
//   consensus_distance@mean   the mean of a curve's values
#pragma once

#include <string>
#include <vector>

#include "analysis/frame/frame.hpp"
#include "sim/recording/better.hpp"

namespace simsgd::frame {

struct Measure {
  std::string name;   ///< as it was asked for
  std::string curve;  ///< empty: a metric
  double at_s = 0;    ///< of a curve; 0: its mean
  std::string unit;   ///< SI: "s", "B", "1"; empty where it is not known
  Better better = Better::neither;
};

/// What a point has of it.
struct Sample {
  enum class Kind { value, censored, none, failed, not_run };
  const ResultPoint* point = nullptr;
  Kind kind = Kind::not_run;
  double value = 0;  ///< SI; where censored, the time until which it was seen
};

/// "a,b": what is none, or is of no run of the frame, goes to `errors`.
std::vector<Measure> parse_measures(const Frame& frame, const std::vector<std::string>& names,
                                    std::vector<InputError>& errors);

/// Whether the run was asked to reach a target.
bool has_target(const Frame& frame, const ResultPoint& point);
Sample sample_of(const Frame& frame, const ResultPoint& point, const Measure& measure);
std::vector<Sample> samples_of(const Frame& frame, const std::vector<const ResultPoint*>& points,
                               const Measure& measure);
/// Of samples that ended well, their points.
std::vector<const ResultPoint*> points_of(const std::vector<Sample>& samples);

/// Names of metrics that any of the points has, in the order in which they are shown.
std::vector<std::string> metrics_of(const std::vector<const ResultPoint*>& points);

/// Straight between the values of a curve; after its last one that, before its first one none.
std::optional<double> value_at(const std::vector<CurvePoint>& curve, double time_s);

/// Its unit and which way it is better, where it is in the table of metrics.
Measure measure_of_metric(const std::string& name);

}  // namespace simsgd::frame
