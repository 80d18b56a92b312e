// compute_noise: computing takes F_w A_{w,k} S_{w,k} C_k times as long in step k of worker w, all of mean 1.
//   F_w      factor of the worker that stays
//   A_{w,k}  fast noise: correlation r with the step before; one of several distributions, by a Gaussian
//            copula (noise_marginal.hpp)
//   S_{w,k}  slow noise: log-normal, correlation exp(-l/steps) of its logarithm at lag l
//   C_k      the same for all workers of the job: what the data of a step cost, or a shared service
// Each worker may have CVs of its own. Iterations of a production job (alibaba/clusterdata, job_1) have
// correlations of 0.7 at lag 1 and 0.28 at lag 20: two scales, where one AR(1) (ar1.cpp) forgets in a few
// steps. Normal scores are Gaussian chains (gaussian_chain.hpp), every draw a function of seed, index, rank
// and step. Checked by tests/cluster/compute_noise.cpp.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/fields.hpp"
#include "sim/cluster/stragglers/gaussian_chain.hpp"
#include "sim/cluster/stragglers/noise_marginal.hpp"
#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd::stragglers {

namespace {

// The options.

inline constexpr double kLargestNoiseCv = 1e6;  // of a log-normal: sigma 5.3

// The noise of workers, which may differ in how strong it is.
struct WorkerCvs {
  std::optional<double> cv;
  std::optional<std::vector<double>> cvs;
  double cv_spread = 0;

  void fields(Fields& f) {
    f.number("cv", cv, "Standard deviation over the mean, which is 1").at_least(0).at_most(kLargestNoiseCv);
    f.list("cvs", cvs, "Each worker's own CV in place of \"cv\", by \"rank_mapping\"", "Of a worker")
        .least_items(1)
        .items_at_least(0)
        .items_at_most(kLargestNoiseCv);
    f.number(
         "cv_spread", cv_spread,
         "How much workers' CVs differ: their standard deviation over \"cv\". They are log-normal and drawn once")
        .at_least(0)
        .at_most(kLargestNoiseCv);
  }

  /// The mean over workers.
  double reference() const {
    if (cv) return *cv;
    double sum = 0;
    for (const double each : *cvs) sum += each;
    return sum / static_cast<double>(cvs->size());
  }
};

struct FastNoise : WorkerCvs {
  double correlation = 0, floor = 0;
  NoiseFamily family = NoiseFamily::lognormal;
  std::optional<std::vector<double>> quantiles;

  void fields(Fields& f) {
    WorkerCvs::fields(f);
    f.number("correlation", correlation, "It is correlated this much with the step before of the same worker")
        .at_least(0)
        .below(1);
    f.choice("family", family,
             {{"lognormal", NoiseFamily::lognormal},
              {"gamma", NoiseFamily::gamma},
              {"weibull", NoiseFamily::weibull},
              {"inverse_gaussian", NoiseFamily::inverse_gaussian},
              {"pareto", NoiseFamily::pareto},
              {"log_laplace", NoiseFamily::log_laplace},
              {"quantiles", NoiseFamily::quantiles}},
             "Distribution of the noise above its floor. A floor of 1 - cv makes \"weibull\" an exponential");
    f.number("floor", floor, "No step takes less than this share of the mean").at_least(0).below(1);
    f.list(
         "quantiles", quantiles,
         "Measured quantiles for the family \"quantiles\", at probabilities 0, 1/m, ..., 1, in any unit; they are raised to the power that gives the CV",
         "A quantile")
        .least_items(2)
        .items_above(0);
  }
};

struct SlowNoise : WorkerCvs {
  double correlation_steps = 0;

  void fields(Fields& f) {
    WorkerCvs::fields(f);
    f.number("correlation_steps", correlation_steps,
             "After this many steps the correlation of the logarithm is 1/e")
        .required()
        .above(0)
        .at_most(1e9);
  }
};

struct CommonFactor {
  double cv = 0, correlation_steps = 0;

