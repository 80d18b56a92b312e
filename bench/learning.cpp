// Runs that learn: how much of the time is the gradients, how near the core's peak their products are, and
// what many replicas need of memory.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <barrier>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/dataset.hpp"
#include "sim/learn/layers/linear.hpp"
#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"

namespace simsgd::bench {

namespace {

// The training that bench/learning.json asks for as one would write it without a simulator: a loop over
// steps, the gradients of all workers in plain Eigen, their mean, one optimizer step.

struct BareTraining {
  int workers = 1;
  int steps = 1;
  int threads = 1;
  float learning_rate = 0.1F;
  float momentum = 0.9F;
};

struct BareGradient {
  Eigen::VectorXf values;
  double loss = 0;
};

/// What a network's loss and gradient are on samples of data of bytes.
using BareNetwork = std::function<void(const Eigen::VectorXf& parameters, const DataSet& data,
                                       const std::vector<std::int32_t>& samples, BareGradient& gradient)>;

/// The samples' images, a column each.
Eigen::MatrixXf bare_images(const DataSet& data, const std::vector<std::int32_t>& samples);
/// The mean cross-entropy; `outputs` become its gradient.
double bare_cross_entropy(const DataSet& data, const std::vector<std::int32_t>& samples,
                          Eigen::MatrixXf& outputs);

using namespace Eigen;

struct Shape {
  Index inputs, hidden, classes;
  Index second() const { return hidden * inputs + hidden; }  // where the second layer begins
};

// Weights of a layer are outputs x inputs, column by column, and then the biases.
void compute(const Shape& shape, const VectorXf& parameters, const DataSet& data,
             const std::vector<std::int32_t>& samples, BareGradient& gradient) {
  const MatrixXf inputs = bare_images(data, samples);
  const Map<const MatrixXf> weights1(parameters.data(), shape.hidden, shape.inputs);
  const Map<const VectorXf> biases1(parameters.data() + shape.hidden * shape.inputs, shape.hidden);
  const Map<const MatrixXf> weights2(parameters.data() + shape.second(), shape.classes, shape.hidden);
  const Map<const VectorXf> biases2(parameters.data() + shape.second() + shape.classes * shape.hidden,
                                    shape.classes);

  MatrixXf hidden = weights1 * inputs;
  hidden = (hidden.colwise() + biases1).cwiseMax(0.0F);
  MatrixXf outputs = weights2 * hidden;
  outputs.colwise() += biases2;
  gradient.loss = bare_cross_entropy(data, samples, outputs);
  MatrixXf back = weights2.transpose() * outputs;
  back = (hidden.array() > 0).select(back, 0.0F);

  gradient.values.resize(parameters.size());
  float* to = gradient.values.data();
  Map<MatrixXf>(to, shape.hidden, shape.inputs).noalias() = back * inputs.transpose();
  Map<VectorXf>(to + shape.hidden * shape.inputs, shape.hidden) = back.rowwise().sum();
  Map<MatrixXf>(to + shape.second(), shape.classes, shape.hidden).noalias() = outputs * hidden.transpose();
  Map<VectorXf>(to + shape.second() + shape.classes * shape.hidden, shape.classes) = outputs.rowwise().sum();
}

MatrixXf bare_images(const DataSet& data, const std::vector<std::int32_t>& samples) {
  MatrixXf inputs(data.features, static_cast<Index>(samples.size()));
  for (Index s = 0; s < inputs.cols(); ++s)
    inputs.col(s) =
        Map<const Eigen::Matrix<std::uint8_t, Dynamic, 1>>(
            data.bytes.data() + samples[static_cast<std::size_t>(s)] * data.features, data.features)
                .cast<float>()
                .array() *
            data.scale +
        data.shift;
  return inputs;
}

double bare_cross_entropy(const DataSet& data, const std::vector<std::int32_t>& samples, MatrixXf& outputs) {
  const Index batch = outputs.cols();
  double loss = 0;
  for (Index s = 0; s < batch; ++s) {
    const std::int32_t label = data.labels[static_cast<std::size_t>(samples[static_cast<std::size_t>(s)])];
    auto column = outputs.col(s).array();
    column -= column.maxCoeff();
    loss -= column(label);
    column = column.exp();
    const float sum = column.sum();
    loss += std::log(sum);
    column /= sum * static_cast<float>(batch);
    column(label) -= 1.0F / static_cast<float>(batch);
  }
  return loss / static_cast<double>(batch);
}

/// An MLP with one hidden layer of ReLU and cross-entropy.
BareNetwork bare_mlp(const Learner& learner, const DataSet& data) {
  const Index inputs = data.features, classes = data.classes;
  const auto parameters = static_cast<Index>(learner.parameters());
  const Shape shape{inputs, (parameters - classes) / (inputs + 1 + classes), classes};
  return [shape](const VectorXf& at, const DataSet& of, const std::vector<std::int32_t>& samples,
                 BareGradient& gradient) { compute(shape, at, of, samples, gradient); };
}

/// The learner gives the starting point and tells which samples a worker draws; the mean loss of each step
/// comes back.
std::vector<double> train_bare(const BareTraining& settings, const BareNetwork& network,
                               const Learner& learner, const DataSet& data) {
  const std::vector<float> start = learner.initial_parameters();
  VectorXf parameters = Map<const VectorXf>(start.data(), static_cast<Index>(start.size()));
  VectorXf velocity = VectorXf::Zero(parameters.size());
  std::vector<BareGradient> gradients(static_cast<std::size_t>(settings.workers));
  std::vector<double> losses;
  const auto finish_step = [&]() noexcept {
    VectorXf mean = gradients.front().values;
    double loss = gradients.front().loss;
    for (std::size_t w = 1; w < gradients.size(); ++w) {
      mean += gradients[w].values;
      loss += gradients[w].loss;
    }
    mean /= static_cast<float>(settings.workers);
    velocity = settings.momentum * velocity + mean;
    parameters -= settings.learning_rate * velocity;
    losses.push_back(loss / settings.workers);
  };
  std::barrier all(settings.threads, finish_step);
  const auto work = [&](int thread) {
    for (int step = 1; step <= settings.steps; ++step) {
      for (int w = thread; w < settings.workers; w += settings.threads)
        network(parameters, data, learner.samples(w, static_cast<std::uint64_t>(step)),
                gradients[static_cast<std::size_t>(w)]);
      all.arrive_and_wait();
    }
  };
  std::vector<std::jthread> threads;
  for (int thread = 1; thread < settings.threads; ++thread) threads.emplace_back(work, thread);
  work(0);
  return losses;
}

// The model cnn with its defaults as one would write it in plain Eigen: sample by sample, a column of patches
// for each entry of the kernel, a product with the weights, maxima of four strided planes.
constexpr Index kKernel = 3, kFilters[] = {8, 16};

struct Level {
  Index channels, side, filters;
  Index pixels() const { return side * side; }
  Index patch() const { return channels * kKernel * kKernel; }
  Index parameters() const { return filters * (patch() + 1); }
};

// Calls entry(plane, image) for every entry of the kernel: the part of a column of patches that lies in the
// image, and where it comes from. `images`: a column for each channel.
template <class Image, class Entry>
void for_each_entry(const Level& level, MatrixXf& patches, Image& images, Entry entry) {
  for (Index k = 0, side = level.side; k < level.patch(); ++k) {
    const Index dx = k % kKernel - 1, dy = k / kKernel % kKernel - 1;
    const Index columns = side - std::abs(dx), rows = side - std::abs(dy);
    Map<MatrixXf> plane(patches.col(k).data(), side, side);
    auto image = images.col(k / (kKernel * kKernel)).reshaped(side, side);
    entry(plane.block(std::max<Index>(0, -dx), std::max<Index>(0, -dy), columns, rows),
          image.block(std::max<Index>(0, dx), std::max<Index>(0, dy), columns, rows));
  }
}

// Every second pixel of a plane, from one of four on.
auto quarter(float* plane, Index side, int which) {
  return Map<ArrayXXf, 0, Stride<Dynamic, 2>>(plane + which / 2 * side + which % 2, side / 2, side / 2,
                                              {2 * side, 2});
}

struct Pass {
  MatrixXf outputs, pooled;  // images below each other, a column for each sample
};

void forward(const Level& level, const float* parameters, const MatrixXf& images, Pass& pass) {
  const Map<const MatrixXf> weights(parameters, level.filters, level.patch());
  const Map<const RowVectorXf> biases(parameters + weights.size(), level.filters);
  pass.outputs.resize(level.pixels() * level.filters, images.cols());
  pass.pooled.resize(pass.outputs.rows() / 4, images.cols());
  MatrixXf patches = MatrixXf::Zero(level.pixels(), level.patch());
  for (Index s = 0; s < images.cols(); ++s) {
    const Map<const MatrixXf> image(images.col(s).data(), level.pixels(), level.channels);
    for_each_entry(level, patches, image, [](auto to, auto from) { to = from; });
    Map<MatrixXf> output(pass.outputs.col(s).data(), level.pixels(), level.filters);
    output.noalias() = patches * weights.transpose();
    output = (output.rowwise() + biases).cwiseMax(0.0F);
    for (Index f = 0; f < level.filters; ++f) {
      const auto part = [&](int which) { return quarter(output.col(f).data(), level.side, which); };
      Map<ArrayXXf>(pass.pooled.col(s).data() + f * level.pixels() / 4, level.side / 2, level.side / 2) =
          part(0).max(part(1)).max(part(2).max(part(3)));
    }
  }
}

// `arriving`: of the pooled outputs. The images' gradient, where there is a layer before.
MatrixXf backward(const Level& level, const float* parameters, const MatrixXf& images,
                  const MatrixXf& arriving, Pass& pass, float* gradient) {
  const Map<const MatrixXf> weights(parameters, level.filters, level.patch());
  Map<MatrixXf> change_of_weights(gradient, level.filters, level.patch());
  Map<VectorXf> change_of_biases(gradient + weights.size(), level.filters);
  change_of_weights.setZero(), change_of_biases.setZero();
  MatrixXf before = MatrixXf::Zero(images.rows(), level.channels > 1 ? images.cols() : 0);
  MatrixXf patches = MatrixXf::Zero(level.pixels(), level.patch()), change(level.pixels(), level.filters);
  for (Index s = 0, half = level.side / 2; s < images.cols(); ++s) {
    for (Index f = 0; f < level.filters; ++f) {
      const Map<const ArrayXXf> best(pass.pooled.col(s).data() + f * half * half, half, half);
      ArrayXXf left = (best > 0).cast<float>();  // what no pixel has taken yet
      left *= Map<const ArrayXXf>(arriving.col(s).data() + f * half * half, half, half);
      for (const int which : {0, 1, 2, 3}) {
        auto to = quarter(change.col(f).data(), level.side, which);
        const auto output = quarter(pass.outputs.col(s).data() + f * level.pixels(), level.side, which);
        left -= to = left * (output == best).cast<float>();
      }
    }
    const Map<const MatrixXf> image(images.col(s).data(), level.pixels(), level.channels);
    for_each_entry(level, patches, image, [](auto to, auto from) { to = from; });
    change_of_weights.noalias() += change.transpose() * patches;
    change_of_biases += change.colwise().sum().transpose();
    if (before.size() == 0) continue;
    MatrixXf back = change * weights;
    Map<MatrixXf> image_before(before.col(s).data(), level.pixels(), level.channels);
    for_each_entry(level, back, image_before, [](auto from, auto to) { to += from; });
  }
  return before;
}

BareNetwork bare_cnn(const DataSet& data) {
  const Level one{1, data.height, kFilters[0]}, two{kFilters[0], data.height / 2, kFilters[1]};
  return [one, two](const VectorXf& parameters, const DataSet& of, const std::vector<std::int32_t>& samples,
                    BareGradient& gradient) {
    const float* const weights2 = parameters.data() + one.parameters();
    const MatrixXf images = bare_images(of, samples);
    Pass first, second;
    forward(one, parameters.data(), images, first);
    forward(two, weights2, first.pooled, second);
    const Map<const MatrixXf> weights(weights2 + two.parameters(), of.classes, second.pooled.rows());
    MatrixXf outputs = weights * second.pooled;
    outputs.colwise() += Map<const VectorXf>(weights.data() + weights.size(), of.classes);
    gradient.loss = bare_cross_entropy(of, samples, outputs);
    gradient.values.resize(parameters.size());
    float* const to = gradient.values.data() + one.parameters();
    Map<MatrixXf>(to + two.parameters(), of.classes, weights.cols()).noalias() =
        outputs * second.pooled.transpose();
    Map<VectorXf>(to + two.parameters() + weights.size(), of.classes) = outputs.rowwise().sum();
    const MatrixXf middle = backward(two, weights2, first.pooled, weights.transpose() * outputs, second, to);
    backward(one, parameters.data(), images, middle, first, gradient.values.data());
  };
}

constexpr const char* kLearningScenario = SIMSGD_SOURCE_DIR "/bench/learning.json";

std::shared_ptr<const DataSet> fashion_mnist() {
  for (const DataPlugin& plugin : data_plugins())
    if (plugin.info.name == "fashion_mnist")
      return plugin
          .make(Json::object(),
                {.seed = 1, .resolve = [](const std::string& path) { return std::filesystem::path(path); }})
          .train;
  throw std::runtime_error("no data set fashion_mnist");
}

/// bench/learning.json with another model.
struct Training {
  const char* name;
  const char* what;
  std::vector<std::pair<std::string, std::string>> set = {};
  int threads = 1;
  bool images = false;  // a cnn
};

// Wall and CPU seconds of the simulation, and of the same training in a bare loop. Data sets are loaded
// before.
std::vector<double> compare(const Training& training) {
  const Job job = make_job(load_scenario(kLearningScenario, {training.set, {}}));
  const std::shared_ptr<const DataSet> data = fashion_mnist();
  const auto steps = static_cast<int>(job.stop.steps);
  const Stopwatch bare_watch;
  const std::vector<double> losses =
      train_bare({job.workers(), steps, training.threads},
                 training.images ? bare_cnn(*data) : bare_mlp(*job.learner, *data), *job.learner, *data);
  const Elapsed bare = bare_watch.elapsed();
  SimulationOptions options;
  options.threads = training.threads;
  const Stopwatch watch;
  const SimulationResult result = simulate(job, options);
  const Elapsed simulated = watch.elapsed();
  const double loss = result.record.series.back().train_loss;
  if (!(std::fabs(loss - losses.back()) < 1e-3 * loss))
    throw std::runtime_error(
        fmt::format("the bare loop ends at loss {}, the simulation at {}", losses.back(), loss));
  return {simulated.wall_s, simulated.cpu_s, bare.wall_s, bare.cpu_s};
}

void against_bare_loop(benchmark::State& state, Summary& summary, const Training& training) {
  for ([[maybe_unused]] auto _ : state) {
    const ChildRun run = run_in_child([&] { return compare(training); });
    const Elapsed simulated{run.numbers.at(0), run.numbers.at(1)}, bare{run.numbers.at(2), run.numbers.at(3)};
    state.SetIterationTime(simulated.wall_s);
    const std::string what =
        fmt::format("64 workers x {} on Fashion-MNIST, {} thread(s)", training.what, training.threads);
    summary.time(what, simulated, 0);
    summary.ratio(what + " / bare Eigen loop", simulated, bare, 1.1);
  }
}

using Packet = Eigen::internal::packet_traits<float>::type;

// Multiply-adds that depend on nothing but themselves, enough of them at once that none waits: this core's
// peak. Inlined, their sums would go to memory and back.
[[gnu::noinline]] float multiply_add(double flop) {
  constexpr int kAtOnce = 12, kFlop = 2 * kAtOnce * Eigen::internal::packet_traits<float>::size;
  const auto packet = [](float value) { return Eigen::internal::pset1<Packet>(value); };
  Packet sums[kAtOnce];
  for (int i = 0; i < kAtOnce; ++i) sums[i] = packet(static_cast<float>(i));
  const Packet factor = packet(0.999F), term = packet(0.001F);
  for (auto left = static_cast<std::int64_t>(flop / kFlop); left > 0; --left)
    for (Packet& sum : sums) sum = Eigen::internal::pmadd(factor, term, sum);
  Packet total = term;
  for (Packet& sum : sums) total = Eigen::internal::padd(total, sum);
  return Eigen::internal::predux(total);
}

// Wall and CPU seconds of the products of an mlp's gradients, in the layers that learn, and of as many
// multiply-adds.
std::vector<double> products_and_peak(int gradients) {
  constexpr Index kKept = 64;  // each worker's gradient has a place of its own
  static constexpr Index kBatch = 32, kSizes[] = {784, 512, 10};
  double flop = 0;
  VectorXf weights[2], changes_of_weights[2];
  MatrixXf values[3], changes[3];
  for (int l = 0; l < 3; ++l) values[l] = changes[l] = MatrixXf::Random(kSizes[l], kBatch);
  for (int l = 0; l < 2; ++l) {
    weights[l] = VectorXf::Random((kSizes[l] + 1) * kSizes[l + 1]);
    changes_of_weights[l] = VectorXf::Zero(kKept * weights[l].size());
    flop += (l == 0 ? 4.0 : 6.0) * static_cast<double>(kSizes[l] * kSizes[l + 1] * kBatch);
  }
  const auto view = [](MatrixXf& of) { return View<float>(of.data(), of.rows(), of.cols()); };
  const auto read = [](const MatrixXf& of) { return ConstView<float>(of.data(), of.rows(), of.cols()); };
  const auto layer = [](int l) {
    return Linear<float>({.name = "linear", .inputs = kSizes[l], .outputs = kSizes[l + 1], .bias = false});
  };
  const Stopwatch watch;
  for (Index i = 0; i < gradients; ++i) {
    for (const int l : {0, 1})
      layer(l).forward({weights[l].data(), read(values[l]), view(values[l + 1]), nullptr});
    for (const int l : {1, 0})
      layer(l).backward({weights[l].data(), read(values[l]), read(values[l + 1]), read(changes[l + 1]),
                         l == 0 ? View<float>(nullptr, 0, 0) : view(changes[l]),
                         changes_of_weights[l].data() + i % kKept * weights[l].size(), nullptr, nullptr});
  }
  const Elapsed products = watch.elapsed();
  const Stopwatch peak_watch;
  benchmark::DoNotOptimize(multiply_add(gradients * flop));
  const Elapsed peak = peak_watch.elapsed();
  return {products.wall_s, products.cpu_s, peak.wall_s, peak.cpu_s};
}

void against_peak(benchmark::State& state, Summary& summary) {
  constexpr int kGradients = 320;
  for ([[maybe_unused]] auto _ : state) {
    const std::vector<double> run = run_in_child([] { return products_and_peak(kGradients); }).numbers;
    const Elapsed products{run.at(0), run.at(1)}, peak{run.at(2), run.at(3)};
    state.SetIterationTime(products.wall_s);
    const std::string what =
        fmt::format("products of {} gradients of an mlp of 407,050, 1 thread", kGradients);
    summary.time(what, products, 0);
    summary.ratio(what + " / as many multiply-adds at this core's peak", products, peak, 1 / 0.6);
  }
}

void many_replicas(benchmark::State& state, Summary& summary) {
  for ([[maybe_unused]] auto _ : state) {
    const Overrides overrides = {{{"/cluster/workers", "1024"}, {"/stop/steps", "10"}}, {}};
    const ScenarioRun run = time_scenario(state, kLearningScenario, overrides, 2);
    summary.time("1,024 workers x 10 steps, model of 50,890 parameters", run.elapsed, 0);
    summary.memory("memory of that", run.peak_bytes, 1.5e9);
  }
}

}  // namespace

void register_learning(Summary& summary) {
  static const Training kTrainings[] = {
      {.name = "threads_1", .what = "100 steps"},
      {.name = "threads_2", .what = "100 steps", .threads = 2},
      {.name = "mlp_407050",
       .what = "20 steps of an mlp of 407,050",
       .set = {{"/learner/model/hidden", "[512]"}, {"/stop/steps", "20"}}},
      {.name = "cnn",
       .what = "20 steps of a cnn",
       .set = {{"/learner/model", R"({"name": "cnn"})"}, {"/stop/steps", "20"}},
       .images = true}};
  for (const Training& training : kTrainings)
    add_benchmark(
        fmt::format("learning/64/{}", training.name), Clock::told, 3,
        [&summary, &training](benchmark::State& state) { against_bare_loop(state, summary, training); });
  add_benchmark("learning/64/products", Clock::told, 3,
                [&summary](benchmark::State& state) { against_peak(state, summary); });
  add_benchmark("learning/1024", Clock::told, 1,
                [&summary](benchmark::State& state) { many_replicas(state, summary); });
}

}  // namespace simsgd::bench
