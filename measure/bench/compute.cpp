// compute: the numerics of real runs, by the functions that real runs call, on one thread of every rank.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <functional>

#include "algorithms/kfac/kfac_math.hpp"
#include "algorithms/low_communication/low_rank.hpp"
#include "algorithms/sparse/sparse.hpp"
#include "measure/bench/campaigns.hpp"
#include "measure/packing.hpp"
#include "sim/base/random.hpp"
#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/precision.hpp"

namespace simsgd {

namespace {

/// Empty cells where a shape does not apply.
struct NumericKernel {
  std::string name{}, layer{}, rows{}, columns{}, inner{}, entries{}, chosen{};
  std::function<void()> run{};
};

const std::vector<std::string> kLabels = {"kernel", "layer",   "rows",   "columns",
                                          "inner",  "entries", "chosen", "rank"};

template <class Whole>
std::string cell(Whole number) {
  return fmt::format("{}", number);
}

std::vector<float> random_numbers(std::size_t n, std::uint32_t entity) {
  std::vector<float> numbers(n);
  Stream stream({1, Purpose::resampling, entity, 0});
  for (float& number : numbers) number = static_cast<float>(stream.normal());
  return numbers;
}

/// Shared by the kernels, which take turns.
struct NumericKernels {
  Executor executor{1};
  std::vector<NumericKernel> kernels;

