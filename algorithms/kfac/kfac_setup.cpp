#include "algorithms/kfac/kfac_setup.hpp"

#include <fmt/format.h>

#include "algorithms/cost_notes.hpp"

namespace simsgd {

namespace {

constexpr double kReleasedWeight = 0.05;

Json interval(const std::string& description) {
  return {{"type", "integer"}, {"minimum", 1}, {"default", 1}, {"description", description}};
}

double read_ema(const Parameters& parameters) {
  if (!parameters.has("ema") || parameters.json()["ema"] == "released") return kReleasedWeight;
  const double weight = parameters.json()["ema"].is_number() ? parameters.number("ema") : -1;
  if (!(weight >= 0 && weight < 1))
    Parameters::reject("ema", "is no weight of the old factor",
                       "Use \"released\", or a number from 0 up to (not including) 1 such as 0.95");
  return weight;
}

void read_intervals(const Parameters& parameters, KfacSetup& setup) {
  setup.factor_interval = static_cast<std::uint64_t>(parameters.integer("factor_interval", 1));
  setup.inverse_interval = static_cast<std::uint64_t>(parameters.integer("inverse_interval", 1));
  const std::uint64_t rest = setup.inverse_interval % setup.factor_interval;
  if (rest == 0) return;
  Parameters::reject(
      "inverse_interval",
      fmt::format("is no multiple of the factor interval of {}: some inversions would repeat the last "
                  "ones, or use factors that are about to change",
                  setup.factor_interval),
      fmt::format("Use {} or another multiple of {}", setup.inverse_interval - rest + setup.factor_interval,
                  setup.factor_interval));
}

void check_layers(const KfacSetup& setup, const AlgorithmContext& context) {
  if (setup.layers.count() == 0)
    Parameters::reject("name",
                       fmt::format("has nothing to work on: no layer of the workload \"{}\" has factors",
                                   context.workload->name),
                       "Give its linear and convolutional layers a_dim and g_dim, or use allreduce_sgd");
  if (context.learner != nullptr && setup.learned.layout.layers.empty())
    Parameters::reject("name",
                       "has nothing to work on: the learner's model has no linear or convolutional layer",
                       "Use a model that has, such as mlp, or allreduce_sgd");
}

// Kernels that the device does not know are timed by FLOPs; what cannot be had from these takes no time.
void note_costs_of_kernels(const AlgorithmContext& context) {
  if (context.cluster == nullptr) return;
  const Device& device = context.cluster->device;
  const Cost inverse = device.inverse.times.empty() ? Cost() : Cost(0);
  note_device_cost(context, device.gemm.efficiency,
                   "products of matrices run at the efficiency of training kernels", "gemm.efficiency");
  note_device_cost(context, device.gemm.gather_s, "gathering a factor's matrix takes no time", "gemm.gather");
  note_device_cost(context, inverse, "inverses are timed by FLOPs at the efficiency of training kernels",
                   "inverse.times");
  note_device_cost(context, device.inverse.overhead_s, "an inverse takes its kernel's time alone",
                   "inverse.overhead");
  note_overlap(context);
}

}  // namespace

Json kfac_schema() {
  Json schema = {
      {"damping",
       {{"type", "number"},
        {"exclusiveMinimum", 0},
        {"default", 0.002},
        {"description", "gamma, added to the diagonal of every factor before it is inverted"}}},
      {"damping_rule",
       {{"enum", {"plain", "pi"}},
        {"default", "plain"},
        {"description",
         "plain: gamma on both factors; pi: its square root, split between A and G by their mean "
         "diagonals"}}},
      {"ema",
       {{"type", {"number", "string"}},
        {"default", "released"},
        {"description",
         "weight of the old factor in the running average, which starts at the identity; \"released\" is the "
         "0.05 of the released code of SPD-KFAC (it weighs the new one 0.95)"}}},
      {"kl_clip",
       {{"type", "number"},
        {"minimum", 0},
        {"default", 0.001},
        {"description", "largest squared size of a step in the metric of the factors; 0: no clip"}}},
      {"factor_interval", interval("steps between two updates of the factors")},
      {"inverse_interval", interval("steps between two inversions; a multiple of factor_interval")}};
  schema.update(fusion_schema());
  return schema;
}

Json factor_threshold_schema() {
  Json schema = quantity("bytes", "size at which factors that are sent together are sent; Horovod's 64 MiB");
  schema["default"] = "64 MiB";
  schema["exclusiveMinimum"] = 0;
  return {{"factor_threshold", std::move(schema)}};
}

KfacSetup make_kfac_setup(const Parameters& parameters, const AlgorithmContext& context) {
  KfacSetup setup;
  setup.math = {.damping = parameters.number("damping", setup.math.damping),
                .split_by_pi = parameters.text("damping_rule", "plain") == "pi",
                .old_weight = read_ema(parameters),
                .kl_clip = parameters.number("kl_clip", setup.math.kl_clip)};
  read_intervals(parameters, setup);
  const double threshold = parameters.quantity("factor_threshold", Dimension::bytes, 64.0 * 1024 * 1024);
  setup.fusion_elements = threshold / context.workload->bytes_per_parameter;
  setup.buckets = make_buckets(*context.workload, fusion_from(parameters));
  setup.layers = kfac_layers(*context.workload);
  setup.learned = learned_layers(context.learner, setup.layers.count());
  check_layers(setup, context);
  setup.costs = kfac_costs(context.cluster, *context.workload, setup.layers);
  note_costs_of_kernels(context);
  return setup;
}

}  // namespace simsgd
