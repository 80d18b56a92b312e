// SIDCo: top-k S-SGD whose threshold comes from a distribution that is fitted to the magnitudes, in a few
// passes and without sorting.
//   a_i = r_i + g_i;  V_i = entries of a_i of magnitude eta or more;  r_i <- a_i - V_i, as in topk_sgd
//   eta in M stages, d_1 = first_ratio, d_2 = ... = d_M = (delta / d_1)^(1 / (M-1)) (delta itself if M = 1):
//     stage 1 of all magnitudes |a|; stage m of the exceedances |a| - eta_0, |a| > eta_{m-1}, eta_0 the least
//     |a|
//     exponential         eta = mean ln(1/d)
//     generalized_pareto  eta = b (1 - d^c) / c,  c = (mean^2/var - 1) / 2,  b = mean (mean^2/var + 1) / 2
//     gamma               stage 1: eta = - mean / alpha (ln d + ln Gamma(alpha)),  s = ln mean - mean of ln
//     |a|,
//                         alpha = (3 - s + sqrt((s - 3)^2 + 24 s)) / (12 s);  then generalized_pareto
//   every Q steps: with K the mean number of entries over delta n in these,
//     M <- M - 1 if K > 1 + tolerance,  M <- M + 1 if K < 1 - tolerance,  1 <= M <= log_2 (1/delta)
// Abdelmoniem, Elzanaty, Alouini, Canini, "An Efficient Statistical-based Gradient Compression Technique for
// Distributed Training Systems", MLSys 2021, arXiv:2101.10761, as in the authors' released compressors for
// GRACE. Where fewer than two entries exceed a threshold, or they are all alike, the stages end. Messages and
// times are those of k entries and of the stages that a run begins with. Bytes: an all-gather, (P-1) k.
#include <cmath>

#include "algorithms/plugin.hpp"
#include "algorithms/sparse/gathered_topk.hpp"
#include "algorithms/sparse/sparse.hpp"
#include "sim/cluster/kernels.hpp"

namespace simsgd::algorithms {

namespace {

enum class MagnitudeLaw : std::uint8_t { exponential, gamma, generalized_pareto };

struct SidcoOptions : SparsificationOptions {
  MagnitudeLaw law = MagnitudeLaw::exponential;
  int stages = 1;
  double first_ratio = 0.25;  // as released
  std::uint64_t adapt_every = 5;
  double tolerance = 0.2;  // assumed: a fifth
  std::string all_gather = "bruck";

  void fields(Fields& f) {
    density_fields(f);
    f.choice(
        "distribution", law,
        {{"exponential", MagnitudeLaw::exponential},
         {"gamma", MagnitudeLaw::gamma},
         {"generalized_pareto", MagnitudeLaw::generalized_pareto}},
        "The distribution that is fitted to magnitudes: gamma to all of them, generalized_pareto to those that exceed a threshold");
    f.whole(
         "stages", stages,
         "M: number of fits at the start of a run, each to the entries above the threshold of the one before")
        .at_least(1)
        .at_most(64);
    f.number("first_ratio", first_ratio, "The first of several stages keeps this share of the entries")
        .above(0)
        .below(1);
    f.whole("adapt_every", adapt_every, "Q: steps after which the number of stages is adapted; 0: never");
    f.number("tolerance", tolerance,
             "The number of stages changes if the number of entries is off from k by more than this share")
        .at_least(0);
    message_fields(f);
    f.choice("all_gather", all_gather, all_gather_schedules(), "Schedule of the all-gather");
  }
};

struct Moments {
  double mean = 0, variance = 0, mean_log = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments all;
  const auto n = static_cast<double>(values.size());
  for (const double x : values) {
    all.mean += x / n;
    all.mean_log += std::log(x + std::numeric_limits<double>::epsilon()) / n;
  }
  for (const double x : values) all.variance += (x - all.mean) * (x - all.mean) / (n - 1);
  return all;
}

/// What a share of `ratio` exceeds.
double quantile(MagnitudeLaw law, const Moments& of, double ratio) {
  const double log_ratio = std::log(ratio);
  if (law == MagnitudeLaw::exponential) return -of.mean * log_ratio;
  if (law == MagnitudeLaw::gamma) {
    const double s = std::log(of.mean) - of.mean_log;
    const double alpha = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
    return -of.mean / alpha * (log_ratio + std::lgamma(alpha));
  }
  const double square = of.mean * of.mean / of.variance, c = 0.5 * (square - 1),
               b = 0.5 * of.mean * (square + 1);
  return std::abs(c) < 1e-12 ? -b * log_ratio : -b * std::expm1(c * log_ratio) / c;
}

double fitted_threshold(std::span<const float> dense, double density, int stages,
                        const SidcoOptions& options) {
  std::vector<double> rest;
  for (const float value : dense) rest.push_back(std::abs(static_cast<double>(value)));
  const bool several = stages > 1 && density < options.first_ratio;
  double threshold = quantile(options.law, moments_of(rest), several ? options.first_ratio : density);
  const MagnitudeLaw tail =
      options.law == MagnitudeLaw::exponential ? options.law : MagnitudeLaw::generalized_pareto;
  const double ratio = several ? std::pow(density / options.first_ratio, 1.0 / (stages - 1)) : 1;
  double origin = 0;
  for (int stage = 2; several && stage <= stages; ++stage) {
    std::erase_if(rest, [&](double x) { return !(x + origin > threshold); });
    if (rest.size() < 2) break;
    const double least = *std::min_element(rest.begin(), rest.end());
    for (double& x : rest) x -= least;
    origin += least;
    const Moments moments = moments_of(rest);
    if (!(moments.variance > 0)) break;
    threshold = origin + quantile(tail, moments, ratio);
  }
  return threshold;
}

/// Scalars of what is chosen: the stages of the next step, and the sum of shares and the steps since they
/// were adapted.
struct Adaptation {
  double stages = 1, sum = 0, steps = 0;

