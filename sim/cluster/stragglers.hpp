// Stragglers: what makes a worker late in a step. Models compose: delays add up, factors multiply. Every draw
// is a function of (seed, index of the model, rank, step), so two algorithms meet the same stragglers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/distribution.hpp"

namespace simsgd {

/// What stragglers do to one worker in one step: it is idle for `delay_s` before it computes, and computes
/// `factor` times slower. Both count as `straggle_s`.
struct Straggle {
  double delay_s = 0;
  double factor = 1;
};

struct StragglerContext {
  std::uint64_t seed = 1;
  std::uint32_t index = 0;  ///< position of the model in the scenario's list
  int rank = 0;
  int workers = 1;
  std::uint64_t step = 1;        ///< from 1
  double nominal_compute_s = 0;  ///< of this step on this worker, before stragglers
  /// A step may be computed in `micro_batches` equal parts; which one is about to begin, from 0.
  std::uint32_t micro_batch = 0;
  std::uint32_t micro_batches = 1;
};

/// One kind of straggler; one file each under stragglers/, listed in CMakeLists.txt.
class StragglerModel {
 public:
  virtual ~StragglerModel() = default;
  /// Adds what this model does to worker `context.rank` in step `context.step`. A pure function of the
  /// context.
  virtual void apply(const StragglerContext& context, Straggle& straggle) const = 0;
  /// Whether it delays every micro-batch of a step, with a draw of its own, instead of the first one.
  virtual bool per_micro_batch() const { return false; }
};

/// All of a job's stragglers.
class Stragglers {
 public:
  void add(std::shared_ptr<const StragglerModel> model) { models_.push_back(std::move(model)); }
  bool empty() const { return models_.empty(); }
  /// What happens to the micro-batch `context.micro_batch`; the context's index is ours. Models that delay a
  /// step once delay its first micro-batch; factors hold for all.
  Straggle at(StragglerContext context) const;
  /// The same for a step that is computed in one piece.
  Straggle at(std::uint64_t seed, int rank, int workers, std::uint64_t step, double nominal_compute_s) const;

 private:
  std::vector<std::shared_ptr<const StragglerModel>> models_;  ///< shared by copies
};

}  // namespace simsgd
