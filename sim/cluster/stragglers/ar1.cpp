// ar1: computing takes F_w A_{w,k} times as long: a factor of worker w that stays, and noise of step k that
// remembers the step before.
//   F_w = exp(s g - s^2/2), g normal, s^2 = ln(1 + persistent_cv^2): mean 1
//   A_k = exp(t z_k - t^2/2), t^2 = ln(1 + cv^2): mean 1;  z_k = rho z_{k-1} + sqrt(1 - rho^2) e_k,
//   stationary rho = ln(1 + r cv^2) / t^2, so that the lag-1 correlation of A is r
// Measured compute times are like this (healthy devices: CV 1-5 %, lag 1 0.3-1.0). assumed: log-normal, which
// keeps times positive. z_k without the steps before it: gaussian_chain.hpp. Checked by
// tests/cluster/correlated.cpp.
#include <cmath>

#include "sim/cluster/stragglers/gaussian_chain.hpp"
#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd::stragglers {

namespace {

constexpr double kLargestCv = 1e6;  // of a log-normal: sigma 5.3

struct Ar1Options {
  double cv = 0, correlation = 0, persistent_cv = 0;

  void fields(Fields& f) {
    f.number("cv", cv, "Standard deviation of the noise over its mean, which is 1")
        .required()
        .at_least(0)
        .at_most(kLargestCv);
    f.number("correlation", correlation,
             "The noise of a worker's step is correlated this much with that of the step before")
        .at_least(0)
        .below(1);
    f.number(
         "persistent_cv", persistent_cv,
         "Standard deviation of the workers' own factors over their mean, which is 1; they are drawn once")
        .at_least(0)
        .at_most(kLargestCv);
  }
};

class Ar1Straggler final : public StragglerModel {
 public:
  explicit Ar1Straggler(const Ar1Options& options)
      : noise_variance_(log_variance(options.cv)),
        persistent_variance_(log_variance(options.persistent_cv)),
        chain_(options.cv > 0 ? std::log1p(options.correlation * options.cv * options.cv) / noise_variance_
                              : 0) {}

  void apply(const StragglerContext& context, Straggle& straggle) const override {
    double exponent = 0;
    if (persistent_variance_ > 0)
      exponent += std::sqrt(persistent_variance_) * normal_at(context, 0, StragglerDraw::choice) -
                  persistent_variance_ / 2;
    if (noise_variance_ > 0) exponent += std::sqrt(noise_variance_) * noise(context) - noise_variance_ / 2;
    straggle.factor *= std::exp(exponent);
  }

 private:
  // z at the context's step.
  double noise(const StragglerContext& context) const {
    return chain_.at(context.step,
                     [&](std::uint64_t step) { return normal_at(context, step, StragglerDraw::value); });
  }

  static double normal_at(StragglerContext context, std::uint64_t step, StragglerDraw draw) {
    context.step = step;
    context.micro_batch = 0;
    return straggler_stream(context, draw).normal();
  }

  double noise_variance_, persistent_variance_;  // of the logarithms
  GaussianChain chain_;
};

MadeStraggler make_ar1(const Ar1Options& options, const StragglerCommon& common, const StragglerSetup&) {
  if (common.relative)
    reject("relative", "has no effect without a delay", "Leave it out: factors are relative anyway");
  return std::make_unique<Ar1Straggler>(options);
}

}  // namespace

std::vector<StragglerPlugin> ar1() {
  return {
      {{.name = "ar1",
        .summary =
            "Compute times with a lasting factor for each worker, and noise that is correlated over steps",
        .citation = ""},
       make_ar1}};
}

}  // namespace simsgd::stragglers