  void take(double share, double density, const SidcoOptions& options) {
    sum += share;
    if (++steps < static_cast<double>(options.adapt_every) || options.adapt_every == 0) return;
    const double mean = sum / steps;
    if (mean > 1 + options.tolerance) --stages;
    if (mean < 1 - options.tolerance) ++stages;
    stages = std::max(1.0, std::min(stages, std::ceil(-std::log2(density))));
    sum = steps = 0;
  }
};

Tensor choose_fitted(Executor& executor, const Tensor& accumulated, const Tensor& before, std::size_t k,
                     const SidcoOptions& options) {
  std::vector<Tensor> inputs = {accumulated};
  if (before) inputs.push_back(before);
  return executor.submit(std::move(inputs), [k, options](TensorData& out, auto in) {
    Adaptation state{static_cast<double>(options.stages)};
    if (in.size() > 1) state = {in[1]->scalars[0], in[1]->scalars[1], in[1]->scalars[2]};
    const std::vector<float>& dense = in[0]->values;
    const double density = static_cast<double>(k) / static_cast<double>(dense.size());
    const double threshold = fitted_threshold(dense, density, static_cast<int>(state.stages), options);
    select_from(dense, static_cast<float>(std::max(threshold, 0.0)), out);
    state.take(static_cast<double>(out.values.size()) / static_cast<double>(k), density, options);
    out.scalars = {state.stages, state.sum, state.steps};
  });
}

/// Of each phase: a pass over all entries, one for each further stage over what is left of them, which is
/// written and read, and one that selects.
std::vector<double> fitting_s(const SidcoOptions& options, const SparsificationSettings& settings,
                              const Device& device) {
  const double bytes = kBytesPerNumber * settings.workload_entries;
  std::vector<double> seconds;
  for (std::size_t phase = 0; phase < settings.phases.size(); ++phase) {
    const double density = settings.phases[phase].density;
    double sum =
        vector_pass_s(device, {.read = bytes, .written = 0}) +
        vector_pass_s(device,
                      {.read = bytes, .written = settings.message_entries(phase) * settings.bytes_per_entry});
    if (options.stages > 1 && density < options.first_ratio) {
      const double ratio = std::pow(density / options.first_ratio, 1.0 / (options.stages - 1));
      double left = bytes;
      for (int stage = 2; stage <= options.stages; ++stage) {
        const double kept = left * (stage == 2 ? options.first_ratio : ratio);
        sum += vector_pass_s(device, {.read = left + kept, .written = kept});
        left = kept;
      }
    }
    seconds.push_back(sum);
  }
  return seconds;
}

MadeAlgorithm make_sidco(const SidcoOptions& options, const AlgorithmContext& context) {
  note_adding(context);
  note_kernel(context, DeviceKernel::vector_pass);
  SparsificationSettings settings = sparsification_of(options, context, false);
  std::vector<double> seconds(settings.phases.size(), 0.0);
  if (context.cluster != nullptr) seconds = fitting_s(options, settings, context.cluster->device);
  EntrySelection selection;
  selection.choose = [options](Worker& worker, const Tensor& accumulated, const Tensor& before,
                               std::size_t k) {
    return choose_fitted(worker.executor(), accumulated, before, k, options);
  };
  selection.seconds = [seconds, settings](std::uint64_t step) { return seconds[settings.phase_at(step)]; };
  return std::make_unique<GatheredTopK>(std::move(settings), options.all_gather, context.workers,
                                        std::move(selection));
}

}  // namespace

std::vector<AlgorithmPlugin> sidco() {
  return {
      {{.name = "sidco",
        .summary =
            "sparsified SGD: entries above a threshold from a fitted distribution are gathered and added everywhere",
        .citation = "Abdelmoniem et al., MLSys 2021, arXiv:2101.10761"},
       "an all-gather of about k entries of each worker: (P-1) k",
       {.sends = {Traffic::gradient},
        .activities = {Activity::selection},
        .codecs = AlgorithmUses::Codecs::none},
       make_sidco}};
}

}  // namespace simsgd::algorithms
