// uniform, exponential, shifted_exponential, lognormal, gamma, weibull, pareto, histogram: in each step each
// worker is late by an independent draw from the distribution.
//   blocking all-reduce, delays Exp(mean theta), n workers: E[step] = c + theta H_n; first finisher: c +
//   theta / n
// (David, Nagaraja, Order Statistics, Wiley 2003; checked by tests/cluster/distributions.cpp).
#include "sim/cluster/stragglers/registry.hpp"
#include "sim/distributions/registry.hpp"

namespace simsgd::stragglers {

namespace {

class RandomDelay final : public StragglerModel {
 public:
  RandomDelay(Distribution delay, bool relative) : delay_(std::move(delay)), relative_(relative) {}

  void apply(const StragglerContext& context, Straggle& straggle) const override {
    Stream stream = straggler_stream(context, StragglerDraw::value);
    straggle.delay_s += delay_s(delay_.draw(stream), relative_, context);
  }

 private:
  Distribution delay_;
  bool relative_;
};

/// A delay drawn from that distribution in every step: its options are the straggler's own.
StragglerPlugin straggler_of(const DistributionPlugin& distribution) {
  PluginInfo info = distribution.info;
  info.summary += "; a delay for each worker and step";
  return {std::move(info), distribution.own_fields(),
          [distribution](const Json& object, const StragglerCommon& common,
                         const StragglerSetup&) -> MadeStraggler {
            return std::make_unique<RandomDelay>(distribution.make(object, common.delay_unit()),
                                                 common.relative);
          }};
}

}  // namespace

/// One for each distribution but the constant, which has a file of its own.
std::vector<StragglerPlugin> random_delay() {
  std::vector<StragglerPlugin> all;
  for (const DistributionPlugin& each : distribution_plugins())
    if (each.info.name != "constant") all.push_back(straggler_of(each));
  return all;
}

}  // namespace simsgd::stragglers
