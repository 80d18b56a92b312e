#include "algorithms/nonblocking/round_update.hpp"

#include <algorithm>

namespace simsgd {

namespace {

// weight * the sum of the gradients (zeros if there are none), and `last` as one entry more where asked for.
Tensor weighted_sum(Worker& worker, const std::vector<Tensor>& gradients, double weight,
                    const float* last = nullptr) {
  const std::size_t size = worker.replica().size();
  if (size == 0) return {};
  const bool extended = last != nullptr;
  const float entry = extended ? *last : 0;
  return worker.executor().submit(gradients, [=](TensorData& out, auto in) {
    out.values.assign(size, 0);
    for (const TensorData* gradient : in)
      for (std::size_t i = 0; i < size; ++i) out.values[i] += gradient->values[i];
    if (weight != 1)
      for (float& value : out.values) value *= static_cast<float>(weight);
    if (extended) out.values.push_back(entry);
  });
}

double own_weight(const RoundSettings& settings, std::size_t finished) {
  if (settings.weighting == Weighting::sample || finished == 0) return 1;
  return 1 / static_cast<double>(finished);
}

class UpdateOverAllreduce final : public RoundUpdate {
 public:
  UpdateOverAllreduce(Worker& worker, const RoundSettings& settings) : worker_(worker), settings_(settings) {}

  void apply(const std::vector<Tensor>& gradients) override {
    const bool by_sample = settings_.weighting == Weighting::sample;
    const auto finished = static_cast<float>(gradients.size());
    const float counted = by_sample ? finished : std::min(finished, 1.0F);
    AllReduce collective;
    collective.bytes = worker_.workload().model_bytes() + worker_.workload().bytes_per_parameter;
    collective.contribution =
        weighted_sum(worker_, gradients, own_weight(settings_, gradients.size()), &counted);
    if (by_sample) collective.scale = 1.0 / (static_cast<double>(worker_.size()) * settings_.micro_batches);
    const Handle<Tensor> handle = worker_.collectives().start(std::move(collective));
    worker_.wait(handle);
    worker_.replica().apply(by_sample
                                ? slice(worker_.executor(), handle.result(), 0, worker_.replica().size())
                                : over_count(handle.result()));
  }

 private:
  // The entries over the last one, which counts the workers that gave something.
  Tensor over_count(const Tensor& sum) const {
    if (!sum) return {};
    return worker_.executor().submit_shared("over_count", {}, {sum}, [](TensorData& out, auto in) {
      out.values = in[0]->values;
      const float count = out.values.back();
      out.values.pop_back();
      if (count > 0)
        for (float& value : out.values) value /= count;
    });
  }

  Worker& worker_;
  RoundSettings settings_;
};

class UpdateOverGossip final : public RoundUpdate {
 public:
  UpdateOverGossip(Worker& worker, const RoundSettings& settings, const GossipRounds& gossip)
      : worker_(worker), settings_(settings), gossip_(gossip) {}

  void apply(const std::vector<Tensor>& gradients) override {
    const double weight = settings_.weighting == Weighting::sample ? 1.0 / settings_.micro_batches
                                                                   : own_weight(settings_, gradients.size());
    const Tensor gradient = weighted_sum(worker_, gradients, weight);
    if (gossip_.steps_before_mixing()) worker_.replica().apply(gradient);
    worker_.replica().set(gossip_.mix(worker_, worker_.step(), worker_.replica().parameters()));
    if (!gossip_.steps_before_mixing()) worker_.replica().apply(gradient);
  }

 private:
  Worker& worker_;
  RoundSettings settings_;
  const GossipRounds& gossip_;
};

}  // namespace

void RoundSettings::fields(Fields& f) {
  f.whole("micro_batches", micro_batches, "A worker's batch is cut into this many micro-batches")
      .at_least(1)
      .at_most(1024);
  f.choice(
      "weighting", weighting, {{"sample", Weighting::sample}, {"worker", Weighting::worker}},
      "The update is the mean over finished samples, scaled by their share of the batch (sample), or the mean of the workers' own means (worker)");
}

std::unique_ptr<RoundUpdate> update_over_allreduce(Worker& worker, const RoundSettings& settings) {
  return std::make_unique<UpdateOverAllreduce>(worker, settings);
}

std::unique_ptr<RoundUpdate> update_over_gossip(Worker& worker, const RoundSettings& settings,
                                                const GossipRounds& gossip) {
  return std::make_unique<UpdateOverGossip>(worker, settings, gossip);
}

}  // namespace simsgd
