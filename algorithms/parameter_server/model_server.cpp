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

std::vector<PieceServer::Answer> PieceServer::take(Executor& executor, const OptimizerSpec& optimizer,
                                                   const Push& push) {
  Client& client = clients_[static_cast<std::size_t>(push.from)];
  ++client.pushed;
  client.behind = static_cast<double>(updates_ - client.known);
  client.gradient = push.gradient;
  waiting_.push_back(push.from);
  if (rules_.together && waiting_.size() < clients_.size()) return {};
  if (!rules_.together) {
    update(executor, optimizer, push.step, client.gradient);
  } else if (push.gradient) {
    std::vector<Tensor> gradients;
    for (const Client& each : clients_) gradients.push_back(each.gradient);
    update(executor, optimizer, push.step,
           linear_combination(executor, std::vector<double>(gradients.size(), 1.0), gradients,
                              1.0 / static_cast<double>(gradients.size())));
  }
  return answers();
}

void PieceServer::update(Executor& executor, const OptimizerSpec& optimizer, std::uint64_t step,
                         const Tensor& gradient) {
  ++updates_;
  if (gradient) state_ = optimizer.step(executor, step, state_, gradient);
}

std::vector<PieceServer::Answer> PieceServer::answers() {
  std::uint64_t slowest = clients_.front().pushed;
  for (const Client& client : clients_) slowest = std::min(slowest, client.pushed);
  std::vector<Answer> now;
  std::erase_if(waiting_, [&](int rank) {
    Client& client = clients_[static_cast<std::size_t>(rank)];
    if (!rules_.together && client.pushed - slowest > rules_.staleness) return false;
    client.known = updates_;
    client.gradient = {};
    now.push_back({rank, client.behind});
    return true;
  });
  return now;
}

}  // namespace simsgd
