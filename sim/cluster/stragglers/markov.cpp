// markov: each worker is slow now and then, by a chain of two states of its own.
//   P(fast -> slow) = p = 1 / fast_steps,  P(slow -> fast) = q = 1 / slow_steps in every step: durations are
//   geometric with these means, and slow_steps / (slow_steps + fast_steps) of all steps are slow
// The state of a step without the steps before it: with p + q <= 1 a step of the chain is "become slow" with
// probability p, "become fast" with q, and else "stay", whatever the state was. The state is that of the last
// such renewal (coupling from the past; Propp, Wilson, Random Structures and Algorithms 9, 1996). Renewals
// are Bernoulli(p + q), drawn gap by gap in blocks of 1 / (p + q) steps: a few draws, however long the run.
// Checked by tests/cluster/correlated.cpp.
#include <cmath>

#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd::stragglers {

namespace {

class MarkovStraggler final : public StragglerModel {
 public:
  struct Settings {
    double slow_steps = 1, fast_steps = 1;  ///< means
    Straggle slow;
    bool relative = false;
  };

  explicit MarkovStraggler(const Settings& settings)
      : settings_(settings),
        renewal_(1 / settings.fast_steps + 1 / settings.slow_steps),
        slow_share_(settings.slow_steps / (settings.slow_steps + settings.fast_steps)),
        block_steps_(static_cast<std::uint64_t>(std::ceil(1 / renewal_))) {}

  void apply(const StragglerContext& context, Straggle& straggle) const override {
    if (!is_slow(context)) return;
    straggle.delay_s += delay_s(settings_.slow.delay_s, settings_.relative, context);
    straggle.factor *= settings_.slow.factor;
  }

 private:
  bool is_slow(const StragglerContext& context) const {
    for (std::uint64_t block = (context.step - 1) / block_steps_ + 1; block > 0; --block) {
      bool found = false, slow = false;
      Stream stream = draws(context, block);
      const std::uint64_t last = std::min(context.step, block * block_steps_);
      for (std::uint64_t step = (block - 1) * block_steps_;;) {
        const double gap = next_gap(stream);
        if (gap > static_cast<double>(last - step)) break;
        step += static_cast<std::uint64_t>(gap);
        found = true;
        slow = stream.uniform() < slow_share_;
      }
      if (found) return slow;
    }
    return draws(context, 0).uniform() < slow_share_;
  }

  // Steps to the next renewal, from 1.
  double next_gap(Stream& stream) const {
    if (renewal_ >= 1) return 1;
    return 1 + std::floor(std::log(stream.uniform()) / std::log1p(-renewal_));
  }

  static Stream draws(StragglerContext context, std::uint64_t block) {
    context.step = block;
    context.micro_batch = 0;
    return straggler_stream(context, StragglerDraw::choice);
  }

  Settings settings_;
  double renewal_;     // probability of a renewal in a step
  double slow_share_;  // of the renewals, and of all steps
  std::uint64_t block_steps_;
};

struct MarkovOptions {
  double slow_steps = 1, fast_steps = 1;
  std::optional<double> factor;
  std::optional<Amount> delay;

  void fields(Fields& f) {
    f.number("slow_steps", slow_steps, "Mean number of steps that a worker stays slow")
        .required()
        .at_least(1);
    f.number("fast_steps", fast_steps, "Mean number of steps that a worker stays fast")
        .required()
        .at_least(1);
    f.number("factor", factor, "Computing takes this many times as long while a worker is slow")
        .above(0)
        .by_rule("1");
    f.amount("delay", delay, "A slow worker is idle for this long before each step").by_rule("0");
  }
};

MadeStraggler make_markov(const MarkovOptions& options, const StragglerCommon& common,
                          const StragglerSetup&) {
  if (1 / options.slow_steps + 1 / options.fast_steps > 1)
    reject("slow_steps", "and \"fast_steps\" are too short: 1/slow_steps + 1/fast_steps is above 1",
           "Make one of them longer, such as 2 and 2; k_of_p draws each step independently");
  if (!options.factor && !options.delay) reject("factor", "is missing", "Give \"factor\", \"delay\" or both");
  MarkovStraggler::Settings settings;
  settings.slow_steps = options.slow_steps;
  settings.fast_steps = options.fast_steps;
  settings.slow.factor = options.factor.value_or(1);
  settings.relative = common.relative;
  if (options.delay) settings.slow.delay_s = options.delay->in(common.delay_unit(), "delay");
  return std::make_unique<MarkovStraggler>(settings);
}

}  // namespace

std::vector<StragglerPlugin> markov() {
  return {{{.name = "markov",
            .summary = "Workers that are slow for a while and fast for a while, each independently",
            .citation = ""},
           make_markov}};
}

}  // namespace simsgd::stragglers
