// A training method as a plug-in: one file in the folder of its family, listed in algorithms/CMakeLists.txt.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/algorithm.hpp"
#include "sim/base/notes.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/learn/learner.hpp"
#include "sim/plugin.hpp"
#include "sim/worker.hpp"

namespace simsgd {

/// What an algorithm may check its options against before the run.
struct AlgorithmContext {
  int workers = 1;
  const Workload* workload = nullptr;
  std::uint64_t seed = 1;
  const Cluster* cluster = nullptr;          ///< device and host costs; null in tests that need none
  const LogicalGraph* graph = nullptr;       ///< the scenario's graph of workers, if the algorithm has one
  const OptimizerSpec* optimizer = nullptr;  ///< null in tests that need none
  const Learner* learner = nullptr;          ///< null where only time is simulated
  std::vector<Note>* notes = nullptr;        ///< receives what the result will leave out; null: nobody asks
  std::function<std::string(const std::string&)> find_file{};  ///< path of a file that the options name
};

using MadeAlgorithm = std::unique_ptr<const Algorithm>;

/// What a method may book and send, whatever its options. Computing, stragglers' delays, host work,
/// communication and waiting are every method's (ActivityInfo::of_every_method) and not listed; nor are
/// control messages that carry no bytes: barriers, activations.
struct AlgorithmUses {
  /// Which codecs its messages may travel by, which the scenario names (network.codec).
  enum class Codecs : std::uint8_t {
    any,
    dense,  ///< it adds up vectors where sparse ones could only be gathered
    own,    ///< none: it has an option "codec"
    none,   ///< none: what it sends is coded already
  };
  std::vector<Traffic> sends{};
  std::vector<Activity> activities{};
  /// Its option that has the steps of a worker from one exchange to the next; empty: there is none.
  std::string interval{};
  Codecs codecs = Codecs::any;
};

struct AlgorithmPlugin : Plugin<MadeAlgorithm, const AlgorithmContext&> {
  template <class Maker>
  AlgorithmPlugin(PluginInfo about, std::string bytes_in, AlgorithmUses uses_in, Maker maker)
      : Plugin(std::move(about), maker), bytes(std::move(bytes_in)), uses(std::move(uses_in)) {}

  std::string bytes;  ///< what one step sends, as a formula for people
  AlgorithmUses uses;
  std::string
      library{};  ///< which it comes from, with a number of its contents; empty: it is part of the program
};

// The table of algorithms, written from the list in CMakeLists.txt: nothing registers itself.

/// In the order of that list.
const std::vector<AlgorithmPlugin>& algorithm_plugins();

// Notes on costs that an algorithm uses and the cluster does not know: they count as 0, which a result must
// not keep to itself.

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