  Tensor constant(std::size_t n, std::uint32_t entity = 0) {
    return executor.constant({random_numbers(n, entity), {}, {}});
  }
  void add_tensor(NumericKernel kernel, std::function<Tensor()> made) {
    kernel.run = [this, made = std::move(made)] { executor.get(made()); };
    kernels.push_back(std::move(kernel));
  }
};

void add_gemm(NumericKernels& to, const std::string& name, const std::string& layer, Eigen::Index rows,
              Eigen::Index columns, Eigen::Index inner) {
  using Floats = Matrix<float>;
  NumericKernel kernel{
      .name = name, .layer = layer, .rows = cell(rows), .columns = cell(columns), .inner = cell(inner)};
  kernel.run = [a = Floats(Floats::Random(rows, inner)), b = Floats(Floats::Random(inner, columns)),
                c = Floats(rows, columns)]() mutable { c.noalias() = a * b; };
  to.kernels.push_back(std::move(kernel));
}

void add_selection(NumericKernels& to, std::size_t entries, std::size_t chosen) {
  const Tensor dense = to.constant(entries);
  to.add_tensor({.name = "select", .entries = cell(entries), .chosen = cell(chosen)}, [&to, dense, chosen] {
    return to.executor.submit(
        {dense}, [chosen](TensorData& out, auto in) { select_top_k(in[0]->values, chosen, out); });
  });
}

void add_codecs(NumericKernels& to, std::size_t entries) {
  const Tensor dense = to.constant(entries);
  const std::string size = cell(entries);
  constexpr int kBits = 8;
  to.add_tensor({.name = "fp16", .entries = size},
                [&to, dense] { return rounded_to_fp16(to.executor, dense); });
  to.add_tensor({.name = "bf16", .entries = size},
                [&to, dense] { return rounded_to_bf16(to.executor, dense); });
  to.add_tensor({.name = "bits_8", .entries = size},
                [&to, dense] { return rounded_to_bits(to.executor, dense, kBits); });
}

// What has come is added to a sum, as in collectives: from another place each time.
void add_addition(NumericKernels& to, std::size_t entries) {
  constexpr std::size_t kPlaces = 8;
  NumericKernel kernel{.name = "add", .entries = cell(entries)};
  kernel.run = [in = random_numbers(kPlaces * entries, 0), sum = std::vector<float>(entries),
                place = std::size_t{0}]() mutable {
    const float* term = in.data() + (++place % kPlaces) * sum.size();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
  };
  to.kernels.push_back(std::move(kernel));
}

// A positive definite factor, as packed triangles.
Tensor random_factor(NumericKernels& to, std::int64_t dimension) {
  const Matrix<float> columns = Matrix<float>::Random(dimension, dimension + 1);
  const Matrix<float> product = columns * columns.transpose() / static_cast<float>(dimension);
  std::vector<float> packed(triangle(static_cast<std::size_t>(dimension)));
  pack_upper<float>(product, packed);
  return to.executor.constant({std::move(packed), {}, {}});
}

void add_inverse(NumericKernels& to, const std::string& layer, std::int64_t dimension) {
  LayerFactors factors;
  factors.layer.name = layer;
  factors.a_dim = factors.g_dim = dimension;
  const FactorPair pair{random_factor(to, dimension), random_factor(to, 1)};
  to.add_tensor({.name = "inverse", .layer = layer, .rows = cell(dimension), .columns = cell(dimension)},
                [&to, factors, pair] { return inverse_a(to.executor, factors, pair, KfacMath{}, 1); });
}

void add_qr(NumericKernels& to, std::int64_t rows, std::int64_t rank) {
  LowRankLayout layout;
  layout.rank = rank;
  layout.learned = {{0, rows, rows}};
  layout.parameters = static_cast<std::size_t>(rows * rows);
  const Tensor left = to.constant(static_cast<std::size_t>(rows * rank));
  to.add_tensor({.name = "qr", .rows = cell(rows), .columns = cell(rank)},
                [&to, layout, left] { return orthonormal(to.executor, layout, left); });
}

void add_usual(NumericKernels& to) {
  for (const Eigen::Index n : {16, 32, 64, 128, 256, 512}) add_gemm(to, "gemm", "", n, n, n);
  for (const std::size_t entries : {10000U, 100000U, 1000000U}) {
    for (const std::size_t share : {1000U, 100U}) add_selection(to, entries, entries / share);
    add_codecs(to, entries);
    add_addition(to, entries);
  }
  for (const std::int64_t dimension : {16, 32, 64, 128, 256, 512}) add_inverse(to, "", dimension);
  for (const std::int64_t rows : {128, 512, 2048})
    for (const std::int64_t rank : {1, 2, 4}) add_qr(to, rows, rank);
}

// A layer's products: forward, and backward by its weights and by its inputs.
void add_layer(NumericKernels& to, const LayerInfo& layer, Eigen::Index batch) {
  const Eigen::Index samples = batch * layer.positions, rows = layer.rows, columns = layer.columns;
  add_gemm(to, "layer_forward", layer.name, rows, samples, columns);
  add_gemm(to, "layer_weight_gradient", layer.name, rows, columns, samples);
  add_gemm(to, "layer_input_gradient", layer.name, columns, samples, rows);
}

void add_learner(NumericKernels& to, const Learner& learner) {
  const std::vector<std::int32_t> samples = learner.samples(0, 1);
  const std::size_t parameters = learner.parameters();
  auto gradient = [&learner, samples, model = learner.initial_parameters(),
                   out = std::vector<float>(parameters)](LayerTap<float>* tap) mutable {
    learner.gradient(model, samples, out, tap);
  };
  to.kernels.push_back(
      {.name = "gradient", .entries = cell(parameters), .run = [gradient]() mutable { gradient(nullptr); }});
  for (const LayerInfo& layer : learner.model().layers())
    if (layer.kind != LayerInfo::Kind::other) add_layer(to, layer, learner.batch());
  constexpr std::size_t kShare = 1000;
  add_selection(to, parameters, std::max<std::size_t>(1, parameters / kShare));
  add_codecs(to, parameters);
  const FactorLayout layout = factor_layout(learner.model().layers());
  if (layout.layers.empty()) return;
  LayerTap<float> tap;
  gradient(&tap);
  to.kernels.push_back({.name = "factors",
                        .entries = cell(layout.size),
                        .run = [&learner, tap, out = std::vector<float>(layout.size)]() mutable {
                          FactorStatistics().compute(learner, tap, out);
                        }});
  for (const LayerFactors& factors : layout.layers) {
    add_inverse(to, factors.layer.name, factors.a_dim);
    add_inverse(to, factors.layer.name, factors.g_dim);
  }
}

std::vector<double> kernel_times(const BenchOptions& options, const NumericKernel& kernel) {
  double warm_s = 0;
  for (int i = 0; i < 2; ++i) {
    const double begin_s = seconds_now();
    kernel.run();
    warm_s = seconds_now() - begin_s;
  }
  std::vector<double> times(static_cast<std::size_t>(samples_for(options, warm_s)));
  for (double& time_s : times) {
    const double begin_s = seconds_now();
    kernel.run();
    time_s = seconds_now() - begin_s;
  }
  return times;
}

}  // namespace

SampleTable measure_compute(const Bench& bench, const Job* job) {
  SampleTable table("compute", bench.machine, kLabels);
  NumericKernels all;
  add_usual(all);
  if (job != nullptr && job->learner) add_learner(all, *job->learner);
  run_campaigns(bench, all.kernels.size(), [&](const Campaign& campaign, std::size_t i) {
    const NumericKernel& kernel = all.kernels[i];
    const auto times = gather_at_root(bench.world, kernel_times(bench.options, kernel));
    for (std::size_t rank = 0; rank < times.size(); ++rank)
      table.add(campaign,
                {"",
                 "",
                 bench.machine.ranks,
                 bench.machine.nodes(bench.machine.ranks),
                 0,
                 {kernel.name, kernel.layer, kernel.rows, kernel.columns, kernel.inner, kernel.entries,
                  kernel.chosen, cell(rank)}},
                times[rank]);
  });
  return table;
}

}  // namespace simsgd
