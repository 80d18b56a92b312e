// What all kinds of straggler share: random streams that no other model touches, and the options "workers",
// "count", "share", "of", "relative", "probability", "per", "from_step", "to_step".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd {

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
