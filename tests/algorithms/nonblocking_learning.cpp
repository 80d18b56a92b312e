// Non-blocking SGD: what the workers learn from the micro-batches that were finished.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/algorithms/nonblocking_support.hpp"

namespace simsgd::test::algorithms_nonblocking_learning {

namespace {

constexpr int kBatch = 16, kMicroBatches = 4;
constexpr double kRate = 0.05;

Job learning_job(const std::vector<double>& speeds, const Json& parameters, std::uint64_t rounds,
                 double rate = kRate) {
  Job job = round_job(speeds, Json::object(), rounds);
  add_learner(job, kBatch, 4096, rate);
  use_algorithm(job, "nonblocking",
                with({{"micro_batches", kMicroBatches}, {"preempt", "drop"}}, parameters));
  return job;
}

std::vector<double> losses(const Job& job) { return losses_of(simulate_job(job)); }

// The model of rank 0 when the run is over.
std::vector<double> final_model(Job job) {
  const std::shared_ptr<const Algorithm> inner = std::move(job.algorithm);  // shared with the script
  std::vector<double> model;
  job.algorithm = std::make_unique<ScriptedAlgorithm>([&model, inner](Worker& worker) {
    inner->run(worker);
    if (worker.rank() != 0) return;
    const std::vector<float>& values = worker.executor().get(worker.replica().parameters()).values;
    model.assign(values.begin(), values.end());
  });
  simulate_job(job);
  return model;
}

// Mean loss of a micro-batch at the initial model, and its gradient added to `sum` with a weight.
double micro_batch(const Learner& learner, int rank, std::uint64_t batch, int part, double weight,
                   std::vector<double>& sum) {
  const std::vector<float> parameters = learner.initial_parameters();
  std::vector<float> gradient(parameters.size());
  const double loss =
      learner.gradient(parameters, learner.samples(rank, batch, part, kMicroBatches), gradient);
  sum.resize(gradient.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * static_cast<double>(gradient[i]);
  return loss;
}

// |model - (initial - rate * gradient)|, largest entry.
double error(const Learner& learner, const std::vector<double>& model, const std::vector<double>& gradient) {
  const std::vector<float> initial = learner.initial_parameters();
  double worst = 0;
  for (std::size_t i = 0; i < model.size(); ++i)
    worst = std::max(worst, std::fabs(model[i] - (static_cast<double>(initial[i]) - kRate * gradient[i])));
  return worst;
}

}  // namespace

TEST_CASE("with one micro-batch and equal speeds the losses are those of the blocking method, bit by bit") {
  const auto run = [](const std::string& name, const Json& parameters) {
    Job job = learning_job({1, 1, 1, 1}, Json::object(), 50);
    use_algorithm(job, name, parameters);
    return losses(job);
  };
  const auto nonblocking = run("nonblocking", {{"micro_batches", 1}});
  REQUIRE(nonblocking.size() == 50);
  CHECK(nonblocking.back() < 0.7 * nonblocking.front());
  CHECK(nonblocking == run("nonblocking", {{"micro_batches", 1}, {"trigger", "none"}}));
  CHECK(nonblocking == run("allreduce_sgd", {{"fusion", "all"}}));
}

TEST_CASE("by sample, the update is the mean over finished samples times their share of the batch") {
  // Two workers; the second, at half speed, finishes 2 of 4: x1 = x0 - eta (4 + 2 gradients) / (2 x 4).

  const std::vector<double> model = final_model(learning_job({1, 0.5}, {{"weighting", "sample"}}, 1));
  const Job job = learning_job({1, 0.5}, Json::object(), 1);
  std::vector<double> gradient;
  for (int part = 0; part < 4; ++part) micro_batch(*job.learner, 0, 1, part, 1. / 8, gradient);
  for (int part = 0; part < 2; ++part) micro_batch(*job.learner, 1, 1, part, 1. / 8, gradient);
  CHECK(error(*job.learner, model, gradient) < 1e-6);
}

TEST_CASE("by worker, the update is the mean of the workers' means, of those who have finished something") {
  // Three workers; the second finishes 2 of 4, the third, eight times slower, none.
  const std::vector<double> speeds = {1, 0.5, 0.125};

  const std::vector<double> model = final_model(learning_job(speeds, {{"weighting", "worker"}}, 1));
  const Job job = learning_job(speeds, Json::object(), 1);
  std::vector<double> gradient;
  for (int part = 0; part < 4; ++part) micro_batch(*job.learner, 0, 1, part, 1. / (2 * 4), gradient);
  for (int part = 0; part < 2; ++part) micro_batch(*job.learner, 1, 1, part, 1. / (2 * 2), gradient);
  CHECK(error(*job.learner, model, gradient) < 1e-6);
}

TEST_CASE("a round in which nobody finishes anything changes nothing, and divides nothing by nothing") {
  for (const char* weighting : {"sample", "worker"}) {
    CAPTURE(weighting);

    const std::vector<double> model = final_model(
        learning_job({1, 1}, {{"weighting", weighting}, {"trigger", "deadline"}, {"deadline", "10 ms"}}, 5));
    const Job job = learning_job({1, 1}, Json::object(), 1);
    CHECK(error(*job.learner, model, std::vector<double>(model.size(), 0)) == 0);
  }
}

TEST_CASE(
    "with carry the micro-batches that a round leaves undone go into the next; without, they are lost") {
  // At a learning rate of 0 the loss of a round is that of its data at the initial model. The slow worker
  // finishes 2 of 4 in each round: parts 0, 1 and then 2, 3 of its batch 1, or 0, 1 of its batch 2.
  for (const bool carry : {true, false}) {
    CAPTURE(carry);
    const auto seen = losses(learning_job({1, 0.5}, {{"carry", carry}}, 2, 0));
    const Job job = learning_job({1, 0.5}, Json::object(), 1);
    std::vector<double> unused;
    const auto loss = [&](int rank, std::uint64_t batch, int part) {
      return micro_batch(*job.learner, rank, batch, part, 0, unused);
    };
    double first = loss(1, 1, 0) + loss(1, 1, 1);
    double second = carry ? loss(1, 1, 2) + loss(1, 1, 3) : loss(1, 2, 0) + loss(1, 2, 1);
    for (int part = 0; part < 4; ++part) {
      first += loss(0, 1, part);
      second += loss(0, 2, part);
    }
    REQUIRE(seen.size() == 2);
    CHECK(seen[0] == doctest::Approx(first / 6).epsilon(1e-12));
    CHECK(seen[1] == doctest::Approx(second / 6).epsilon(1e-12));
  }
}

TEST_CASE("the training loss of a round is the mean over the micro-batches that were finished, whoever did") {
  // Of 4 micro-batches each the first worker finishes 4, the second 2, the third none, so the loss is a mean
  // of six: that of the samples which the update is made of. A mean of the workers' means would be another
  // number.
  const std::vector<double> speeds = {1, 0.5, 0.125};
  const Job job = learning_job(speeds, Json::object(), 1);
  std::vector<double> unused;
  double first = 0, second = 0;
  for (int part = 0; part < 4; ++part) first += micro_batch(*job.learner, 0, 1, part, 0, unused);
  for (int part = 0; part < 2; ++part) second += micro_batch(*job.learner, 1, 1, part, 0, unused);
  REQUIRE(std::fabs((first / 4 + second / 2) / 2 - (first + second) / 6) > 1e-3);
  for (const char* weighting : {"sample", "worker"})
    CHECK(losses(learning_job(speeds, {{"weighting", weighting}}, 1)).at(0) ==
          doctest::Approx((first + second) / 6).epsilon(1e-12));
  Job dropcompute = learning_job(speeds, Json::object(), 1);
  use_algorithm(dropcompute, "dropcompute", {{"micro_batches", kMicroBatches}, {"deadline", "1001 ms"}});
  const std::vector<double> dropping = losses(dropcompute);
  CHECK(dropping.at(0) == doctest::Approx((first + second) / 6).epsilon(1e-12));
}

TEST_CASE("a step in which nobody finishes a micro-batch has no training loss") {
  const Json deadline = {{"trigger", "deadline"}, {"deadline", "300 ms"}};
  const auto points = [&](const std::vector<double>& speeds) {
    return losses(learning_job(speeds, deadline, 5)).size();
  };
  CHECK(points({1, 0.5}) == 5);
  CHECK(points({0.5, 0.5}) == 0);  // their micro-batches take 0.5 s
}

TEST_CASE("all micro-batches of a round are at the same model") {
  // One worker, 4 micro-batches: one step of the whole batch, not 4 steps.
  const auto model = final_model(learning_job({1}, {{"trigger", "none"}}, 1));
  const Job job = learning_job({1}, Json::object(), 1);
  std::vector<double> gradient;
  for (int part = 0; part < 4; ++part) micro_batch(*job.learner, 0, 1, part, 1. / 4, gradient);
  CHECK(error(*job.learner, model, gradient) < 1e-6);
}

TEST_CASE("the samples of every worker that were used are recorded") {
  std::vector<double> samples;
  for (const WorkerRecord& worker : simulate_job(learning_job({1, 0.5, 0.125}, Json::object(), 8)).workers)
    samples.push_back(worker.samples);
  CHECK(samples == std::vector<double>{8 * 64, 4 * 64, 0});
}

}  // namespace simsgd::test::algorithms_nonblocking_learning
