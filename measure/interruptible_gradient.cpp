#include "measure/interruptible_gradient.hpp"

#include <utility>

#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

Tensor submit_interruptible(Executor& executor, const Learner& learner, const Tensor& parameters,
                            const BatchOf& batch, std::shared_ptr<const std::atomic<bool>> given_up) {
  return executor.submit(
      {parameters}, [&learner, batch, given_up = std::move(given_up)](TensorData& out, auto in) {
        out.values.resize(in[0]->values.size());
        out.scalars = {0};
        if (*given_up) return;
        Batch<float> samples = learner.train_set().batch<float>(
            learner.samples(batch.rank, batch.step, batch.part.index, batch.part.count));
        samples.given_up = given_up.get();
        out.scalars = {static_cast<double>(
            learner.model().loss_and_gradient(in[0]->values, samples, out.values, nullptr))};
      });
}

}  // namespace simsgd
