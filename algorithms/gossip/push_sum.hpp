// Push-sum rounds: averaging over directed messages, for which nobody has to answer. Each worker has a
// numerator x and a weight w, 1 at first; its estimate of the mean is z = x / w.
//   round t:  x_i <- (x_i + sum over in-neighbours j of x_j) / (n + 1),  and w likewise
// Out-neighbours are at the distances 2^r, ..., 2^((r + n - 1) mod L) around a ring, r = t mod L, L =
// ceil(log2 P). The sums of all x and of all w (which is P) stay as they are. Kempe, Dobra, Gehrke, FOCS
// 2003, doi 10.1109/SFCS.2003.1238221; Assran, Loizou, Ballas, Rabbat, ICML 2019, arXiv:1811.10792. Bytes per
// worker and round: n (m + 8).
#pragma once

#include <vector>

#include "algorithms/exchange.hpp"

namespace simsgd {

/// Rounds until the neighbours repeat: ceil(log2 P), at least 1.
int push_sum_period(int workers);

class PushSumRounds {
 public:
  struct Settings {
    int workers = 1;
    int neighbours = 1;  ///< n, at most push_sum_period(workers)
    Coupling coupling = Coupling::neighbour;
    Buckets buckets;
    double bytes_per_parameter = 4;
  };
  explicit PushSumRounds(const Settings& settings);

  /// What a worker has. The weight is the scalar of a tensor. Empty where nothing is learned.
  struct State {
    Tensor numerator, weight;
  };
  static State initial(Worker& worker);
  /// x / w
  static Tensor estimate(Worker& worker, const State& state);

  /// A step: the gradient at `worker.replica().parameters()` is computed, `update` turns it into the new
  /// numerator, and round `round` (from 1) runs in pieces meanwhile. Blocks.
  State step(Worker& worker, std::uint64_t round, const State& state,
             const std::function<Tensor(const Tensor& gradient)>& update) const;

  /// Distances to the out-neighbours of round `round`.
  std::vector<int> distances(std::uint64_t round) const;

 private:
  State add_up(Worker& worker, const State& own, const std::vector<Tensor>& received) const;

  Settings settings_;
  std::vector<PiecewiseExchange> rounds_;  // one period
};

}  // namespace simsgd
