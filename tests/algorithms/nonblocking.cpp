// Non-blocking SGD: when a round ends, for each trigger and preemption, and who is accounted for what.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>

#include "tests/algorithms/nonblocking_support.hpp"
#include "tests/algorithms/wait_avoiding_support.hpp"
#include "tests/support/graphs.hpp"

namespace simsgd::test::algorithms_nonblocking {

namespace {

// Time of a round, and the share of its batch that each worker finished.
std::vector<double> round_of(const std::function<Job()>& make) {
  const Job job = make();
  const RunRecord record = simulate_job(job);
  std::vector<double> numbers = {record.end_s / static_cast<double>(job.stop.steps)};
  for (const WorkerRecord& worker : record.workers)
    numbers.push_back(worker.samples / (64 * static_cast<double>(job.stop.steps)));
  return numbers;
}

std::vector<double> round_of(const std::vector<double>& speeds, const Json& parameters) {
  return round_of([&] { return round_job(speeds, parameters, 3); });
}

using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("at equal times a completion comes before SYNC, and the next micro-batch has then begun") {
  // Micro-batches of 0.25 s and 0.5 s; SYNC at 1 s, when the slow worker ends its second one.
  CHECK(round_of({1, 0.5}, {{"micro_batches", 4}, {"preempt", "drop"}}) == Numbers{1.0, 1.0, 0.5});
  CHECK(round_of({1, 0.5}, {{"micro_batches", 4}, {"preempt", "finish"}}) == Numbers{1.5, 1.0, 0.75});
}

TEST_CASE("without a trigger, or with one micro-batch that is finished, everybody finishes") {
  CHECK(round_of({1, 0.5}, {{"micro_batches", 4}, {"trigger", "none"}}) == Numbers{2.0, 1.0, 1.0});
  CHECK(round_of({1, 0.5}, {{"micro_batches", 1}}) == Numbers{2.0, 1.0, 1.0});
}

TEST_CASE("the k-th finisher ends the round") {
  // Whole batches take 1, 2 and 4 s; micro-batches a quarter of it.
  const Json parameters = {{"micro_batches", 4}, {"trigger", "kth"}, {"preempt", "drop"}};
  CHECK(round_of({1, 0.5, 0.25}, with(parameters, {{"k", 1}})) == Numbers{1.0, 1.0, 0.5, 0.25});
  CHECK(round_of({1, 0.5, 0.25}, with(parameters, {{"k", 2}})) == Numbers{2.0, 1.0, 1.0, 0.5});
  CHECK(round_of({1, 0.5, 0.25}, with(parameters, {{"k", 3}})) == Numbers{4.0, 1.0, 1.0, 1.0});
}

TEST_CASE("a deadline ends the round at that time of it, or when all are through") {
  const Json parameters = {{"micro_batches", 4}, {"trigger", "deadline"}};
  // Ends of the micro-batches: 0.25, 0.5, 0.75, 1 s and 0.5, 1, ... s.
  CHECK(round_of({1, 0.5}, with(parameters, {{"deadline", 0.625}, {"preempt", "drop"}})) ==
        Numbers{0.625, 0.5, 0.25});
  CHECK(round_of({1, 0.5}, with(parameters, {{"deadline", 0.625}, {"preempt", "finish"}})) ==
        Numbers{1.0, 0.75, 0.5});
  CHECK(round_of({1, 0.5}, with(parameters, {{"deadline", "3 s"}})) == Numbers{2.0, 1.0, 1.0});
}

TEST_CASE("a worker that is delayed before its micro-batch hears SYNC all the same") {
  // A delay of 10 s at the beginning of the step; the other worker is through after 1 s.
  const auto late = [](const std::string& preempt) {
    return round_of([&] {
      Job job = round_job({1, 1}, {{"micro_batches", 4}, {"preempt", preempt}}, 3);
      add_straggler(job, {{"name", "constant"}, {"delay", 10}, {"workers", {1}}});
      return job;
    });
  };
  CHECK(late("drop") == Numbers{1.0, 1.0, 0.0});
  CHECK(late("finish") == Numbers{10.25, 1.0, 0.25});  // its delay is part of its first micro-batch
}

TEST_CASE("SYNC takes the latency of a message, and the round ends with the all-reduce of model and count") {
  // SYNC leaves at 1 s and takes 1 ms. Two workers, 36 parameters and the count, 4 bytes each, on 1 kB/s: a
  // ring is 2 steps of 1 ms and half of 148 bytes.
  const Numbers round = round_of([] {
    return round_job({1, 0.5}, {{"micro_batches", 4}, {"preempt", "drop"}}, 3, star(2, 1e-3, 1e3));
  });
  CHECK(round[0] == doctest::Approx(1 + 1e-3 + 2 * (1e-3 + 0.074)).epsilon(1e-9));
  CHECK(round[2] == 0.5);
}

// Non-blocking SGD over gossip: with one micro-batch it is D-PSGD and MATCHA, and nobody waits for the
// slowest batch.

namespace {

Job gossip_job(const std::vector<double>& speeds, const std::string& algorithm, const Json& parameters,
               std::uint64_t rounds) {
  Job job = round_job(speeds, Json::object(), rounds);
  job.graph = graph_of("ring", job.workers());
  add_learner(job, 16);
  use_algorithm(job, algorithm, parameters);
  return job;
}

std::vector<double> losses(const std::vector<double>& speeds, const std::string& algorithm,
                           const Json& parameters) {
  return losses_of(simulate_job(gossip_job(speeds, algorithm, parameters, 50)));
}

double seconds(const std::vector<double>& speeds, const Json& parameters) {
  return simulate_job(gossip_job(speeds, "nonblocking", parameters, 10)).end_s / 10;
}

const std::vector<double> kEqual(6, 1.0);

}  // namespace

TEST_CASE("over D-PSGD with one micro-batch the losses are D-PSGD's, and over MATCHA MATCHA's") {
  for (const std::string over : {"d_psgd", "matcha"}) {
    CAPTURE(over);
    const std::vector<double> blocking = losses(kEqual, over, Json::object());
    const std::vector<double> one = losses(kEqual, "nonblocking", {{"over", over}, {"micro_batches", 1}});
    REQUIRE(blocking.size() == 50);
    CHECK(blocking.back() < 0.7 * blocking.front());
    for (std::size_t i = 0; i < blocking.size(); ++i)
      CHECK(std::fabs(one[i] - blocking[i]) < 1e-5 * blocking[i]);
  }
}

TEST_CASE("over gossip, too, a round ends with the first worker that is through") {
  // The slowest takes 2 s for its batch, and has then finished 4 of 8 micro-batches of 0.25 s.
  const std::vector<double> speeds = {1, 1, 0.5, 1, 1, 1};
  for (const std::string over : {"d_psgd", "matcha"}) {
    CAPTURE(over);
    const Json parameters = {{"over", over}, {"coupling", "global"}, {"preempt", "drop"}};
    CHECK(seconds(speeds, parameters) == doctest::Approx(1.0).epsilon(1e-9));
    CHECK(seconds(speeds, with(parameters, {{"trigger", "none"}})) == doctest::Approx(2.0).epsilon(1e-9));
  }
}

// Non-blocking SGD: what the workers learn from the micro-batches that were finished.

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
  std::vector<double> models = final_models(std::move(job));
  models.resize(36);
  return models;
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

}  // namespace simsgd::test::algorithms_nonblocking
