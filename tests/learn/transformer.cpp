// The causal transformer: against PyTorch where it is, what it may see, its size and FLOPs by hand, and that
// it learns. Its gradient against finite differences: gradients.cpp.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/learn/gradient.hpp"
#include "sim/learn/models/transformer.hpp"
#include "tests/learn/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::learn_transformer {

using namespace simsgd::testing;
using doctest::Approx;

namespace {

Json torch_case(const TransformerShape& shape, const std::vector<double>& parameters, const DataSet& data) {
  const Batch<double> batch = data.batch<double>(all_samples(data));
  Json tokens = Json::array(), labels = Json::array();
  for (std::int64_t s = 0; s < batch.size(); ++s) {
    Json of_sample = Json::array(), after = Json::array();
    for (std::int64_t t = 0; t < shape.context; ++t) {
      of_sample.push_back(static_cast<int>(batch.inputs(t, s)));
      after.push_back(batch.labels[static_cast<std::size_t>(s * shape.context + t)]);
    }
    tokens.push_back(of_sample);
    labels.push_back(after);
  }
  return {{"shape",
           {{"vocabulary", shape.vocabulary},
            {"context", shape.context},
            {"width", shape.width},
            {"heads", shape.heads},
            {"depth", shape.depth},
            {"bias", shape.bias}}},
          {"parameters", parameters},
          {"tokens", tokens},
          {"labels", labels}};
}

}  // namespace

TEST_CASE("loss and gradient of a transformer are PyTorch's") {
  if (!torch_is_there()) {
    MESSAGE("SKIPPED: no python3-torch");
    return;
  }
  const TransformerShape shapes[] = {
      {.vocabulary = 7, .context = 5, .width = 6, .heads = 2, .depth = 2, .bias = false},
      {.vocabulary = 4, .context = 3, .width = 8, .heads = 4, .depth = 1, .bias = true},
      {.vocabulary = 3, .context = 1, .width = 4, .heads = 1, .depth = 3, .bias = true}};
  Json asked = Json::array();
  std::vector<Differentiated> ours;
  for (const TransformerShape& shape : shapes) {
    const DataSet data = random_text(static_cast<int>(shape.vocabulary), shape.context, 4, 5);
    const CausalTransformer<double> model(shape);
    const std::vector<double> at = random_point(model.parameters(), 3);
    asked.push_back(torch_case(shape, at, data));
    ours.push_back(differentiate(model, at, data));
  }
  const std::vector<Differentiated> torch = by_torch("transformer", asked);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(i);
    CHECK(ours[i].loss == Approx(torch.at(i).loss).epsilon(1e-12));
    CHECK(worst_difference(ours[i].gradient, torch[i].gradient) < 1e-12);
  }
}

TEST_CASE("a token changes what is said of the tokens after it and of none before it") {
  const TransformerShape shape{.vocabulary = 6, .context = 8, .width = 12, .heads = 3, .depth = 2};
  const CausalTransformer<double> model(shape);
  const std::vector<double> at = random_point(model.parameters(), 5);
  DataSet data = random_text(6, 8, 1, 2);
  // The loss of the first j tokens alone: labels of the others are what it finds likeliest anyhow, so compare
  // the sums of losses of single labels instead.
  const auto loss_of = [&](const DataSet& text, std::size_t position, std::int32_t label) {
    Batch<double> batch = text.batch<double>(std::vector<std::int32_t>{0});
    batch.labels[position] = label;
    return model.score(at, batch).loss;
  };
  DataSet other = data;
  other.tokens[4] = static_cast<std::uint16_t>((data.tokens[4] + 1) % 6);
  for (std::size_t position = 0; position < 8; ++position) {
    CAPTURE(position);
    // How much likelier label 1 is than label 0 after this position depends on what it has seen alone.
    const double before = loss_of(data, position, 0) - loss_of(data, position, 1);
    const double after = loss_of(other, position, 0) - loss_of(other, position, 1);
    if (position < 4)
      CHECK(before == Approx(after).epsilon(1e-12));
    else
      CHECK(std::abs(before - after) > 1e-6);
  }
}

