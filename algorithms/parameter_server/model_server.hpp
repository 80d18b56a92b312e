// A server's parts of all buckets of the model, and the queue before it: pushes are taken over one after
// another, each for as long as adding it up takes there.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "algorithms/parameter_server/piece_server.hpp"
#include "sim/worker.hpp"

namespace simsgd {

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
