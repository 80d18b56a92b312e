#include "algorithms/kfac/kfac_setup.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "algorithms/plugin.hpp"
#include "sim/base/errors.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

/// Of a layer's factors; 0 where it has none.
struct FactorDims {
  int a = 0, g = 0;
};

FactorDims factor_dims(const Layer& layer) {
  const bool linear = layer.kind == Layer::Kind::conv || layer.kind == Layer::Kind::fc;
  if (!linear || layer.tensors.empty() || !layer.tensors.front().is_matrix()) return {};
  const TensorShape& weight = layer.tensors.front();
  const bool bias = std::any_of(
      layer.tensors.begin() + 1, layer.tensors.end(),
      [&weight](const TensorShape& each) { return !each.is_matrix() && each.rows == weight.rows; });
  return {static_cast<int>(weight.columns) + (bias ? 1 : 0), static_cast<int>(weight.rows)};
}

}  // namespace

KfacLayers kfac_layers(const Workload& workload) {
  KfacLayers result;
  const std::vector<TensorInfo> tensors = workload.tensors();
  for (std::size_t l = 0; l < workload.layers.size(); ++l) {
    const Layer& layer = workload.layers[l];
    const FactorDims dims = factor_dims(layer);
    if (dims.g == 0) continue;
    const int index = static_cast<int>(l);
    for (const bool is_a : {true, false}) {
      const std::string name = (is_a ? "A " : "G ") + layer.name;
      result.factors.push_back(
          {index, is_a, is_a ? dims.a : dims.g, layer.positions, name, "factor " + name, "inverse " + name});
    }
    // The first place at which this layer and all behind it are through.
    std::size_t position = 0;
    while (position + 1 < tensors.size() && tensors[position + 1].layer >= index) ++position;
    result.ready_at.push_back(position);
  }
  return result;
}

LearnedLayers learned_layers(const Learner* learner, std::size_t count) {
  LearnedLayers learned;
  learned.of.resize(count);
  if (learner == nullptr || count == 0) return learned;
  learned.layout = factor_layout(learner->model().layers());
  const std::size_t layers = learned.layout.layers.size();
  for (std::size_t l = 0; l < layers; ++l) learned.of[(2 * l + 1) * count / (2 * layers)].push_back(l);
  return learned;
}

GemmSize factor_product(double samples, const WorkloadFactor& factor) {
  const double n = factor.dim;
  return {.m = n, .n = n, .k = samples * factor.positions};
}

std::vector<GemmSize> precondition_products(const KfacLayers& layers) {
  std::vector<GemmSize> all;
  for (std::size_t k = 0; k < layers.count(); ++k) {
    const double a = layers.a(k).dim, g = layers.g(k).dim;
    all.push_back({.m = g, .n = a, .k = g});
    all.push_back({.m = g, .n = a, .k = a});
  }
  return all;
}

double factor_time_s(const Device& device, double samples, const WorkloadFactor& factor) {
  return gemm_s(device, factor_product(samples, factor)) + device.gemm.gather_s;
}

KfacCosts kfac_costs(const Cluster* cluster, const Workload& workload, const KfacLayers& layers) {
  KfacCosts costs;
  costs.factor_s.assign(layers.factors.size(), 0.0);
  costs.inverse_s.assign(layers.factors.size(), 0.0);
  if (cluster == nullptr) return costs;
  const Device& device = cluster->device;
  if (!(device.peak_flops > 0))
    reject("name", "cannot be timed: the device \"" + device.name + "\" has no peak_flops",
           "Give /cluster/device/peak_flops, from which factors and inverses are timed");
  for (std::size_t f = 0; f < layers.factors.size(); ++f) {
    costs.factor_s[f] = factor_time_s(device, workload.batch, layers.factors[f]);
    costs.inverse_s[f] = invert_s(device, layers.factors[f].dim);
  }
  const std::vector<GemmSize> products = precondition_products(layers);
  for (std::size_t k = 0; k < products.size(); k += 2)
    costs.precondition_s += gemm_s(device, products[k]) + gemm_s(device, products[k + 1]);
  for (int rank = 0; rank < cluster->workers(); ++rank) costs.speed.push_back(cluster->speed_of_rank(rank));
  return costs;
}