TEST_CASE("parameters, layers and FLOPs of nanoGPT's CPU setting, by hand") {
  // 65 characters: E 65 x 128, P 64 x 128; a block 12 128^2 + 2 128; the last norm 128: 803,456, of which
  // nanoGPT prints 0.80 M (it does not count P: 795,264).
  const CausalTransformer<float> model({.vocabulary = 65, .context = 64});
  CHECK(model.parameters() == 65 * 128 + 64 * 128 + 4 * (12 * 128 * 128 + 2 * 128) + 128);
  std::size_t offset = 0;
  double flop = 0;
  for (const LayerInfo& layer : model.layers()) {
    CAPTURE(layer.name);
    CHECK(layer.offset == offset);
    offset += layer.size();
    if (layer.kind == LayerInfo::Kind::linear) flop += layer.forward_flop;
  }
  CHECK(offset == model.parameters());
  // Of each of 64 tokens: 2 x 12 x 128^2 for the products of a block, 4 x 64 x 128 for scores and means.
  CHECK(flop == Approx(4 * 64 * (2.0 * 12 * 128 * 128 + 4 * 64 * 128)).epsilon(1e-12));
}

TEST_CASE("a transformer starts with as much as it knows, nothing, and learns a text that repeats itself") {
  DataSet data;
  data.name = "text";
  data.features = 8, data.classes = 5, data.count = 40;
  // From what came before the next token is known but at the first two positions.
  for (int i = 0; i < 60; ++i)
    data.tokens.push_back(
        static_cast<std::uint16_t>(std::array{0, 3, 1, 3, 4, 2}[static_cast<std::size_t>(i) % 6]));
  REQUIRE(problem_of(data).empty());
  LearnerSpec spec;
  spec.model = model_plugin("transformer").make({{"layers", 2}, {"heads", 2}, {"width", 16}}, data);
  spec.train = std::make_shared<const DataSet>(data);
  spec.batch = 8;
  const Learner learner(std::move(spec));
  std::vector<float> at = learner.initial_parameters(), gradient(at.size());
  // log 5 = 1.61, and a little: with the scores' matrix tied to the embedding a token first says itself,
  // which never follows here.
  CHECK(learner.evaluate_train(at).loss > std::log(5.0));
  CHECK(learner.evaluate_train(at).loss < std::log(5.0) + 0.15);
  for (std::uint64_t step = 1; step <= 800; ++step) {
    learner.gradient(at, learner.samples(0, step), gradient);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] -= 0.3F * gradient[i];
  }
  // A 3 is followed by 1 or by 4. Of the 14 of 40 samples that begin with one nobody can tell at the first of
  // 8 tokens: 14 / 40 / 8 log 2 = 0.0303 at least.
  const Evaluation after = learner.evaluate_train(at);
  CHECK(after.loss < 0.05);
  CHECK(after.loss > 0.0303);
  CHECK(after.accuracy > 0.97);
}

TEST_CASE("gradients of a transformer are the same, bit by bit, on one thread and on three") {
  const DataSet data = random_text(9, 16, 64, 4);
  LearnerSpec spec;
  spec.model = model_plugin("transformer").make({{"layers", 2}, {"heads", 2}, {"width", 32}}, data);
  spec.train = std::make_shared<const DataSet>(data);
  spec.batch = 4;
  spec.workers = 6;
  const Learner learner(std::move(spec));
  const auto gradients = [&](int threads) {
    Executor executor(threads);
    TensorData start;
    start.values = learner.initial_parameters();
    const Tensor at = executor.constant(std::move(start));
    std::vector<Tensor> all;
    for (int rank = 0; rank < 6; ++rank)
      all.push_back(submit_gradient(executor, learner, at, {.rank = rank, .step = 3}));
    std::vector<std::vector<float>> values;
    for (const Tensor& gradient : all) values.push_back(executor.get(gradient).values);
    return values;
  };
  const auto alone = gradients(1);
  CHECK(alone[0] != alone[1]);
  CHECK(gradients(3) == alone);
}

}  // namespace simsgd::test::learn_transformer
