#include "algorithms/kfac/factor_round.hpp"

namespace simsgd {

Tensor FactorRound::mean_gradient(bool due) {
  BucketedAllreduce mean(worker_, setup_.buckets);
  if (!due) {
    mean.compute_gradient();
    return mean.wait();
  }
  GradientOptions options;
  options.statistics = setup_.statistics;
  options.take_statistics = [this](const Tensor& factors) { own_ = factors; };
  if (plan_.pipelined) add_pipeline(options);
  mean.compute_gradient(options);
  const Tensor gradient = mean.wait();
  if (!plan_.pipelined) compute_in_bulk();
  return gradient;
}

void FactorRound::add_pipeline(GradientOptions& options) {
  const KfacLayers& layers = setup_.layers;
  options.before_forward = [this, &layers](const LayerPass& pass) {
    if (!pass.last || next_layer_ == layers.count() || layers.a(next_layer_).layer != pass.layer) return;
    spend_on(2 * next_layer_);
    finished(2 * next_layer_++);
  };
  for (std::size_t k = layers.count(); k-- > 0;)
    if (g_at_.empty() || g_at_.back() != layers.ready_at[k]) g_at_.push_back(layers.ready_at[k]);
  options.ready_at = g_at_;
  options.gradient_ready = [this, &layers](const TensorInfo&, const Tensor&) {
    const std::size_t position = g_at_[next_call_++];
    while (next_layer_ > 0 && layers.ready_at[next_layer_ - 1] == position) {
      spend_on(2 * --next_layer_ + 1);
      finished(2 * next_layer_ + 1);
    }
  };
}

void FactorRound::compute_in_bulk() {
  double seconds = 0;
  for (const double each : setup_.costs.factor_s) seconds += each;
  worker_.compute().spend_on(Activity::factor, seconds * setup_.costs.slower(worker_.rank()), own_,
                             "factors");
  for (const std::vector<std::size_t>& group : plan_.groups) send(group);
}

void FactorRound::spend_on(std::size_t factor) {
  const std::string label = "factor " + setup_.layers.factors[factor].name;
  worker_.compute().spend_on(Activity::factor,
                             setup_.costs.factor_s[factor] * setup_.costs.slower(worker_.rank()), own_,
                             label.c_str());
}

// Factors become ready in the order of the groups.
void FactorRound::finished(std::size_t factor) {
  const std::vector<std::size_t>& group = plan_.groups[started_.size()];
  if (group.back() == factor) send(group);
}

Tensor FactorRound::contribution(const std::vector<std::size_t>& group) {
  if (!own_) return {};
  std::vector<Tensor> parts;
  for (const std::size_t factor : group) {
    for (const std::size_t l : setup_.learned.of[factor / 2]) {
      const LayerFactors& layer = setup_.learned.layout.layers[l];
      const bool is_a = factor % 2 == 0;
      const std::size_t begin = is_a ? layer.a_offset : layer.g_offset;
      const std::size_t size = triangle(static_cast<std::size_t>(is_a ? layer.a_dim : layer.g_dim));
      parts.push_back(slice(worker_.executor(), own_, begin, begin + size));
    }
  }
  return parts.empty() ? Tensor{} : concatenate(worker_.executor(), parts);
}

void FactorRound::send(const std::vector<std::size_t>& group) {
  AllReduce collective;
  collective.bytes = elements_of(group, setup_.layers) * worker_.workload().bytes_per_parameter;
  collective.tensors = static_cast<int>(group.size());
  collective.traffic = Traffic::factor;
  collective.contribution = contribution(group);
  collective.scale = 1.0 / worker_.size();
  started_.push_back(worker_.collectives().start(std::move(collective)));
}

std::vector<FactorPair> FactorRound::mean_factors() {
  std::vector<FactorPair> factors(setup_.learned.layout.layers.size());
  for (std::size_t i = 0; i < plan_.groups.size(); ++i) {
    worker_.wait(started_[i]);
    if (own_) split(plan_.groups[i], started_[i].result(), factors);
  }
  return factors;
}

void FactorRound::split(const std::vector<std::size_t>& group, const Tensor& sum,
                        std::vector<FactorPair>& factors) {
  std::size_t next = 0;
  for (const std::size_t factor : group) {
    for (const std::size_t l : setup_.learned.of[factor / 2]) {
      const LayerFactors& layer = setup_.learned.layout.layers[l];
      const bool is_a = factor % 2 == 0;
      const std::size_t size = triangle(static_cast<std::size_t>(is_a ? layer.a_dim : layer.g_dim));
      (is_a ? factors[l].a : factors[l].g) = slice(worker_.executor(), sum, next, next + size);
      next += size;
    }
  }
}

}  // namespace simsgd