  void fields(Fields& f) {
    f.number("cv", cv, "Standard deviation over the mean, which is 1; log-normal")
        .required()
        .at_least(0)
        .at_most(kLargestNoiseCv);
    f.number(
         "correlation_steps", correlation_steps,
         "After this many steps the correlation of the logarithm is 1/e; 0: each step is drawn independently")
        .at_least(0)
        .at_most(1e9);
  }
};

struct ComputeNoiseOptions {
  enum class Mapping : std::uint8_t { exact, modulo, draw };

  std::optional<std::vector<double>> factors;
  double factor_cv = 0;
  Mapping mapping = Mapping::exact;
  std::optional<FastNoise> fast;
  std::optional<SlowNoise> slow;
  std::optional<CommonFactor> common;

  void fields(Fields& f) {
    f.list("factors", factors, "Computing takes this many times as long on each worker, in every step",
           "Of a worker")
        .least_items(1)
        .items_above(0)
        .by_rule("1")
        .example("[1.1, 0.95, 0.95]");
    f.number(
         "factor_cv", factor_cv,
         "Standard deviation of workers' factors, in place of \"factors\": they are log-normal with mean 1, and drawn once")
        .at_least(0)
        .at_most(kLargestNoiseCv);
    f.choice(
        "rank_mapping", mapping,
        {{"exact", Mapping::exact}, {"modulo", Mapping::modulo}, {"draw", Mapping::draw}},
        "Which entry of the lists a rank takes: \"exact\" its own, \"modulo\" that of rank modulo their length, \"draw\" one that is drawn once, so that few measured workers stand for many");
    f.object("fast", fast, "Noise of each worker that lasts for a step or a few");
    f.object("slow", slow, "Noise of each worker that lasts for many steps");
    f.object("common", common, "Noise that all workers share in a step");
  }
};

// What is drawn of a worker once, by the place of its draw: no step has step 0, and no model draws `choice`
// at these for anything else.
enum class Drawn : std::uint64_t { factor, fast_cv, slow_cv, entry };

Stream drawn_once(const StragglerSetup& setup, int rank, Drawn what) {
  StragglerContext context;
  context.seed = setup.seed;
  context.index = setup.index;
  context.rank = rank;
  context.step = static_cast<std::uint64_t>(what);
  return straggler_stream(context, StragglerDraw::choice);
}

double drawn_lognormal(const StragglerSetup& setup, int rank, Drawn what, double cv) {
  const double variance = log_variance(cv);
  return std::exp(std::sqrt(variance) * drawn_once(setup, rank, what).normal() - variance / 2);
}

class ComputeNoise final : public StragglerModel {
 public:
  /// What a worker has of its own.
  struct Row {
    double factor = 1;
    NoiseMarginal::Scale fast;
    double slow_variance = 0;  // of the logarithm
  };

  std::vector<Row> rows;  // by rank
  std::optional<NoiseMarginal> fast;
  double common_variance = 0;  // of the logarithm
  GaussianChain fast_chain, slow_chain, common_chain;

  void apply(const StragglerContext& context, Straggle& straggle) const override {
    const auto rank = static_cast<std::size_t>(context.rank);
    CHECK(rank < rows.size(), "a straggler meets only the ranks of its job");
    const Row& row = rows[rank];
    double factor = row.factor, exponent = 0;
    if (row.fast.exponent > 0) factor *= fast->at(score(context, fast_chain, StragglerDraw::value), row.fast);
    if (row.slow_variance > 0)
      exponent += std::sqrt(row.slow_variance) * score(context, slow_chain, StragglerDraw::slow_value) -
                  row.slow_variance / 2;
    if (common_variance > 0)
      exponent += std::sqrt(common_variance) * common_score(context) - common_variance / 2;
    straggle.factor *= exponent == 0 ? factor : factor * std::exp(exponent);
  }

