// One step's gradient and factors: computed, and averaged over all workers. Each factor costs its time, A
// before its layer's forward pass and G after its backward pass (pipelined) or all of them after the gradient
// (in bulk); groups of factors travel on the gradient's channel as soon as their last one is there.
#pragma once

#include <vector>

#include "algorithms/kfac/factor_plan.hpp"
#include "algorithms/kfac/kfac_setup.hpp"
#include "sim/worker.hpp"

namespace simsgd {

class FactorRound {
 public:
  FactorRound(Worker& worker, const KfacSetup& setup, const FactorPlan& plan)
      : worker_(worker), setup_(setup), plan_(plan) {}

  /// The mean gradient over all workers; with the factors if they are `due`.
  Tensor mean_gradient(bool due);
  /// Their means over all workers, by layer of the learner (none without one). After a gradient with factors.
  std::vector<FactorPair> mean_factors();

 private:
  void add_pipeline(GradientOptions& options);
  void compute_in_bulk();
  void spend_on(std::size_t factor);
  void finished(std::size_t factor);
  Tensor contribution(const std::vector<std::size_t>& group);
  void send(const std::vector<std::size_t>& group);
  void split(const std::vector<std::size_t>& group, const Tensor& sum, std::vector<FactorPair>& factors);

  Worker& worker_;
  const KfacSetup& setup_;
  const FactorPlan& plan_;
  Tensor own_;                     // this worker's factors
  std::vector<std::size_t> g_at_;  // places in Workload::tensors after which there are G to compute
  std::size_t next_call_ = 0, next_layer_ = 0;
  std::vector<Handle<Tensor>> started_;  // a message for each group
};

}  // namespace simsgd
