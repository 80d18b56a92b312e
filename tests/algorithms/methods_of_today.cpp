// coded_sgd, sparseloco, demo, noloco, des_loc and async_local_sgd against models of their own, in double and
// for all workers at once, written from the papers' pseudo-code; what they are where they do nothing of their
// own; what they send.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/learn/codec.hpp"
#include "sim/learn/sampler.hpp"
#include "tests/algorithms/model_workers.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::algorithms_methods_of_today {

using doctest::Approx;

namespace {

std::vector<std::vector<float>> models(int workers, const std::string& algorithm, const Json& parameters,
                                       std::uint64_t steps = kSteps, double momentum = 0) {
  return run_fake(learning_job(workers, algorithm, parameters, steps, momentum)).models;
}

MadeCodec codec_of(const Json& object) {
  return find_plugin(codec_plugins(), object["name"].get<std::string>(), "codec").make(object);
}

std::vector<Vector> zeros(Workers& workers) { return {workers.size(), Vector::Zero(workers[0].size())}; }

}  // namespace

TEST_CASE("coded_sgd is SGD with error feedback, for all codecs but e3m0") {
  for (const CodecPlugin& plugin : codec_plugins()) {
    // Halfway between two of e3m0's values, which are a factor of 2 apart, float32 and double part for good;
    // what e3m0 sends is compared in tests/learn/codecs.cpp.
    if (plugin.info.name == "e3m0") continue;
    Json codec = {{"name", plugin.info.name}};
    if (plugin.info.name.ends_with("topk")) codec.update({{"chunk", 8}, {"k", 3}});
    // At 8 bits one number that lies between two levels is rounded up here and down there, and moves losses
    // by 5e-6; levels of 14 bits are too near to one another for that.
    if (plugin.info.name == "integer") codec["bits"] = 14;
    for (const bool feedback : {true, false}) {
      CAPTURE(codec.dump());
      CAPTURE(feedback);
      const Job job = learning_job(4, "coded_sgd", {{"codec", codec}, {"error_feedback", feedback}});
      Workers workers(job);
      std::vector<Vector> error = zeros(workers);
      for (std::uint64_t step = 1; step <= kSteps; ++step) {
        Vector mean = Vector::Zero(36);
        for (std::size_t i = 0; i < 4; ++i) {
          const Vector p = workers.gradient(i, step) + error[i];
          const Vector c = workers.sent(codec_of(codec), i, p);
          if (feedback) error[i] = p - c;
          mean += c / 4;
        }
        for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * mean;
      }
      const FakeResult result = run_fake(job);
      CHECK(result.models[0] == result.models[3]);
      // A number halfway between two of bf16 goes up here and down there: by 2^-8 of a gradient of up to 1,
      // times a rate of 0.05 / 4 5e-5 of a parameter, and about a fifth of it of a loss.
      workers.check_against(result, plugin.info.name == "bf16" ? 1e-5 : 1e-6);
    }
  }
}

TEST_CASE("sparseloco is its paper's algorithm") {
  const Json codec = {{"name", "chunk_topk"}, {"chunk", 12}, {"k", 3}, {"value_bits", 2}};
  const Job job = learning_job(4, "sparseloco",
                               {{"inner_steps", 5}, {"outer_rate", 0.8}, {"decay", 0.9}, {"codec", codec}});
  Workers workers(job);
  std::vector<Vector> error = zeros(workers);
  Vector agreed = workers[0];
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * workers.gradient(i, step);
    if (step % 5 != 0) continue;
    Vector mean = Vector::Zero(36);
    for (std::size_t i = 0; i < 4; ++i) {
      error[i] = 0.9 * error[i] + agreed - workers[i];
      const Vector c = workers.sent(codec_of(codec), i, error[i]);
      error[i] -= c;
      mean += c / 4;
    }
    agreed -= 0.8 * mean;
    for (std::size_t i = 0; i < 4; ++i) workers[i] = agreed;
  }
  workers.check_against(run_fake(job));
}

