// Wait-avoiding collectives: operations that nobody waits for but those who have come. Each call has a
// version. Who may (solo: anybody; majority: a rank drawn for the version) activates it on reaching it, and
// every rank then takes part at once, in the background, with what it has to give: a rank that has not come
// yet takes part passively. Versions run one after another on each rank.
// Li, Ben-Nun, Nadiradze, Di Girolamo, Dryden, Alistarh, Hoefler, "Breaking (global) barriers in parallel
// stochastic optimization with wait-avoiding group averaging", IEEE TPDS 32(7), 2021, arXiv:2005.00124; and
// Li et al., PPoPP 2020, arXiv:1908.04207. Who is late follows from simulated time alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/activation.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

enum class Initiator : std::uint8_t {
  solo,     ///< the first that arrives
  majority  ///< a rank drawn uniformly for each version: half of the others have come on average
};
/// The key "activation".
void activation_field(Fields& f, Initiator& value);
/// The key "all_reduce": by which schedule; measured in the papers: recursive doubling.
void all_reduce_field(Fields& f, std::string& schedule);
/// That as CollectiveOptions::schedule.
std::string asked_schedule(const std::string& schedule);
/// The rank that may activate `version` under `majority`: the same on all ranks.
int drawn_initiator(std::uint64_t seed, std::uint64_t version, int ranks);

class WaitAvoiding {
 public:
  /// Makes this rank's part of `version` when it starts, perhaps in the background. `arrived`: this rank has
  /// called it. Is not called after this object is gone.
  using Begin = std::function<AllReduce(std::uint64_t version, bool arrived)>;

  struct Settings {
    Initiator initiator = Initiator::solo;
    int tag = 0;  ///< of its messages: one per service
  };

  struct Outcome {
    std::uint64_t version = 0;
    bool fresh = true;       ///< this rank had arrived when its part of the version started
    Tensor result;           ///< of the version
    std::uint64_t seen = 0;  ///< the latest version that is through on this rank: `version` or a later one
    Tensor seen_result;      ///< its result: what a receive buffer holds that later versions overwrite
  };

  WaitAvoiding(Worker& worker, const Settings& settings, Begin begin);
  ~WaitAvoiding();
  WaitAvoiding(const WaitAvoiding&) = delete;
  WaitAvoiding& operator=(const WaitAvoiding&) = delete;

  /// The next version, from 0: arrives, and waits until it is through on this rank.
  Outcome call();

 private:
  class Rank;
  std::shared_ptr<Rank> rank_;  // shared with actions that are under way
};

// Dynamic groups: which ranks average in which iteration, so that an update reaches everybody in
// ceil(log_S P) iterations.
//   L = log2 P, g = log2 S; in iteration t, phase r = 0 ... g-1 pairs ranks that differ in bit (t g + r) mod
//   L: a group are the ranks that agree in all other bits. P = 8, S = 4: {0,1,2,3} {4,5,6,7}, then {0,1,4,5}
//   {2,3,6,7}, then {0,2,4,6} {1,3,5,7}, and again.
// Li et al., WAGMA-SGD, IEEE TPDS 32(7), 2021, Algorithm 1, arXiv:2005.00124 (whose listing forgets to reset
// its mask).

/// `workers` and `size` are powers of two, size <= workers. Ascending.
std::vector<int> butterfly_group(int rank, int workers, int size, std::uint64_t iteration);

/// Iterations after which the groups repeat.
std::uint64_t butterfly_cycle(int workers, int size);

}  // namespace simsgd
