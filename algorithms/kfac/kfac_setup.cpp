#include "algorithms/kfac/kfac_setup.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "algorithms/cost_notes.hpp"

namespace simsgd {

namespace {

constexpr double kReleasedWeight = 0.05;

double old_weight(const RawValue& ema) {
  if (ema.json() == "released") return kReleasedWeight;
  const double weight = ema.json().is_number() ? ema.json().get<double>() : -1;
  if (!(weight >= 0 && weight < 1))
    reject("ema", "is no weight of the old factor",
           "Use \"released\", or a number from 0 up to (not including) 1 such as 0.95");
  return weight;
}

void check_intervals(const KfacOptions& options) {
  const std::uint64_t rest = options.inverse_interval % options.factor_interval;
  if (rest == 0) return;
  reject("inverse_interval",
         fmt::format("is no multiple of the factor interval of {}: some inversions would repeat the last "
                     "ones, or use factors that are about to change",
                     options.factor_interval),
         fmt::format("Use {} or another multiple of {}",
                     options.inverse_interval - rest + options.factor_interval, options.factor_interval));
}

void check_layers(const KfacSetup& setup, const AlgorithmContext& context) {
  if (setup.layers.count() == 0)
    reject(
        "name",
        fmt::format("has nothing to work on: no layer of the workload \"{}\" has factors",
                    context.workload->name),
        "Write the tensors of its linear and convolutional layers as [rows, columns], or use allreduce_sgd");
  if (context.learner != nullptr && setup.learned.layout.layers.empty())
    reject("name", "has nothing to work on: the learner's model has no linear or convolutional layer",
           "Use a model that has, such as mlp, or allreduce_sgd");
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
  f.number("damping", math.damping, "gamma, added to the diagonal of every factor before it is inverted")
      .above(0);
  f.choice("damping_rule", math.split_by_pi, {{"plain", false}, {"pi", true}},
           "plain: gamma on both factors; pi: its square root, split between A and G by their mean "
           "diagonals");
  f.raw(
      "ema", ema,
      {{"type", {"number", "string"}},
       {"description",
        "weight of the old factor in the running average, which starts at the identity; \"released\" is the "
        "0.05 of the released code of SPD-KFAC (it weighs the new one 0.95)"}});
  f.number("kl_clip", math.kl_clip, "largest squared size of a step in the metric of the factors; 0: no clip")
      .at_least(0);
  f.whole("factor_interval", factor_interval, "steps between two updates of the factors").at_least(1);
  f.whole("inverse_interval", inverse_interval, "steps between two inversions; a multiple of factor_interval")
      .at_least(1);
  fusion.fields(f);
}

void DistributedKfacOptions::fields(Fields& f) {
  KfacOptions::fields(f);
  f.bytes("factor_threshold", factor_threshold_bytes,
          "size at which factors that are sent together are sent; Horovod's 64 MiB")
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
