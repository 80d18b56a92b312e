// The section "optimizer": how a gradient changes the model, and the learning rate over steps.
#include <nlohmann/json.hpp>

#include "scenarios/language/schema_parts.hpp"
#include "scenarios/language/sections.hpp"

namespace simsgd {

namespace {

/// Gives a learning rate its shape over steps.
using RatePlugin = Plugin<LearningRate>;

struct ConstantRate {
  LearningRate rate;

  void fields(Fields& f) {
    f.whole("warmup_steps", rate.warmup_steps, "Steps of linear warm-up");
    f.number("warmup_from", rate.warmup_from,
             "Fraction of the learning rate at the first step of the warm-up")
        .at_least(0)
        .at_most(1);
  }
};

struct SteppedRate : ConstantRate {
  void fields(Fields& f) {
    ConstantRate::fields(f);
    f.list("milestones", rate.milestones, "Steps at which the learning rate is multiplied by gamma", "A step")
        .required()
        .items_at_least(1)
        .example("[1000, 2000]");
    f.number("gamma", rate.gamma, "Factor at each milestone").above(0);
  }
};

struct CosineRate : ConstantRate {
  std::optional<std::uint64_t> total_steps;

  void fields(Fields& f) {
    ConstantRate::fields(f);
    f.whole("total_steps", total_steps, "Step at which the cosine ends").at_least(1).by_rule("/stop/steps");
    f.number("floor", rate.floor, "Fraction of the learning rate at the end").at_least(0).at_most(1);
  }
};

const std::vector<RatePlugin>& rate_plugins() {
  static const std::vector<RatePlugin> table = {
      {{"constant", "After the warm-up always the same", ""},
       +[](const ConstantRate& options) { return options.rate; }},
      {{"step", "Multiplied by gamma at each milestone", ""},
       +[](const SteppedRate& options) {
         LearningRate rate = options.rate;
         rate.kind = LearningRate::Kind::step;
         return rate;
       }},
      {{"cosine", "Half a cosine wave from 1 down to the floor",
        "Loshchilov, Hutter, ICLR 2017, arXiv:1608.03983"},
       +[](const CosineRate& options) {
         LearningRate rate = options.rate;
         rate.kind = LearningRate::Kind::cosine;
         rate.total_steps = options.total_steps.value_or(0);
         return rate;
       }},
  };
  return table;
}

using OptimizerPlugin = Plugin<OptimizerSpec>;

struct SgdOptions {
  OptimizerSpec spec;
  RawValue schedule{Json{{"name", "constant"}}};

  void fields(Fields& f) {
    f.number("learning_rate", spec.learning_rate.base, "Step size").at_least(0);
    f.number("momentum", spec.momentum, "Momentum, 0 for none").at_least(0).below(1);
    f.flag("nesterov", spec.nesterov, "Nesterov's momentum");
    f.number("weight_decay", spec.weight_decay, "Multiple of the weights added to the gradient").at_least(0);
    f.plugin("schedule", schedule, rate_plugins(), "Learning rate over steps");
  }
};

OptimizerSpec make_sgd(const SgdOptions& options) {
  OptimizerSpec spec = options.spec;
  const double base = spec.learning_rate.base;
  spec.learning_rate =
      find_plugin(rate_plugins(), options.schedule.name(), "schedule").make(options.schedule.json());
  spec.learning_rate.base = base;
  return spec;
}

const std::vector<OptimizerPlugin>& optimizer_plugins() {
  static const std::vector<OptimizerPlugin> table = {
      {{"sgd", "Stochastic gradient descent with momentum", "Sutskever et al., ICML 2013"}, make_sgd}};
  return table;
}

}  // namespace

Json schema::optimizer() {
  return with_default(plugin("How a gradient changes the model", optimizer_plugins()), {{"name", "sgd"}});
}

void complete_optimizer(Json& json, const Json& stop) {
  Json& schedule = json["schedule"];
  if (schedule["name"] == "cosine" && !schedule.contains("total_steps") && stop.is_object() &&
      stop.contains("steps"))
    schedule["total_steps"] = stop["steps"];
}

OptimizerSpec build_optimizer(const Reader& reader) {
  const Json& section = reader.value("/optimizer");
  const OptimizerSpec spec =
      find_plugin(optimizer_plugins(), section["name"].get<std::string>(), "optimizer").make(section);
  if (spec.learning_rate.kind == LearningRate::Kind::cosine && spec.learning_rate.total_steps == 0)
    reader.error("/optimizer/schedule",
                 "needs \"total_steps\", because /stop/steps does not say how long the run is",
                 "Add \"total_steps\"");
  return spec;
}

}  // namespace simsgd
