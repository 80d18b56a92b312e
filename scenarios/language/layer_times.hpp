// Seconds of each layer on the cluster's device, from what is known of it: its own measured time, a measured
// time of the whole step, or FLOPs and memory traffic (docs/model.md, "Compute time").
//
// Modelled forward pass of a micro-batch of b samples: max(b f / (e F), 4 (2 b a + p) / M) + l, with f FLOPs
// and a output entries per sample, p parameters, F the device's peak, e its efficiency, M its memory
// bandwidth, l the launch; reading as many entries as it writes is assumed. The backward pass takes twice the
// forward pass (gradients with respect to weights and to inputs). The roofline: Williams, Waterman,
// Patterson, CACM 52(4), 2009. Tests: tests/scenarios/layer_times.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/workload.hpp"

namespace simsgd {

/// A layer's own measured time, per sample.
struct OwnTime {
  double forward_s = 0;
  double backward_s = 0;
};

struct LayerTable {
  std::vector<Layer> layers;
  std::vector<std::optional<OwnTime>> own;  ///< as many as layers
};

/// A measured step of `batch` samples on one device, or what a pass takes by its samples.
struct OneDeviceTime {
  std::string device;
  int batch = 1;
  double step_s = 0;
  std::string source;
  std::optional<StepLaw> law{};  ///< in place of batch and step_s
  std::string pointer{};         ///< where the law is written

  /// What a forward and backward pass of so many samples takes: in proportion to them without a law.
  double seconds(double samples) const { return law ? law->seconds(samples) : step_s / batch * samples; }
};

/// The entry of that device that has a law, or else the batch nearest to `batch` (by ratio); or null.
const OneDeviceTime* nearest_time(const std::vector<OneDeviceTime>& times, const std::string& device,
                                  double batch);

/// Forward pass of a micro-batch of `samples` as modelled, without the launch; 0 where nothing is known.
double modelled_forward_s(const Layer& layer, const Device& device, double samples);

/// Whether `called` is the device `name`: equal, or its words stand among those of `called`, as V100 in
/// "Tesla V100-DGXS-32GB".
bool is_device(std::string_view called, std::string_view name);

/// What became of own times on another device; `share`: what they add up to, of what they did. By layers:
/// each by its modelled times, and those of which neither FLOPs nor outputs are known as all others together;
/// else all alike, by the devices' rates.
struct ScaledTimes {
  bool by_layers = false;
  double share = 1;
};

/// Own times as measured on `from` become those on `to`: t max(b f / (e F), 4 (2 b a + p) / M)_to /
/// max(...)_from, with those rates alone that are known of both. Nothing where there is no such rate.
std::optional<ScaledTimes> scale_own_times(LayerTable& table, const Device& from, const Device& to,
                                           double samples);

/// Makes each pass of a micro-batch so much longer, by what the device waits for its host or for others, in
/// proportion to the layers' times, or in equal parts where they take none.
void lengthen_passes(std::vector<Layer>& layers, double forward_s, double backward_s);

/// Fills in forward_s and backward_s for a micro-batch that takes `total_s` in all. Own times are kept; the
/// others share the rest in proportion to their modelled times (else FLOPs, else parameters), a third of it
/// forward, two thirds backward. Where all have own times these are scaled. False if own times alone take
/// longer.
bool share_measured_time(LayerTable& table, const Device& device, double samples, double total_s);

/// Fills in forward_s and backward_s from own times or the model above. False where neither is known of any
/// layer.
bool model_times(LayerTable& table, const Device& device, double samples);

}  // namespace simsgd
