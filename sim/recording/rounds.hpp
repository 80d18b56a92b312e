// Rounds: what all workers together have done when each has done one step more. Where workers need each
// other, round k is everybody's step k. Where they do not, it is the k-th P steps that are completed, by
// whomever: a worker that is four times slower has then a share of a round that is four times smaller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/job.hpp"
#include "sim/observer.hpp"

namespace simsgd {

/// A worker's replica at some instant.
struct ModelAtInstant {
  std::uint64_t step = 0;  ///< completed
  Tensor model;
};

/// Calls `action` when all that happens at this instant has happened.
using Later = std::function<void(std::function<void()> action)>;

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
  virtual void completed(const StepEnd& end) = 0;
  virtual std::uint64_t complete() const = 0;  ///< rounds
  /// Nobody completes anything any more: evaluates what was still waited for.
  virtual void finish() = 0;
};

/// Round k is everybody's step k. Completions may come in any order between workers. A worker's model at an
/// instant is that of the last step that it had completed by then (a further step that takes no time comes
/// after it: where nothing takes time, curves are by step). The evaluation of round k is made as soon as
/// every worker is known to complete nothing more by then; with `later`, where completions come in the order
/// of time, at the end of that instant.
std::unique_ptr<Rounds> rounds_together(const Job& job, Executor& executor, Later later,
                                        RoundListeners listeners);

/// A round is any P steps. Completions come in the order of time. `now` tells what the workers have, and is
/// asked at the end of the instant, or, without `later`, at once.
std::unique_ptr<Rounds> rounds_alone(const Job& job, Executor& executor,
                                     std::function<std::vector<ModelAtInstant>()> now, Later later,
                                     RoundListeners listeners);

/// Adds up the scalars {sum of losses, number of losses}.
Tensor add_losses(Executor& executor, std::vector<Tensor> losses);

}  // namespace simsgd