TEST_CASE("demo is its paper's algorithm") {
  const Json codec = {{"name", "dct_topk"}, {"chunk", 9}, {"k", 2}};
  const Job job = learning_job(4, "demo", {{"decay", 0.9}, {"codec", codec}});
  Workers workers(job);
  std::vector<Vector> momentum = zeros(workers);
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    Vector mean = Vector::Zero(36);
    for (std::size_t i = 0; i < 4; ++i) {
      momentum[i] = 0.9 * momentum[i] + workers.gradient(i, step);
      const Vector c = workers.sent(codec_of(codec), i, momentum[i]);
      momentum[i] -= c;
      mean += c / 4;
    }
    for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * mean.array().sign().matrix();
  }
  workers.check_against(run_fake(job));
}

TEST_CASE("noloco is its outer step among pairs, and one of an odd number steps alone") {
  for (const int count : {4, 5, 1}) {
    CAPTURE(count);
    const Job job = learning_job(
        count, "noloco", {{"inner_steps", 5}, {"outer_momentum", 0.4}, {"outer_rate", 0.6}, {"pull", 0.9}});
    Workers workers(job);
    std::vector<Vector> delta = zeros(workers), phi;
    for (std::size_t i = 0; i < workers.size(); ++i) phi.push_back(workers[i]);
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      for (std::size_t i = 0; i < workers.size(); ++i) workers[i] -= kRate * workers.gradient(i, step);
      if (step % 5 != 0) continue;
      const std::vector<std::int32_t> order =
          permutation(workers.size(), Stream({job.seed, Purpose::gossip, 0, step / 5}));
      for (std::size_t at = 0; at < order.size(); at += 2) {
        std::vector<std::size_t> group = {static_cast<std::size_t>(order[at])};
        if (at + 1 < order.size()) group.push_back(static_cast<std::size_t>(order[at + 1]));
        const auto n = static_cast<double>(group.size());
        Vector gone = Vector::Zero(36), centre = Vector::Zero(36);
        for (const std::size_t i : group) gone += (workers[i] - phi[i]) / n, centre += phi[i] / n;
        for (const std::size_t i : group) {
          delta[i] = 0.4 * delta[i] + 0.6 * gone - 0.9 * (phi[i] - centre);
          phi[i] += delta[i];
          workers[i] = phi[i];
        }
      }
    }
    workers.check_against(run_fake(job));
  }
}

TEST_CASE("noloco without learning keeps the mean of the models and brings them together") {
  // Nobody learns from the second outer step on (rate 0): slow models meet in pairs, and their mean stays.
  Job job = learning_job(8, "noloco", {{"inner_steps", 1}, {"outer_momentum", 0}, {"outer_rate", 1}}, 40);
  job.optimizer.learning_rate.kind = LearningRate::Kind::step;
  job.optimizer.learning_rate.milestones = {2};
  job.optimizer.learning_rate.gamma = 0;
  const auto after_one =
      run_fake([&] {
        Job first =
            learning_job(8, "noloco", {{"inner_steps", 1}, {"outer_momentum", 0}, {"outer_rate", 1}}, 1);
        return first;
      }())
          .models;
  const auto after = run_fake(job).models;
  double spread_before = 0, spread = 0;
  for (std::size_t i = 0; i < 36; ++i) {
    double before = 0, now = 0;
    for (std::size_t w = 0; w < 8; ++w) before += after_one[w][i] / 8.0, now += after[w][i] / 8.0;
    CHECK(now == Approx(before).epsilon(1e-5));
    for (std::size_t w = 0; w < 8; ++w)
      spread_before += std::pow(after_one[w][i] - before, 2), spread += std::pow(after[w][i] - now, 2);
  }
  CHECK(spread_before > 1e-8);
  CHECK(spread < 1e-6 * spread_before);
}

