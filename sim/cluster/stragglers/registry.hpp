// The kinds of straggler. To add one: a file here that defines `std::vector<StragglerPlugin>
// stragglers::KIND()`, and its line in the list of ../CMakeLists.txt. The options that every kind has (which
// workers, which steps, how probable, relative or not) are added and applied by this registry, below.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/stragglers.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// What a straggler needs to know when it is made, beyond its parameters.
struct StragglerSetup {
  int workers = 1;                     ///< of the job; ranks are up to kMaximumRank
  std::vector<int> node_of_rank = {};  ///< empty: a node for each worker
  std::uint64_t seed = 1;              ///< of the job
  std::uint32_t index = 0;             ///< position in the scenario's list
  /// From a path as a file writes it to one that can be opened (relative to the file that names it).
  std::function<std::filesystem::path(const std::string&)> resolve = [](const std::string& path) {
    return std::filesystem::path(path);
  };
};

struct StragglerCommon;
using MadeStraggler = std::unique_ptr<const StragglerModel>;

/// Makes the model without what the common options do around it; it may look at them.
struct StragglerPlugin : Plugin<MadeStraggler, const StragglerCommon&, const StragglerSetup&> {
  using Plugin::Plugin;
  /// Of the scenario's object: with the common options.
  void form(Json& form) const;
};

/// All of them, in the order in which they are listed to users.
const std::vector<StragglerPlugin>& straggler_plugins();

/// The straggler that an object of the scenario's list describes, with its common options. Throws
/// ParameterError.
MadeStraggler make_straggler(const Json& object, const StragglerSetup& setup);

// What all kinds of straggler share: random streams that no other model touches, and the options "workers",
// "count", "share", "of", "relative", "probability", "per", "from_step", "to_step".

/// The last of 2^20 ranks, and a scenario lists at most kMaximumStragglers: both share the 32 bits of a
/// stream's entity. What all workers draw together goes by this rank too: its own draws of the same kind,
/// where a worker has that rank, are the common ones.
constexpr int kMaximumRank = (1 << 20) - 1;
constexpr int kMaximumStragglers = 1 << 12;
/// A step has at most this many micro-batches with draws of their own.
constexpr int kMaximumMicroBatches = 1 << 10;

/// Independent streams of one model, worker and step. Values are part of every result: only append, up to 3.
enum class StragglerDraw : std::uint64_t {
  value = 0,       ///< how late
  chance = 1,      ///< the common option "probability"; for nobody else
  choice = 2,      ///< whether at all, by the kind's own rule
  slow_value = 3,  ///< a second value, of a longer memory
};

/// The stream of this worker: entity = index x 2^20 + rank; the upper two of the 40 bits of the step hold the
/// draw, the next ten the micro-batch where there is one (steps are below 2^28 then).
Stream straggler_stream(const StragglerContext& context, StragglerDraw draw);
/// The stream that all workers share in this step, so that they can agree on something.
Stream common_straggler_stream(const StragglerContext& context, StragglerDraw draw);

/// The options that every kind has.
struct StragglerCommon {
  enum class Of : std::uint8_t { workers, nodes };

  std::optional<std::vector<int>> workers;
  std::optional<std::int64_t> count;
  std::optional<double> share;
  std::optional<Of> of;
  bool relative = false;
  double probability = 1;
  bool per_micro_batch = false;
  std::uint64_t from_step = 1;
  std::optional<std::uint64_t> to_step;

  void fields(Fields& f);
  /// The unit in which delays are read.
  DrawUnit delay_unit() const { return relative ? DrawUnit::relative : DrawUnit::seconds; }
};

/// The model, applied only where the common options allow.
MadeStraggler with_common_options(MadeStraggler model, const StragglerCommon& common,
                                  const StragglerSetup& setup);

/// The ranks that "workers" lists, or that "count" or "share" draw once for the whole run, ascending; all
/// without.
std::vector<int> selected_ranks(const StragglerCommon& common, const StragglerSetup& setup);
/// Seconds of a delay that was read in delay_unit.
inline double delay_s(double delay, bool relative, const StragglerContext& context) {
  return relative ? delay * context.nominal_compute_s : delay;
}

}  // namespace simsgd