namespace {

constexpr double kReleasedWeight = 0.05;

double old_weight(const RawValue& ema) {
  if (ema.json() == "released") return kReleasedWeight;
  const double weight = ema.json().is_number() ? ema.json().get<double>() : -1;
  if (!(weight >= 0 && weight < 1))
    reject("ema", "is out of range for the weight of the old factor",
           "Use \"released\", or a number from 0 up to (not including) 1 such as 0.95");
  return weight;
}

void check_intervals(const KfacOptions& options) {
  const std::uint64_t rest = options.inverse_interval % options.factor_interval;
  if (rest == 0) return;
  reject(
      "inverse_interval",
      fmt::format(
          "is not a multiple of the factor interval, {}: some inversions would repeat the previous one, or use factors that the next step replaces",
          options.factor_interval),
      fmt::format("Use {} or another multiple of {}",
                  options.inverse_interval - rest + options.factor_interval, options.factor_interval));
}

void check_layers(const KfacSetup& setup, const AlgorithmContext& context) {
  if (setup.layers.count() == 0)
    reject(
        "name",
        fmt::format("has nothing to precondition: no layer of the workload \"{}\" has factors",
                    context.workload->name),
        "Write the tensors of its linear and convolutional layers as [rows, columns], or use allreduce_sgd");
  if (context.learner != nullptr && setup.learned.layout.layers.empty())
    reject("name", "has nothing to precondition: the learner's model has no linear or convolutional layer",
           "Use a model with such layers, for example mlp, or the method allreduce_sgd");
}

// Kernels that the device does not know are timed by FLOPs; what cannot be had from these takes no time.
void note_costs_of_kernels(const KfacLayers& layers, const AlgorithmContext& context) {
  if (context.cluster == nullptr) return;
  const Device& device = context.cluster->device;
  note_kernel(context, DeviceKernel::gemm);
  for (const WorkloadFactor& factor : layers.factors)
    note_size(context, factor_product(context.workload->batch, factor));
  for (const GemmSize& size : precondition_products(layers)) note_size(context, size);
  note_device_cost(context, device.gemm.gather_s, "gathering a factor's matrix takes no time", "gemm.gather");
  note_kernel(context, DeviceKernel::invert);
  note_overlap(context);
}

}  // namespace

KfacOptions::KfacOptions() : ema(Json("released")) {}

void KfacOptions::fields(Fields& f) {
  f.number("damping", math.damping,
           "gamma: this is added to the diagonal of every factor before it is inverted")
      .above(0);
  f.choice(
      "damping_rule", math.split_by_pi, {{"plain", false}, {"pi", true}},
      "Both factors get gamma (plain), or its square root, split between A and G by their mean diagonals (pi)");
  f.raw(
      "ema", ema,
      {{"type", {"number", "string"}},
       {"description",
        "The old factor has this weight in the running average, which starts at the identity; \"released\" is the 0.05 of SPD-KFAC's released code, where the new one weighs 0.95"}});
  f.number(
       "kl_clip", math.kl_clip,
       "Largest squared size of a step, in the metric of the factors; larger steps are clipped. 0: none is")
      .at_least(0);
  f.whole("factor_interval", factor_interval, "Steps between two updates of the factors").at_least(1);
  f.whole("inverse_interval", inverse_interval,
          "Factors are inverted every this many steps, a multiple of factor_interval")
      .at_least(1);
  fusion.fields(f);
}

void DistributedKfacOptions::fields(Fields& f) {
  KfacOptions::fields(f);
  f.bytes("factor_threshold", factor_threshold_bytes,
          "A buffer of factors is sent when it has this size; Horovod uses 64 MiB")
      .above(0)
      .example("\"64 MiB\"");
}

KfacSetup make_kfac_setup(const KfacOptions& options, const AlgorithmContext& context) {
  KfacSetup setup;
  setup.math = options.math;
  setup.math.old_weight = old_weight(options.ema);
  check_intervals(options);
  setup.factor_interval = options.factor_interval;
  setup.inverse_interval = options.inverse_interval;
  setup.fusion_elements = options.factor_threshold_bytes / context.workload->bytes_per_parameter;
  setup.buckets = make_buckets(*context.workload, options.fusion);
  setup.layers = kfac_layers(*context.workload);
  setup.learned = learned_layers(context.learner, setup.layers.count());
  check_layers(setup, context);
  setup.costs = kfac_costs(context.cluster, *context.workload, setup.layers);
  note_costs_of_kernels(setup.layers, context);
  return setup;
}

}  // namespace simsgd
