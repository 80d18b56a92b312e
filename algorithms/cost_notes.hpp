// Notes on costs that an algorithm uses and the cluster does not know: they count as 0, which a result must
// not keep to itself.
#pragma once

#include <string>
#include <utility>

#include "algorithms/plugin.hpp"
#include "sim/cluster/kernels.hpp"

namespace simsgd {

/// `what` is said where the device does not know the cost that its file gives as `key`: "choosing the top k
/// takes no time".
void note_device_cost(const AlgorithmContext& context, const Cost& cost, const std::string& what,
                      const std::string& key);
/// All that the device does not know of a kernel, in the words of sim/cluster/kernels.hpp.
void note_kernel(const AlgorithmContext& context, DeviceKernel kernel);
/// That a kernel of this size is beyond what was measured of it on the device: GemmSize or SelectSize.
template <class Size>
void note_size(const AlgorithmContext& context, const Size& size) {
  if (context.cluster == nullptr || context.notes == nullptr) return;
  if (std::string text = beyond_table(context.cluster->device, size); !text.empty())
    add_note(*context.notes, {"extrapolated-kernel", std::move(text)});
}
/// The same for a cost of the cluster.
void note_cluster_cost(const AlgorithmContext& context, const Cost& cost, const std::string& what,
                       const std::string& key);

/// Of algorithms whose collectives go on while they compute.
void note_overlap(const AlgorithmContext& context);

}  // namespace simsgd