TEST_CASE("des_loc averages parameters and the optimizer's vectors at periods of their own") {
  const Job job = learning_job(4, "des_loc", {{"period", 3}, {"state_periods", {4}}}, kSteps, 0.9);
  Workers workers(job);
  std::vector<Vector> u = zeros(workers);
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    for (std::size_t i = 0; i < 4; ++i) {
      u[i] = 0.9 * u[i] + workers.gradient(i, step);
      workers[i] -= kRate * u[i];
    }
    const auto meet = [](Vector& a, Vector& b, Vector& c, Vector& d) {
      a = b = c = d = (a + b + c + d).eval() / 4;
    };
    if (step % 3 == 0) meet(workers[0], workers[1], workers[2], workers[3]);
    if (step % 4 == 0) meet(u[0], u[1], u[2], u[3]);
  }
  workers.check_against(run_fake(job));
}

TEST_CASE(
    "async_local_sgd takes differences over as they come: a queue of events with the server's formulas") {
  // Four workers at speeds of their own; a message of 36 numbers takes 1e-6 s and 144 ns, far less than what
  // lies between two of them. H = 3, N = 2, c N = 0.4.
  const std::vector<double> speeds = {1, 0.83, 0.61, 0.37};
  constexpr double kStep_s = 1.3, kMessage_s = 1e-6 + 144e-9;
  const auto make = [&] {
    Job job = learning_job(
        4, "async_local_sgd",
        {{"inner_steps", 3}, {"outer_rate", 0.6}, {"outer_momentum", 0.8}, {"delay", 2}, {"spread", 0.4}},
        40);
    job.workload.layers.front().forward_s = 0.4;
    job.workload.layers.front().backward_s = 0.9;
    job.cluster.node_speed = speeds;
    return job;
  };
  std::vector<double> losses;
  for (const SeriesPoint& point : simulate_job(make()).series) losses.push_back(point.train_loss);
  const Job job = make();
  Workers workers(job);
  std::vector<Vector> start;
  for (std::size_t i = 0; i < 4; ++i) start.push_back(workers[i]);
  Vector theta = workers[0], m = Vector::Zero(36), sum = m;
  std::uint64_t taken = 0;
  std::vector<double> busy_until(4, 0.0);
  std::vector<std::uint64_t> steps(4, 0);
  std::vector<std::pair<double, double>> ended;  // of every step: when, and its loss
  // The next one to arrive at the server after three steps.
  while (*std::min_element(steps.begin(), steps.end()) < 18) {
    std::vector<double> arrives(4);
    for (std::size_t i = 0; i < 4; ++i)
      arrives[i] = busy_until[i] + 3 * kStep_s / speeds[i] + (i == 0 ? 0 : kMessage_s);
    const auto i =
        static_cast<std::size_t>(std::min_element(arrives.begin(), arrives.end()) - arrives.begin());
    for (int inner = 1; inner <= 3; ++inner) {
      workers[i] -= kRate * workers.gradient(i, ++steps[i]);
      ended.emplace_back(busy_until[i] + inner * kStep_s / speeds[i], workers.losses(i).back());
    }
    const Vector difference = start[i] - workers[i];
    sum += difference;
    if (++taken % 2 == 0) {
      m = 0.8 * m + sum / 2;
      theta -= 0.6 * ((1 - 0.4 + 0.2) * 0.8 * m + difference / 2);
      sum.setZero();
    } else {
      theta -= 0.6 * (0.2 * 0.8 * m + difference / 2);
    }
    workers[i] = start[i] = theta;
    busy_until[i] = arrives[i] + (i == 0 ? 0 : kMessage_s);
    ended.back().first = busy_until[i];
  }
  // A round is four steps, in the order in which they end; all are known until the first worker's last one.
  std::sort(ended.begin(), ended.end());
  const double known_s = *std::min_element(busy_until.begin(), busy_until.end());
  std::size_t rounds = 0;
  for (; 4 * rounds + 3 < ended.size() && ended[4 * rounds + 3].first <= known_s; ++rounds) {
    CAPTURE(rounds);
    double mean = 0;
    for (std::size_t k = 0; k < 4; ++k) mean += ended[4 * rounds + k].second / 4;
    REQUIRE(rounds < losses.size());
    CHECK(std::abs(losses[rounds] - mean) < 1e-6);
  }
  CHECK(rounds >= 30);
}

