// constant: some workers are always slower, or always late by the same time.
#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd::stragglers {

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

struct ConstantOptions {
  std::optional<double> factor;
  std::optional<Amount> delay;

  void fields(Fields& f) {
    f.number("factor", factor, "Computing takes this many times as long: 2 is half the speed")
        .above(0)
        .by_rule("1");
    f.amount("delay", delay, "Workers are idle for this long before each step").by_rule("0");
  }
};

MadeStraggler make_constant(const ConstantOptions& options, const StragglerCommon& common,
                            const StragglerSetup&) {
  if (!options.factor && !options.delay) reject("factor", "is missing", "Give \"factor\", \"delay\" or both");
  if (common.relative && !options.delay)
    reject("relative", "has no effect without a delay", "Give \"delay\", or leave \"relative\" out");
  Straggle constant;
  constant.factor = options.factor.value_or(1);
  if (options.delay) constant.delay_s = options.delay->in(common.delay_unit(), "delay");
  return std::make_unique<ConstantStraggler>(constant, common.relative);
}

}  // namespace

std::vector<StragglerPlugin> constant() {
  return {{{.name = "constant",
            .summary = "Workers that are slower, or late by the same time, in every step",
            .citation = ""},
           make_constant}};
}

}  // namespace simsgd::stragglers
