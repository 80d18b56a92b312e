#include "algorithms/parameter_server/model_server.hpp"

#include <algorithm>

namespace simsgd {

void ModelServer::take(std::size_t bucket, const PieceServer::Push& push) {
  if (push_s_[bucket] <= 0) return take_over(bucket, push);
  const double now_s = worker_.now();
  free_s_ = std::max(free_s_, now_s) + push_s_[bucket];
  worker_.background().then(worker_.background().start_timer(free_s_ - now_s),
                            [self = shared_from_this(), bucket, push] { self->take_over(bucket, push); });
}

void ModelServer::take_own(std::size_t bucket, const PieceServer::Push& push) {
  worker_.background().then(worker_.background().start_timer(0),
                            [self = shared_from_this(), bucket, push] { self->take(bucket, push); });
}

void ModelServer::take_over(std::size_t bucket, const PieceServer::Push& push) {
  PieceServer& piece = pieces_[bucket];
  for (const PieceServer::Answer& each : piece.take(worker_.executor(), worker_.replica().optimizer(), push))
    answer_(bucket, each, piece.parameters());
}

}  // namespace simsgd
