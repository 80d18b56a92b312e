#include "sim/learn/learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

// What the user asked for and cannot have; the pointers are relative to the learner's object.
void check_partition(const LearnerSpec& spec) {
  if (spec.partition.kind != PartitionSpec::Kind::dirichlet) return;
  const DataSet& train = *spec.train;
  if (train.labels.empty())
    reject("partition", fmt::format("is by label, and the data set \"{}\" has no labels", train.name),
           "Use an iid partition, or a data set with classes");
  if (train.count < spec.workers)
    reject(
        "partition",
        fmt::format("cannot give each of {} workers a share of only {} samples", spec.workers, train.count),
        "Use fewer workers, more samples or an iid partition");
  if (!(spec.partition.alpha > 0) || std::isinf(spec.partition.alpha))
    reject("partition", "has a concentration alpha that is not a positive number",
           "Use a number above 0, such as 0.5");
}

SamplerSpec sampler_spec(const LearnerSpec& spec) {
  check_partition(spec);
  SamplerSpec sampler{.count = static_cast<std::size_t>(spec.train->count),
                      .shares = {},
                      .workers = spec.workers,
                      .batch = spec.batch,
                      .seed = spec.seed};
  if (spec.partition.kind == PartitionSpec::Kind::dirichlet)
    sampler.shares = dirichlet_shares(spec.train->labels, {.workers = spec.workers,
                                                           .classes = spec.train->classes,
                                                           .alpha = spec.partition.alpha,
                                                           .seed = spec.seed});
  return sampler;
}

LearnerSpec checked(LearnerSpec spec) {
  CHECK(spec.model && spec.train, "a learner needs a model and a training set");
  CHECK(spec.workers > 0 && spec.batch > 0, "a learner needs a worker and a batch");
  for (const DataSet* data : {spec.train.get(), spec.test.get()}) {
    if (data == nullptr) continue;
    const std::string problem = problem_of(*data);
    CHECK(problem.empty(), "the data set \"" + data->name + "\" is inconsistent: " + problem);
    CHECK(data->features == spec.model->inputs(), "a model for data of another shape");
  }
  return spec;
}

Evaluation evaluate(const Model<float>& model, std::span<const float> parameters, const DataSet& data) {
  // Activations stay in the cache.
  const std::int64_t most = data.is_text() ? std::max<std::int64_t>(1, 1024 / data.features) : 250;
  Evaluation evaluation;
  std::int64_t correct = 0;
  for (std::int64_t begin = 0; begin < data.count; begin += most) {
    std::vector<std::int32_t> chunk(static_cast<std::size_t>(std::min(most, data.count - begin)));
    std::iota(chunk.begin(), chunk.end(), static_cast<std::int32_t>(begin));
    const auto score = model.score(parameters, data.batch<float>(chunk));
    evaluation.loss += static_cast<double>(score.loss) * static_cast<double>(chunk.size());
    correct += score.correct;
  }
  evaluation.loss /= static_cast<double>(data.count);
  evaluation.accuracy = data.classes > 0 ? static_cast<double>(correct) /
                                               static_cast<double>(data.count * data.labels_per_sample())
                                         : std::numeric_limits<double>::quiet_NaN();
  return evaluation;
}

}  // namespace

Learner::Learner(LearnerSpec spec) : spec_(checked(std::move(spec))), sampler_(sampler_spec(spec_)) {}

std::size_t Learner::parameters() const { return spec_.model->parameters(); }

std::vector<float> Learner::initial_parameters() const {
  std::vector<float> initial(parameters());
  spec_.model->initialise(Stream({spec_.seed, Purpose::initial_model, 0, 0}), initial);
  return initial;
}

std::vector<std::int32_t> Learner::samples(int rank, std::uint64_t step, int part, int parts) const {
  CHECK(parts >= 1 && part >= 0 && part < parts, "no such part of a mini-batch");
  if (parts > spec_.batch)
    throw RunError(fmt::format("a mini-batch of {} samples cannot be cut into {} parts", spec_.batch, parts));
  std::vector<std::int32_t> all = sampler_.samples(rank, step);
  if (parts == 1) return all;
  const auto cut = [&](int index) {
    return all.begin() + static_cast<std::ptrdiff_t>(std::int64_t{index} * spec_.batch / parts);
  };
  return {cut(part), cut(part + 1)};
}

double Learner::gradient(std::span<const float> parameters, std::span<const std::int32_t> samples,
                         std::span<float> gradient, LayerTap<float>* tap) const {
  const Batch<float> batch = spec_.train->batch<float>(samples);
  return static_cast<double>(spec_.model->loss_and_gradient(parameters, batch, gradient, tap));
}

Evaluation Learner::evaluate_test(std::span<const float> parameters) const {
  CHECK(has_test(), "this learner has no test set");
  return evaluate(*spec_.model, parameters, *spec_.test);
}

double Learner::bits_per_byte(double loss) const {
  CHECK(has_test() && spec_.test->is_text(), "bits for each byte of what is not text");
  return loss / (std::numbers::ln2 * spec_.test->bytes_per_token);
}

Evaluation Learner::evaluate_train(std::span<const float> parameters) const {
  return evaluate(*spec_.model, parameters, *spec_.train);
}

std::int64_t Learner::train_samples() const { return spec_.train->count; }

std::size_t Learner::share(int rank) const { return sampler_.share(rank); }

}  // namespace simsgd
