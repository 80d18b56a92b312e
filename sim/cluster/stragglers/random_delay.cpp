// uniform, exponential, shifted_exponential, lognormal, gamma, weibull, pareto, histogram: in each step each
// worker is late by an independent draw from the distribution.
//   blocking all-reduce, delays Exp(mean theta), n workers: E[step] = c + theta H_n; first finisher: c +
//   theta / n
// (David, Nagaraja, Order Statistics, Wiley 2003; checked by tests/cluster/order_statistics.cpp).
#include "sim/cluster/stragglers/kinds.hpp"
#include "sim/cluster/stragglers/options.hpp"

namespace simsgd {

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

std::unique_ptr<const StragglerModel> make_random_delay(const Parameters& parameters, const StragglerSetup&) {
  const DistributionPlugin& plugin = distribution_plugin(parameters.text("name"));
  return std::make_unique<RandomDelay>(plugin.make(parameters, delay_unit(parameters)),
                                       is_relative(parameters));
}

}  // namespace

StragglerPlugin random_delay_straggler(const std::string& distribution) {
  PluginInfo info = distribution_plugin(distribution).info(DrawUnit::seconds);
  info.summary += "; a delay for each worker and step";
  return {std::move(info), make_random_delay};
}

}  // namespace simsgd
