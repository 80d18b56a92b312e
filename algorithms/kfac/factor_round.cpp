#include "algorithms/kfac/factor_round.hpp"

namespace simsgd {

namespace {

/// Appends the groups of consecutive `factors` of these sizes.
void add_groups(const GroupSizes& sizes, const std::vector<std::size_t>& factors, FactorPlan& plan) {
  std::size_t next = 0;
  for (const std::size_t size : sizes) {
    plan.groups.emplace_back();
    for (std::size_t i = 0; i < size; ++i) plan.groups.back().push_back(factors[next++]);
  }
}

}  // namespace

double elements_of(const std::vector<std::size_t>& group, const KfacLayers& layers) {
  double elements = 0;
  for (const std::size_t factor : group) elements += layers.factors[factor].elements();
  return elements;
}

FactorOrder factor_order(const Workload& workload, const KfacSetup& setup) {
  FactorOrder order;
  const KfacLayers& layers = setup.layers;
  double now_s = 0;
  std::size_t done = 0;  // layers of the workload whose forward pass is over
  for (std::size_t k = 0; k < layers.count(); ++k) {
    for (; done < static_cast<std::size_t>(layers.a(k).layer); ++done)
      now_s += workload.layers[done].forward_s;
    now_s += setup.costs.factor_s[2 * k];
    order.a.push_back(2 * k);
    order.a_ready.push_back({now_s, layers.a(k).elements()});
  }
  now_s = 0;
  done = workload.layers.size();  // layers whose backward pass is still to come
  for (std::size_t k = layers.count(); k-- > 0;) {
    while (done > static_cast<std::size_t>(layers.g(k).layer)) now_s += workload.layers[--done].backward_s;
    now_s += setup.costs.factor_s[2 * k + 1];
    order.g.push_back(2 * k + 1);
    order.g_ready.push_back({now_s, layers.g(k).elements()});
  }
  return order;
}

FactorPlan bulk_plan(const FactorOrder& order, double fusion_elements) {
  std::vector<std::size_t> factors = order.a;
  std::vector<ReadyPart> ready = order.a_ready;
  factors.insert(factors.end(), order.g.begin(), order.g.end());
  ready.insert(ready.end(), order.g_ready.begin(), order.g_ready.end());
  FactorPlan plan;
  add_groups(groups_by_threshold(ready, fusion_elements), factors, plan);
  return plan;
}

FactorPlan pipelined_plan(const FactorOrder& order, const GroupSizes& a, const GroupSizes& g) {
  FactorPlan plan;
  plan.pipelined = true;
  add_groups(a, order.a, plan);
  add_groups(g, order.g, plan);
  return plan;
}

RecordTable groups_table(const FactorPlan& plan, const KfacLayers& layers) {
  RecordTable table{"factor_groups", {"group", "factors", "first", "last", "elements"}, {}};
  const auto name = [&layers](std::size_t factor) {
    return (layers.factors[factor].is_a ? "A " : "G ") + std::to_string(factor / 2 + 1);
  };
  for (const std::vector<std::size_t>& group : plan.groups)
    table.rows.push_back({static_cast<double>(table.rows.size() + 1), static_cast<double>(group.size()),
                          name(group.front()), name(group.back()), elements_of(group, layers)});
  return table;
}

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
  worker_.compute().spend_on(Activity::factor,
                             setup_.costs.factor_s[factor] * setup_.costs.slower(worker_.rank()), own_,
                             setup_.layers.factors[factor].computing.c_str());
}

// Factors become ready in the order of the groups.
void FactorRound::finished(std::size_t factor) {
  const std::vector<std::size_t>& group = plan_.groups[started_.size()];
  if (group.back() == factor) send(group);
}

// Of the learned factors that stand for this one.
std::vector<EntryRange> FactorRound::entries_of(std::size_t factor) const {
  std::vector<EntryRange> entries;
  for (const std::size_t l : setup_.learned.of[factor / 2]) {
    const LayerFactors& layer = setup_.learned.layout.layers[l];
    const bool is_a = factor % 2 == 0;
    const std::size_t begin = is_a ? layer.a_offset : layer.g_offset;
    entries.push_back({begin, begin + triangle(static_cast<std::size_t>(is_a ? layer.a_dim : layer.g_dim))});
  }
  return entries;
}

Tensor FactorRound::gathered(const std::vector<EntryRange>& entries) {
  std::vector<Tensor> parts;
  for (const EntryRange& each : entries)
    parts.push_back(slice(worker_.executor(), own_, each.begin, each.end));
  return parts.empty() ? Tensor{} : concatenate(worker_.executor(), parts);
}

void FactorRound::send(const std::vector<std::size_t>& group) {
  AllReduce collective;
  collective.bytes = elements_of(group, setup_.layers) * worker_.workload().bytes_per_parameter;
  collective.tensors = static_cast<int>(group.size());
  collective.traffic = Traffic::factor;
  std::vector<EntryRange> parts;
  if (own_)
    for (const std::size_t factor : group)
      for (const EntryRange& part : entries_of(factor)) parts.push_back(part);
  if (parts.size() == 1) {
    collective.contribution = own_;
    collective.entries = parts.front();
  } else {
    collective.contribution = gathered(parts);
  }
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
