// constant: some workers are always slower, or always late by the same time.
#include "sim/cluster/stragglers/kinds.hpp"
#include "sim/cluster/stragglers/options.hpp"

namespace simsgd {

namespace {

class ConstantStraggler final : public StragglerModel {
 public:
  ConstantStraggler(Straggle constant, bool relative) : constant_(constant), relative_(relative) {}

  void apply(const StragglerContext& context, Straggle& straggle) const override {
    straggle.delay_s += delay_s(constant_.delay_s, relative_, context);
    straggle.factor *= constant_.factor;
  }

 private:
  Straggle constant_;
  bool relative_;
};

std::unique_ptr<const StragglerModel> make_constant(const Parameters& parameters, const StragglerSetup&) {
  if (!parameters.has("factor") && !parameters.has("delay"))
    Parameters::reject("factor", "is missing", "Give \"factor\", \"delay\" or both");
  if (is_relative(parameters) && !parameters.has("delay"))
    Parameters::reject("relative", "has no delay to apply to", "Give \"delay\", or leave \"relative\" out");
  Straggle constant;
  constant.factor = parameters.number("factor", 1);
  if (!(constant.factor > 0))
    Parameters::reject("factor", "is not above 0", "Give a factor above 0, such as 2 for half the speed");
  if (parameters.has("delay")) constant.delay_s = read_amount(parameters, "delay", delay_unit(parameters));
  return std::make_unique<ConstantStraggler>(constant, is_relative(parameters));
}

}  // namespace

StragglerPlugin constant_straggler() {
  const Json factor = {{"type", "number"},
                       {"exclusiveMinimum", 0},
                       {"description", "Computes this many times slower: 2 is half the speed; 1 by default"}};
  PluginInfo info{
      .name = "constant",
      .summary = "Workers that are slower, or late by the same time, in every step",
      .citation = "",
      .properties = {{"factor", factor},
                     {"delay", amount_schema(DrawUnit::seconds, "Idle time before each step; 0 by default")}},
      .required = {}};
  return {std::move(info), make_constant};
}

}  // namespace simsgd
