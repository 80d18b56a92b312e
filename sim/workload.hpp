// The workload: the network whose training is timed, layer by layer. Only sizes and seconds; values come from
// the learner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/distribution.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

// What a forward and backward pass takes by its samples, where more is known of a network and a device than
// one time: a fixed cost and a cost for each sample, or measurements by batch.
//   T(b) = fixed_s + b per_sample_s;  or between two measurements on logarithmic scales:
//   T(b) = T_i (T_j / T_i)^(log(b / b_i) / log(b_j / b_i)),  b_i <= b <= b_j
// The fixed cost is what does not depend on the samples: launches, the optimizer's update, a framework's
// overhead per pass. Between measurements the curve is off by its curvature: for T = c + b s at batches a
// factor of 2 apart by 1.5 % at most, 4 apart by 6.1 %. A table holds inside its range only. Test:
// tests/scenarios/step_cost.cpp.

struct StepLaw {
  struct Time {
    double samples = 1;
    double seconds = 0;
  };
  double fixed_s = 0, per_sample_s = 0;
  std::vector<Time> times{};  ///< by ascending samples; empty: by the two costs

  /// Of one pass, forward and backward. Of a table only where it `holds`.
  double seconds(double samples) const;
  bool holds(double samples) const;
};

/// A parameter tensor: a vector of so many numbers, or a matrix, the one of the layer's product: of a
/// convolution that of its im2col product, with rows = output channels, columns = c_in kh kw.
struct TensorShape {
  double rows = 0;
  double columns = 0;  ///< 0: a vector of `rows` numbers

  TensorShape() = default;
  TensorShape(double numbers) : rows(numbers) {}  // NOLINT(google-explicit-constructor): a vector is its size
  TensorShape(double matrix_rows, double matrix_columns) : rows(matrix_rows), columns(matrix_columns) {}

  bool is_matrix() const { return columns > 0; }
  double parameters() const { return is_matrix() ? rows * columns : rows; }
};

/// One layer as it is timed. Seconds are for one *micro-batch* on a device of speed 1 in the job's cluster,
/// resolved when the scenario is loaded from measured one-device times or from FLOPs (docs/model.md, "Compute
/// time").
struct Layer {
  std::string name;
  enum class Kind { conv, fc, bn, embedding, other } kind = Kind::other;
  std::vector<TensorShape> tensors;  ///< weight, bias; possibly none
  double forward_s = 0;
  double backward_s = 0;
  double forward_flop = 0;  ///< per sample; a multiply-add counts 2
  double activations = 0;   ///< output entries per sample
  double positions = 1;     ///< per sample at which its product is taken: output height x width

  double parameters() const;
};

/// A parameter tensor in the order in which its gradient becomes ready: last layer first.
struct TensorInfo {
  int layer = 0;  ///< index into Workload::layers
  TensorShape shape{};
  double offset = 0;  ///< parameters of the tensors before it in *forward* order

  double parameters() const { return shape.parameters(); }
};

struct Workload {
  std::string name;
  std::vector<Layer> layers;  ///< forward order
  int batch = 1;              ///< samples per worker and step
  int micro_batches =
      1;  ///< gradients of batch / micro_batches samples are accumulated; the last one communicates
  double bytes_per_parameter = 4;  ///< in messages: 4 for fp32, 2 for fp16 and bf16
  double one_device_step_s =
      0;  ///< a whole step of `batch` samples on one device of speed 1, the scaling baseline
  std::string one_device_source;  ///< where one_device_step_s comes from
  /// How a pass depends on its samples, where that is known; otherwise it is proportional to them.
  std::optional<StepLaw> step_law{};
  /// Factor on the compute time of a step (mean 1 unless the workload says otherwise); constant 1 by default.
  Distribution compute_factor{Distribution::Kind::constant, 0, 1, 1, {}, {}};

  double parameters() const;  ///< of all layers
  double forward_s() const;   ///< one micro-batch
  double backward_s() const;  ///< one micro-batch
  double step_compute_s() const { return micro_batches * (forward_s() + backward_s()); }
  /// A step's computing over that of one of `parts` equal parts of its batch, each of as many micro-batches
  /// as the step, of batch / micro_batches / parts samples.
  double parts_per_step(int parts) const;
  double model_bytes() const { return parameters() * bytes_per_parameter; }
  /// Tensors in the order in which their gradients become ready.
  std::vector<TensorInfo> tensors() const;
};

/// When what happens in a micro-batch, at nominal speed. Made once for all workers of a run.
struct PassTimes {
  explicit PassTimes(const Workload& workload);

  std::vector<TensorInfo> tensors;     ///< in the order in which they become ready
  std::vector<double> tensor_ready_s;  ///< of each, from the start of the backward pass
  double forward_s = 0, backward_s = 0;
};

}  // namespace simsgd
