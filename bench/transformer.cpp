// The transformer at nanoGPT's CPU setting: a gradient beside the matrix products alone that it consists of,
// in bare Eigen on memory that stays where it is. The ratio is what norms, softmax, GELU, residuals, the
// loss, the allocation and Eigen's small products in attention cost on top.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <Eigen/Core>
#include <nlohmann/json.hpp>

#include "bench/benchmarks.hpp"
#include "sim/learn/dataset.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/transformer.hpp"

namespace simsgd::bench {

namespace {

using Eigen::Index;
using Eigen::MatrixXf;

constexpr TransformerShape kShape{.vocabulary = 65, .context = 64, .width = 128, .heads = 4, .depth = 4};

Batch<float> random_batch(std::int64_t samples) {
  DataSet data;
  data.name = "text";
  data.classes = static_cast<int>(kShape.vocabulary);
  data.features = data.stride = kShape.context;
  data.count = samples;
  Stream draws({1, Purpose::data_set, 0, 0});
  for (std::int64_t i = 0; i <= samples * kShape.context; ++i)
    data.tokens.push_back(
        static_cast<std::uint16_t>(draws.below(static_cast<std::uint32_t>(kShape.vocabulary))));
  std::vector<std::int32_t> all;
  for (std::int64_t s = 0; s < samples; ++s) all.push_back(static_cast<std::int32_t>(s));
  return data.batch<float>(all);
}

/// W x, and on the way back dL/dW and dL/dx.
class BareLinear {
 public:
  BareLinear(Index outputs, Index inputs, Index tokens)
      : weights_(MatrixXf::Random(outputs, inputs)),
        in_(MatrixXf::Random(inputs, tokens)),
        out_(MatrixXf::Random(outputs, tokens)),
        change_(outputs, inputs),
        back_(inputs, tokens) {}
  void run() {
    out_.noalias() = weights_ * in_;
    change_.noalias() = out_ * in_.transpose();
    back_.noalias() = weights_.transpose() * out_;
    benchmark::DoNotOptimize(back_.data());
  }

 private:
  MatrixXf weights_, in_, out_, change_, back_;
};

/// The six products of a head, and the one that is done twice.
class BareHead {
 public:
  BareHead(Index size, Index positions)
      : one_(MatrixXf::Random(size, positions)),
        two_(MatrixXf::Random(size, positions)),
        square_(positions, positions),
        other_(MatrixXf::Random(positions, positions)) {}
  void run() {
    for (int twice = 0; twice < 2; ++twice) square_.noalias() = one_.transpose() * two_;
    square_.noalias() = two_.transpose() * one_;
    for (int each = 0; each < 2; ++each) two_.noalias() = one_ * other_;
    for (int each = 0; each < 2; ++each) two_.noalias() = one_ * other_.transpose();
    benchmark::DoNotOptimize(two_.data());
  }

 private:
  MatrixXf one_, two_, square_, other_;
};

Elapsed bare_products(std::int64_t samples, int repeats) {
  const Index tokens = samples * kShape.context, width = kShape.width;
  BareLinear qkv(3 * width, width, tokens), join(width, width, tokens), widen(4 * width, width, tokens),
      narrow(width, 4 * width, tokens), scores(kShape.vocabulary, width, tokens);
  BareHead head(width / kShape.heads, kShape.context);
  const Stopwatch watch;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::int64_t block = 0; block < kShape.depth; ++block) {
      for (BareLinear* product : {&qkv, &join, &widen, &narrow}) product->run();
      for (std::int64_t each = 0; each < samples * kShape.heads; ++each) head.run();
    }
    scores.run();
  }
  return watch.elapsed();
}

void gradients(benchmark::State& state, Summary& summary, std::int64_t samples) {
  constexpr int kRepeats = 20;
  const CausalTransformer<float> model(kShape);
  const Batch<float> batch = random_batch(samples);
  std::vector<float> at(model.parameters()), gradient(model.parameters());
  model.initialise(Stream({1, Purpose::initial_model, 0, 0}), at);
  model.loss_and_gradient(at, batch, gradient, nullptr);
  for ([[maybe_unused]] auto _ : state) {
    const Elapsed bare = bare_products(samples, kRepeats);
    const Stopwatch watch;
    for (int repeat = 0; repeat < kRepeats; ++repeat) model.loss_and_gradient(at, batch, gradient, nullptr);
    const Elapsed elapsed = watch.elapsed();
    state.SetIterationTime(elapsed.wall_s);
    const std::string what =
        fmt::format("20 gradients of nanoGPT's CPU setting, batch {}, 1 thread", samples);
    summary.time(what, elapsed, 0);
    summary.ratio(what + " / its matrix products in bare Eigen", elapsed, bare, 1.5);
  }
}

}  // namespace

void register_transformer(Summary& summary) {
  for (const std::int64_t samples : {6, 12})
    add_benchmark(fmt::format("transformer/batch_{}", samples), Clock::told, 3,
                  [&summary, samples](benchmark::State& state) { gradients(state, summary, samples); });
}

}  // namespace simsgd::bench
