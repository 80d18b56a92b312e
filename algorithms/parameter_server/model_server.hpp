// A server's parts of all buckets of the model, and the queue before it: pushes are taken over one after
// another, each for as long as adding it up takes there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/learn/optimizer.hpp"
#include "sim/learn/tensor.hpp"
#include "sim/worker.hpp"

namespace simsgd {

// A parameter server's part of the model: it takes over what workers push, and says whom it answers now.
//   synchronous: w <- w - eta U(1/P sum_i g_i) once all P workers have pushed; all are answered
//   asynchronous: w <- w - eta U(g_i) at once, and i is answered
//   stale-synchronous: the same, but i is answered once nobody is more than s steps behind it
// The sum is added up in the order of ranks, whoever comes first.

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

/// Lives on `worker`'s rank, beside it: shared by its run() and its handlers, which the worker keeps.
class ModelServer : public std::enable_shared_from_this<ModelServer> {
 public:
  using Answer =
      std::function<void(std::size_t bucket, const PieceServer::Answer& answer, const Tensor& parameters)>;
  /// `pieces` and `push_s`, seconds of a push, by bucket.
  ModelServer(Worker& worker, std::vector<PieceServer> pieces, std::vector<double> push_s, Answer answer)
      : worker_(worker), pieces_(std::move(pieces)), push_s_(std::move(push_s)), answer_(std::move(answer)) {}

  /// A push has come; in a handler.
  void take(std::size_t bucket, const PieceServer::Push& push);
  /// The same of its own worker, whose main thread may be ahead of what is due in the background.
  void take_own(std::size_t bucket, const PieceServer::Push& push);

 private:
  void take_over(std::size_t bucket, const PieceServer::Push& push);

  Worker& worker_;
  std::vector<PieceServer> pieces_;
  std::vector<double> push_s_;
  Answer answer_;
  double free_s_ = 0;  // when it will have taken over all that came
};

}  // namespace simsgd
