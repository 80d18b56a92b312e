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
  const std::size_t size = learner.parameters();
  const Tensor both =
      executor.submit({parameters}, [&learner, batch, statistics, size](TensorData& out, auto in) {
        out.values.resize(size + statistics->size(learner));
        const std::span<float> all(out.values);
        LayerTap<float> tap;
        out.scalars = {learner.gradient(in[0]->values, samples_of(learner, batch), all.first(size), &tap)};
        statistics->compute(learner, tap, all.subspan(size));
      });
  GradientAndStatistics result;
  result.gradient = executor.submit({both}, [size](TensorData& out, auto in) {
    const float* begin = in[0]->values.data();
    out.values.assign(begin, begin + size);
    out.scalars = in[0]->scalars;
  });
  result.statistics = executor.submit({both}, [size](TensorData& out, auto in) {
    out.values.assign(in[0]->values.begin() + static_cast<std::ptrdiff_t>(size), in[0]->values.end());
  });
  return result;
}

}  // namespace simsgd
