#include "sim/learn/gradient.hpp"

#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {
std::vector<std::int32_t> samples_of(const Learner& learner, const BatchOf& batch) {
  return learner.samples(batch.rank, batch.step, batch.part.index, batch.part.count);
}
}  // namespace

Tensor submit_gradient(Executor& executor, const Learner& learner, const Tensor& parameters,
                       const BatchOf& batch) {
  return executor.submit({parameters}, [&learner, batch](TensorData& out, auto in) {
    out.values.resize(in[0]->values.size());
    out.scalars = {learner.gradient(in[0]->values, samples_of(learner, batch), out.values)};
  });
}

GradientAndStatistics submit_gradient(Executor& executor, const Learner& learner, const Tensor& parameters,
                                      const BatchOf& batch,
                                      const std::shared_ptr<const LayerStatistics>& statistics) {
  const auto tap = std::make_shared<LayerTap<float>>();  // shared by the pass and what is made of it
  GradientAndStatistics result;
  result.gradient = executor.submit({parameters}, [&learner, batch, tap](TensorData& out, auto in) {
    out.values.resize(in[0]->values.size());
    out.scalars = {learner.gradient(in[0]->values, samples_of(learner, batch), out.values, tap.get())};
  });
  result.statistics = executor.submit({result.gradient}, [&learner, tap, statistics](TensorData& out, auto) {
    statistics->compute(learner, *tap, out.values);
  });
  return result;
}

}  // namespace simsgd
