// How the micro-batches that the workers finished in a round change their models. c_i of M micro-batches of
// worker i of n, G_i the sum of their mean gradients, U the optimizer:
//   sample   x <- x - eta U(sum_i G_i / (n M)): the mean over samples, eta scaled by the share of
//            micro-batches that were finished
//   worker   x <- x - eta U(mean of G_i / c_i over the workers with c_i > 0); nobody: a gradient of 0
// Over gossip, g_i = G_i / M (sample) or G_i / c_i (worker; 0 if c_i is 0) takes the place of the gradient in
// the rule: D-PSGD x_i <- sum_j w_ij x_j - eta U(g_i), MATCHA X <- W(k) (X - eta U(g)).
#pragma once

#include <memory>
#include <vector>

#include "algorithms/gossip_rounds.hpp"
#include "sim/base/fields.hpp"
#include "sim/worker.hpp"

namespace simsgd {

enum class Weighting : std::uint8_t { sample, worker };

struct RoundSettings {
  int micro_batches = 1;  ///< M
  Weighting weighting = Weighting::sample;

  void fields(Fields& f);
};

/// One rank's part in the exchange that ends every round.
class RoundUpdate {
 public:
  virtual ~RoundUpdate() = default;
  /// Exchanges and changes the worker's model. `gradients` are those of the micro-batches that it finished.
  virtual void apply(const std::vector<Tensor>& gradients) = 0;
};

/// All-reduce of [G_i ; c_i]. Bytes per worker and round: those of the model and one number more, 2 (P-1)/P
/// of them by a ring.
std::unique_ptr<RoundUpdate> update_over_allreduce(Worker& worker, const RoundSettings& settings);

/// A round of gossip, which must outlive this. Bytes per worker and round: the gossip's.
std::unique_ptr<RoundUpdate> update_over_gossip(Worker& worker, const RoundSettings& settings,
                                                const GossipRounds& gossip);

}  // namespace simsgd
