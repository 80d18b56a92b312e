// Rounds: what all workers together have done when each has done one step more. Where workers need each
// other, round k is everybody's step k. Where they do not, it is the k-th P steps that are completed, by
// whomever: a worker that is four times slower has then a share of a round that is four times smaller.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "sim/job.hpp"

namespace simsgd {

/// A worker's replica at some instant.
struct ModelAtInstant {
  std::uint64_t step = 0;  ///< completed
  Tensor model;
};

/// A round that is complete, and whoever wants to know.
struct Round {
  std::uint64_t number = 0;
  double time_s = 0;           ///< when its last step was completed
  std::vector<Tensor> losses;  ///< that workers reported; scalars {sum of losses, number of losses}
};
struct RoundListeners {
  std::function<void(Round)> complete;
  /// The models of all workers when `round` was complete, in order of rank.
  std::function<void(std::uint64_t round, double time_s, const std::vector<ModelAtInstant>& workers)>
      evaluate;
};

class Rounds {
 public:
  virtual ~Rounds() = default;
  /// Worker `rank` used a gradient of that loss in its step `step`.
  virtual void loss(int rank, std::uint64_t step, const Tensor& loss) = 0;
  /// Worker `rank` completed `step` at `time_s` with the model `model`.
  virtual void completed(int rank, std::uint64_t step, double time_s, const Tensor& model) = 0;
  virtual std::uint64_t complete() const = 0;  ///< rounds
  /// Nobody completes anything any more: evaluates what was still waited for.
  virtual void finish() = 0;
};

/// Round k is everybody's step k. Completions may come in any order between workers. A worker's model at an
/// instant is that of the last step that it had completed (further steps that end at the very instant at
/// which the last worker completes step k come after it: where nothing takes time, curves are by step): the
/// evaluation of round k waits until every worker is known to have no more of them, unless `in_time_order`,
/// where nothing earlier can come.
std::unique_ptr<Rounds> rounds_together(const Job& job, Executor& executor, bool in_time_order,
                                        RoundListeners listeners);

/// A round is any P steps. Completions come in the order of time. `now` tells what the workers have.
std::unique_ptr<Rounds> rounds_alone(const Job& job, Executor& executor,
                                     std::function<std::vector<ModelAtInstant>()> now,
                                     RoundListeners listeners);

/// Adds up the scalars {sum of losses, number of losses}.
Tensor add_losses(Executor& executor, std::vector<Tensor> losses);

}  // namespace simsgd
