// A parameter server's part of the model: it takes over what workers push, and says whom it answers now.
//   synchronous: w <- w - eta U(1/P sum_i g_i) once all P workers have pushed; all are answered
//   asynchronous: w <- w - eta U(g_i) at once, and i is answered
//   stale-synchronous: the same, but i is answered once nobody is more than s steps behind it
// The sum is added up in the order of ranks, whoever comes first.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/learn/optimizer.hpp"
#include "sim/learn/tensor.hpp"

namespace simsgd {

struct ServerRules {
  bool together = true;         ///< synchronous
  std::uint64_t staleness = 0;  ///< s, where not: steps that a worker may be ahead of the slowest
};

class PieceServer {
 public:
  /// `state`: what the piece begins with; empty where nothing is learned.
  PieceServer(const ServerRules& rules, int workers, ReplicaState state)
      : rules_(rules), clients_(static_cast<std::size_t>(workers)), state_(std::move(state)) {}

  struct Push {
    int from = 0;
    std::uint64_t step = 1;  ///< whose learning rate counts
    Tensor gradient;
  };
  struct Answer {
    int to = 0;
    double behind = 0;  ///< updates by others between this worker's last answer and its push
  };
  /// Those who get `parameters` now, in the order in which they have come.
  std::vector<Answer> take(Executor& executor, const OptimizerSpec& optimizer, const Push& push);
  const Tensor& parameters() const { return state_.parameters; }

 private:
  struct Client {
    std::uint64_t pushed = 0, known = 0;  // steps; updates at its last answer
    double behind = 0;
    Tensor gradient;  // synchronous, until all are there
  };
  void update(Executor& executor, const OptimizerSpec& optimizer, std::uint64_t step, const Tensor& gradient);
  std::vector<Answer> answers();

  ServerRules rules_;
  std::vector<Client> clients_;
  ReplicaState state_;
  std::vector<int> waiting_;  // for an answer, in the order in which they have come
  std::uint64_t updates_ = 0;
};

}  // namespace simsgd