 private:
  static double score(const StragglerContext& context, const GaussianChain& chain, StragglerDraw draw) {
    return chain.at(context.step, [&](std::uint64_t step) {
      return straggler_stream(at_step(context, step), draw).normal();
    });
  }
  double common_score(const StragglerContext& context) const {
    return common_chain.at(context.step, [&](std::uint64_t step) {
      return common_straggler_stream(at_step(context, step), StragglerDraw::value).normal();
    });
  }
  static StragglerContext at_step(StragglerContext context, std::uint64_t step) {
    context.step = step;
    context.micro_batch = 0;
    return context;
  }
};

void reject_contradictions(const WorkerCvs& noise, const std::string& key) {
  if (noise.cv && noise.cvs) reject(key + "/cvs", "contradicts \"cv\"", "Give one of the two");
  if (!noise.cv && !noise.cvs) reject(key + "/cv", "is missing", "Give \"cv\" or \"cvs\"");
  if (noise.cvs && noise.cv_spread > 0)
    reject(key + "/cv_spread", "contradicts \"cvs\"", "Leave it out: the list says how workers differ");
}

void reject_wrong_quantiles(const FastNoise& fast) {
  const bool needed = fast.family == NoiseFamily::quantiles;
  if (needed != fast.quantiles.has_value())
    reject("fast/quantiles", needed ? "is missing" : "belongs to another family",
           needed ? "Give measured quantiles, or another \"family\"" : "Set \"family\": \"quantiles\"");
  if (!needed) return;
  for (std::size_t i = 1; i < fast.quantiles->size(); ++i)
    if ((*fast.quantiles)[i] < (*fast.quantiles)[i - 1])
      reject(fmt::format("fast/quantiles/{}", i), "is below the one before", "Give them in ascending order");
  if (fast.quantiles->front() == fast.quantiles->back())
    reject("fast/quantiles", "are all the same", "Give quantiles that differ, or leave \"fast\" out");
}

/// How many workers the lists speak of; 0 without lists.
std::size_t listed(const ComputeNoiseOptions& options) {
  std::size_t size = 0;
  std::string first;
  const auto meet = [&](const std::optional<std::vector<double>>& list, const std::string& key) {
    if (!list) return;
    if (size != 0 && list->size() != size)
      reject(key, fmt::format("has {} entries, and \"{}\" has {}", list->size(), first, size),
             "Give one for each worker in all lists");
    size = list->size();
    first = key;
  };
  meet(options.factors, "factors");
  if (options.fast) meet(options.fast->cvs, "fast/cvs");
  if (options.slow) meet(options.slow->cvs, "slow/cvs");
  return size;
}

/// Which entry of the lists a rank has.
std::size_t entry_of(const ComputeNoiseOptions& options, std::size_t size, int rank,
                     const StragglerSetup& setup) {
  if (options.mapping != ComputeNoiseOptions::Mapping::draw) return static_cast<std::size_t>(rank) % size;
  return drawn_once(setup, rank, Drawn::entry).below(static_cast<std::uint32_t>(size));
}

double cv_of(const WorkerCvs& noise, std::size_t entry, int rank, Drawn what, const StragglerSetup& setup) {
  if (noise.cvs) return (*noise.cvs)[entry];
  return *noise.cv * (noise.cv_spread > 0 ? drawn_lognormal(setup, rank, what, noise.cv_spread) : 1);
}

ComputeNoise::Row row_of(const ComputeNoiseOptions& options, const ComputeNoise& model, std::size_t size,
                         int rank, const StragglerSetup& setup) {
  const std::size_t entry = size > 0 ? entry_of(options, size, rank, setup) : 0;
  ComputeNoise::Row row;
  if (options.factors)
    row.factor = (*options.factors)[entry];
  else if (options.factor_cv > 0)
    row.factor = drawn_lognormal(setup, rank, Drawn::factor, options.factor_cv);
  if (options.slow)
    row.slow_variance = log_variance(cv_of(*options.slow, entry, rank, Drawn::slow_cv, setup));
  if (model.fast) {
    const double cv = cv_of(*options.fast, entry, rank, Drawn::fast_cv, setup);
    if (cv > model.fast->largest_cv())
      reject(options.fast->cvs ? fmt::format("fast/cvs/{}", entry) : "fast/cv",
             fmt::format("gives a CV of {:.3g}, and this family reaches at most {:.3g}", cv,
                         model.fast->largest_cv()),
             "Give a smaller one, or another \"family\"");
    row.fast = model.fast->scale_of(cv);
  }
  return row;
}

// A gamma of a CV of 10 has 30 % of its draws below 1e-40 of the mean: more is not noise of computing times.
constexpr double kLargestTabulatedCv = 10;

NoiseMarginal fast_marginal(const FastNoise& fast) {
  const double cv = fast.reference();
  const bool tabulated = fast.family == NoiseFamily::gamma || fast.family == NoiseFamily::inverse_gaussian;
  if (tabulated && cv > kLargestTabulatedCv * (1 - fast.floor))
    reject(fast.cvs ? "fast/cvs" : "fast/cv", "is too large for this family above its floor",
           fmt::format("Give at most {:.3g}, or another \"family\"", kLargestTabulatedCv * (1 - fast.floor)));
  return NoiseMarginal({.family = fast.family,
                        .cv = cv,
                        .floor = fast.floor,
                        .quantiles = fast.quantiles.value_or(std::vector<double>())});
}

void reject_wrong_options(const ComputeNoiseOptions& options, const StragglerCommon& common) {
  if (common.relative)
    reject("relative", "has no effect without a delay", "Leave it out: factors are relative anyway");
  if (options.factors && options.factor_cv > 0)
    reject("factor_cv", "contradicts \"factors\"", "Give one of the two");
  if (!options.factors && options.factor_cv == 0 && !options.fast && !options.slow && !options.common)
    reject("fast", "is missing", "Give \"factors\", \"factor_cv\", \"fast\", \"slow\" or \"common\"");
  if (options.slow) reject_contradictions(*options.slow, "slow");
  if (!options.fast) return;
  reject_contradictions(*options.fast, "fast");
  reject_wrong_quantiles(*options.fast);
}

double memory(double correlation_steps) {
  return correlation_steps > 0 ? std::exp(-1 / correlation_steps) : 0;
}

MadeStraggler make_compute_noise(const ComputeNoiseOptions& options, const StragglerCommon& common,
                                 const StragglerSetup& setup) {
  reject_wrong_options(options, common);
  const std::size_t size = listed(options);
  const int last_rank = selected_ranks(common, setup).back();
  if (size > 0 && options.mapping == ComputeNoiseOptions::Mapping::exact &&
      last_rank >= static_cast<int>(size))
    reject(
        "rank_mapping",
        fmt::format("is \"exact\", but the lists of {} workers have no entry for rank {}", size, last_rank),
        "Set \"rank_mapping\": \"draw\" or \"modulo\", or list ranks in \"workers\"");
  auto model = std::make_unique<ComputeNoise>();
  if (options.fast && options.fast->reference() > 0) {
    model->fast = fast_marginal(*options.fast);
    model->fast_chain = GaussianChain(model->fast->normal_correlation(options.fast->correlation));
  }
  if (options.slow) model->slow_chain = GaussianChain(memory(options.slow->correlation_steps));
  if (options.common) {
    model->common_variance = log_variance(options.common->cv);
    model->common_chain = GaussianChain(memory(options.common->correlation_steps));
  }
  for (int rank = 0; rank < setup.workers; ++rank)
    model->rows.push_back(row_of(options, *model, size, rank, setup));
  return model;
}

}  // namespace

std::vector<StragglerPlugin> compute_noise() {
  return {
      {{.name = "compute_noise",
        .summary =
            "Compute times with factors and CVs of workers, noise of two time scales, and a factor that all workers have in a step",
        .citation = "Cario, Nelson, Operations Research Letters 19, 1996"},
       make_compute_noise}};
}

}  // namespace simsgd::stragglers