TEST_CASE("where they do nothing of their own they are local SGD or Allreduce-SGD") {
  const auto exact = models(4, "allreduce_sgd", Json::object());
  const auto local = models(4, "local_sgd", {{"period", 5}});
  const Json all = {{"name", "chunk_topk"}, {"chunk", 12}, {"k", 12}};
  CHECK(worst_difference(models(4, "coded_sgd", {{"codec", all}}), exact) < 1e-5);
  CHECK(worst_difference(models(4, "coded_sgd", {{"codec", {{"name", "integer"}, {"bits", 16}}}}), exact) <
        1e-4);
  CHECK(worst_difference(models(4, "sparseloco", {{"inner_steps", 5}, {"decay", 0}, {"codec", all}}), local) <
        1e-5);
  CHECK(worst_difference(
            models(2, "noloco", {{"inner_steps", 5}, {"outer_momentum", 0}, {"outer_rate", 1}, {"pull", 1}}),
            models(2, "local_sgd", {{"period", 5}})) < 1e-5);
  CHECK(worst_difference(models(4, "des_loc", {{"period", 5}, {"state_periods", Json::array()}}), local) ==
        0);
  CHECK(worst_difference(models(4, "des_loc", {{"period", 1}, {"state_periods", {1}}}, kSteps, 0.9),
                         models(4, "allreduce_sgd", Json::object(), kSteps, 0.9)) < 1e-5);
}

TEST_CASE("what they send, exactly") {
  // 1e6 numbers; 4 workers, rings. 6 steps.
  const auto sent = [](const std::string& algorithm, const Json& parameters, Traffic traffic,
                       std::size_t rank = 0) {
    Job job = scripted_job(star(4, 0, 1e9), nullptr, 1e6);
    job.optimizer.rule = sgd_rule(0.9);
    use_rings(job);
    use_algorithm(job, algorithm, parameters);
    job.stop.steps = 6;
    job.workload.layers.front().forward_s = 1;
    const WorkerRecord worker = simulate_job(job).workers[rank];
    return sent_bytes(worker, traffic);
  };
  // An all-reduce sends 2 (3/4) of the vector, an all-gather 3 messages of one worker each.
  CHECK(sent("coded_sgd", {{"codec", {{"name", "integer"}, {"block", 1000}}}}, Traffic::gradient) ==
        Approx(6 * 1.5 * (1e6 + 1000 * 4)).epsilon(1e-12));
  CHECK(sent("demo", {{"codec", {{"name", "dct_topk"}, {"chunk", 64}, {"k", 4}}}}, Traffic::gradient) ==
        Approx(6 * 3 * (1e6 / 64 * 4 * 38 / 8)).epsilon(1e-12));
  // 244 chunks of 4,096 and one of 576; 14 bits each of 128, and 64 bits a chunk.
  CHECK(sent("sparseloco", {{"inner_steps", 3}}, Traffic::model) ==
        Approx(2 * 3 * 245 * (128 * 14 + 64) / 8.0).epsilon(1e-12));
  CHECK(sent("noloco", {{"inner_steps", 2}}, Traffic::model) == Approx(3 * 2 * 4e6).epsilon(1e-12));
  // 24 steps of all together, 6 of each: whole models after steps 2 and 4, and after 6 if that ended in time.
  const double models_sent = sent("async_local_sgd", {{"inner_steps", 2}}, Traffic::model, 1) / 4e6;
  CHECK((models_sent == 2 || models_sent == 3));
  CHECK(sent("des_loc", {{"period", 2}, {"state_periods", {3}}}, Traffic::model) ==
        Approx(1.5 * (3 + 2) * 4e6).epsilon(1e-12));
}

}  // namespace simsgd::test::algorithms_methods_of_today
