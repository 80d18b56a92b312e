// The options that every optimizer has, around the plug-ins' own.
#include "sim/learn/optimizers/registry.hpp"

#include <nlohmann/json.hpp>
#include <optional>

namespace simsgd {

namespace {

/// Gives a learning rate its shape over steps.
using RatePlugin = Plugin<LearningRate>;

struct ConstantRate {
  LearningRate rate;

  void fields(Fields& f) {
    f.whole("warmup_steps", rate.warmup_steps, "The learning rate rises linearly for this many steps");
    f.number("warmup_from", rate.warmup_from,
             "The first step of the warm-up has this fraction of the learning rate")
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
    f.number("gamma", rate.gamma, "The learning rate is multiplied by this at each milestone").above(0);
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
      {{"constant", "Constant after the warm-up", ""},
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

/// What every optimizer has beside its own options.
struct OptimizerCommon {
  double learning_rate = LearningRate().base;
  RawValue schedule{Json{{"name", "constant"}}};
  std::optional<double> clip_norm;

  void fields(Fields& f) {
    f.number("learning_rate", learning_rate, "The learning rate: a step is this times the gradient")
        .at_least(0);
    f.plugin("schedule", schedule, rate_plugins(), "How the learning rate changes over the steps");
    f.number("clip_norm", clip_norm,
             "A gradient that is longer (Euclidean norm) is scaled to this length before the update")
        .above(0)
        .by_rule("no clipping")
        .remedy("or leave it out for no clipping");
  }
};

LearningRate learning_rate_of(const OptimizerCommon& common) {
  LearningRate rate =
      find_plugin(rate_plugins(), common.schedule.name(), "schedule").make(common.schedule.json());
  rate.base = common.learning_rate;
  return rate;
}

}  // namespace

void OptimizerPlugin::form(Json& form) const {
  Plugin::form(form);
  OptimizerCommon common;
  common.learning_rate = learning_rate;
  Fields fields;
  common.fields(fields);
  form["properties"].update(fields.schema("")["properties"]);
}

OptimizerSpec make_optimizer(const Json& object) {
  const OptimizerPlugin& plugin = find_plugin(optimizer_plugins(), RawValue(object).name(), "optimizer");
  Json own = object;
  OptimizerCommon common;
  common.learning_rate = plugin.learning_rate;
  take_options(common, own);
  return {.learning_rate = learning_rate_of(common),
          .rule = plugin.make(own),
          .clip_norm = common.clip_norm.value_or(0)};
}

}  // namespace simsgd
