// What recorded jobs show beside measurements: a network, layer by layer, and the computing of each worker
// and step. `simsgd import --workload` and `--stragglers` write them as the scenario language reads them
// (workloads/*.json; the straggler `trace`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/measurements.hpp"

namespace simsgd {

/// One layer, in forward order; what a file does not tell is kNotGiven.
struct RecordedLayer {
  std::string name;
  std::string type = "other";                ///< as /workload/layers/*/type: conv, fc, bn, embedding, other
  std::vector<std::vector<double>> tensors;  ///< [n]: n numbers; [rows, columns]: the layer's product
  double forward_s = kNotGiven;              ///< of the whole batch
  double backward_s = kNotGiven;             ///< of the whole batch
  double forward_flop = kNotGiven;           ///< per sample
  double activations = kNotGiven;            ///< output entries per sample
};

/// A network as one device ran it.
struct RecordedWorkload {
  std::string name;
  std::string source;  ///< the file, and what was made of it; goes into the workload's own
  std::string device;  ///< that it was measured on, as the file calls it; may be empty
  int batch = 0;       ///< samples per worker and step; 0: the file does not tell
  std::vector<RecordedLayer> layers;
  /// How long the device waited for its host in a step, beside the layers: outside of the backward pass, and
  /// during it.
  double forward_gap_s = 0, backward_gap_s = 0;

  double parameters() const;
  double forward_s() const;   ///< of the layers that tell it
  double backward_s() const;  ///< of the layers that tell it
};

/// What one worker did in one step. `step` is the number that the file gives it.
struct RecordedStep {
  int worker = 0;
  std::uint64_t step = 0;
  double compute_s = 0;
};

/// A workload file, JSON with a line per layer. Throws ConfigError naming `file` where the batch is not known
/// or there is no layer.
std::string workload_file(const RecordedWorkload& workload, const std::string& file);

/// The CSV that the straggler `trace` replays: worker, step, compute_s; by worker and step.
std::string straggler_file(std::vector<RecordedStep> steps);

}  // namespace simsgd
