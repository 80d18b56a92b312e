// The learner: parts of mini-batches, gradients, evaluation, what it rejects.
#include "sim/learn/learner.hpp"

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "sim/base/errors.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/numerics.hpp"
#include "tests/learn/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::learn_learner {

using namespace simsgd::testing;

namespace {

LearnerSpec spec_of(DataSet data, int workers, int batch) {
  LearnerSpec spec;
  spec.model = model_plugin("mlp").make(Json{{"hidden", {8}}}, data);
  spec.train = std::make_shared<DataSet>(std::move(data));
  spec.workers = workers;
  spec.batch = batch;
  return spec;
}

std::string rejection(LearnerSpec spec) {
  return refusal_of<ParameterError>([&] { const Learner learner(std::move(spec)); });
}

}  // namespace

TEST_CASE("part p of a mini-batch is the p-th contiguous part of it") {
  const Learner learner(spec_of(random_classes(100, 4, 3, 1), 2, 10));
  const std::vector<std::int32_t> whole = learner.samples(1, 3);
  REQUIRE(whole.size() == 10);
  for (const int parts : {1, 2, 3, 5, 10}) {
    CAPTURE(parts);
    std::vector<std::int32_t> together;
    for (int part = 0; part < parts; ++part) {
      const std::vector<std::int32_t> mine = learner.samples(1, 3, part, parts);
      CHECK(std::abs(static_cast<int>(mine.size()) * parts - 10) < parts);  // sizes differ by one at most
      together.insert(together.end(), mine.begin(), mine.end());
    }
    CHECK(together == whole);
  }
  CHECK_THROWS_WITH_AS(learner.samples(0, 1, 0, 11), "a mini-batch of 10 samples cannot be cut into 11 parts",
                       RunError);
}

TEST_CASE("the mean of the gradients of equal parts is the gradient of the whole") {
  const Learner learner(spec_of(random_classes(100, 4, 3, 1), 1, 12));
  const std::vector<float> at = learner.initial_parameters();
  std::vector<float> whole(at.size()), part(at.size());
  const double loss = learner.gradient(at, learner.samples(0, 1), whole);
  std::vector<double> mean(at.size(), 0);
  double mean_loss = 0;
  for (int p = 0; p < 4; ++p) {
    mean_loss += learner.gradient(at, learner.samples(0, 1, p, 4), part) / 4;
    for (std::size_t i = 0; i < at.size(); ++i) mean[i] += static_cast<double>(part[i]) / 4;
  }
  CHECK(mean_loss == doctest::Approx(loss).epsilon(1e-6));
  for (std::size_t i = 0; i < at.size(); ++i) CHECK(std::abs(mean[i] - static_cast<double>(whole[i])) < 1e-6);
}

TEST_CASE("the starting point is a function of the seed alone") {
  LearnerSpec spec = spec_of(random_classes(100, 4, 3, 1), 1, 12);
  LearnerSpec wide = spec, other = spec;
  wide.workers = 5, wide.batch = 3;
  other.seed = 2;
  const std::vector<float> initial = Learner(spec).initial_parameters();
  CHECK(initial == Learner(wide).initial_parameters());
  CHECK(initial != Learner(other).initial_parameters());
}

TEST_CASE("a gradient is the same, bit for bit, on any thread and beside others") {
  const Learner learner(spec_of(random_classes(200, 30, 3, 1), 4, 16));
  const std::vector<float> at = learner.initial_parameters();
  std::vector<std::vector<float>> alone(4, std::vector<float>(at.size())), together = alone;
  for (int rank = 0; rank < 4; ++rank)
    learner.gradient(at, learner.samples(rank, 1), alone[static_cast<std::size_t>(rank)]);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank)
    threads.emplace_back([&, rank] {
      for (int repeat = 0; repeat < 20; ++repeat)
        learner.gradient(at, learner.samples(rank, 1), together[static_cast<std::size_t>(rank)]);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(together == alone);
}

TEST_CASE("evaluation averages loss and accuracy over all samples, whatever the chunks it works in") {
  // 601 samples: two whole chunks of 250 and a rest.
  LearnerSpec spec = spec_of(random_classes(601, 4, 3, 1), 1, 8);
  spec.test = spec.train;
  const Learner learner(spec);
  const std::vector<float> at = learner.initial_parameters();
  const auto whole = learner.model().score(at, spec.train->batch<float>(all_samples(*spec.train)));
  const Evaluation found = learner.evaluate_test(at);
  CHECK(found.loss == doctest::Approx(whole.loss).epsilon(1e-6));
  CHECK(found.accuracy == static_cast<double>(whole.correct) / 601);
  CHECK(learner.evaluate_train(at).loss == found.loss);
}

TEST_CASE("a regression has no accuracy") {
  const DataSets sets = load("teacher_student", {{"samples", 50}, {"test_samples", 20}});
  LearnerSpec spec;
  spec.model = model_plugin("linear_regression").make(Json::object(), *sets.train);
  spec.train = sets.train;
  spec.test = sets.test;
  const Learner learner(spec);
  CHECK(std::isnan(learner.evaluate_test(learner.initial_parameters()).accuracy));
}

TEST_CASE("a partition that is impossible is rejected with the reason") {
  LearnerSpec many = spec_of(random_classes(3, 4, 3, 1), 5, 1);
  many.partition.kind = PartitionSpec::Kind::dirichlet;
  CHECK(
      rejection(many) ==
      "/partition: cannot give each of 5 workers a share of only 3 samples. Use fewer workers, more samples or an iid partition");
  many.partition.kind = PartitionSpec::Kind::iid;
  CHECK(rejection(many) == "");

  LearnerSpec flat = spec_of(random_classes(30, 4, 3, 1), 2, 1);
  flat.partition = {PartitionSpec::Kind::dirichlet, 0.0};
  CHECK(
      rejection(flat) ==
      "/partition: has a concentration alpha that is not a positive number. Use a number above 0, such as 0.5");
}

TEST_CASE("bytes are scaled and shifted when a batch is made") {
  // byte / 255: 0, 51, 255 are 0, 0.2, 1.
  DataSet data;
  data.count = 1, data.features = 3, data.classes = 2;
  data.bytes = {0, 51, 255};
  data.scale = 1.0f / 255;
  data.labels = {1};
  const std::vector<std::int32_t> first = {0};
  const Batch<float> batch = data.batch<float>(first);
  CHECK(batch.inputs(0, 0) == 0.0f);
  CHECK(batch.inputs(1, 0) == doctest::Approx(0.2));
  CHECK(batch.inputs(2, 0) == doctest::Approx(1.0));
  CHECK(batch.labels == std::vector<std::int32_t>{1});
}

TEST_CASE("fix_numerics makes Eigen block for the same caches on every machine") {
  fix_numerics();
  CHECK(Eigen::l1CacheSize() == 32 * 1024);
  CHECK(Eigen::l2CacheSize() == 512 * 1024);
  CHECK(Eigen::l3CacheSize() == 16 * 1024 * 1024);
}

}  // namespace simsgd::test::learn_learner
