#include "algorithms/parameter_server/piece_server.hpp"

#include <algorithm>

namespace simsgd {

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
