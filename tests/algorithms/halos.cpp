// HALoS against a model of its events, in its paper's set-up of 4 regions of 4 workers.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/algorithms/served_models.hpp"

namespace simsgd::test::algorithms_halos {

using doctest::Approx;

namespace {

// arXiv:2506.04531: relative speeds by region; Gb/s to region 0, 100 inside. Pythia-70M in fp32.
const std::vector<double> kSpeeds = {.232, .907, .828, .347, .574, .531, .722, .194,
                                     .852, .132, .896, .107, .827, .515, .527, .788};
constexpr double kToFirst_Gbps[] = {100, 0.537, 0.935, 0.202};
constexpr double kNumbers = 70e6, kInside_s = 4 * kNumbers / (100e9 / 8);
double outside_s(std::size_t region) { return 4 * kNumbers / (kToFirst_Gbps[region] * 1e9 / 8); }

const Json kParameters = {{"inner_steps", 4},      {"accumulate", 6},  {"local_delay", 3},
                          {"local_momentum", 0.8}, {"merge", 0.3},     {"local_rate", 0.4},
                          {"global_rate", 0.5},    {"global_delay", 2}};

Job paper_job(std::uint64_t steps) {
  Job job = learning_job(16, "halos", kParameters, steps);
  job.workload.layers.front().tensors = {kNumbers};
  job.workload.layers.front().forward_s = 0.4;
  job.workload.layers.front().backward_s = 0.6;
  job.cluster.node_speed = kSpeeds;
  job.cluster.network = pairs(16, 0, [](int from, int to) {
    return (from / 4 == to / 4 ? 100 : kToFirst_Gbps[std::max(from, to) / 4]) * 1e9 / 8;
  });
  use_algorithm(job, "halos", kParameters);
  return job;
}

/// A server: delayed Nesterov momentum, N differences an update.
struct Server {
  double rate, beta;
  std::uint64_t delay;
  Vector x, m, sum;
  std::uint64_t taken = 0;

  Server(double rate_in, double beta_in, std::uint64_t delay_in, const Vector& start)
      : rate(rate_in), beta(beta_in), delay(delay_in), x(start), m(0 * start), sum(0 * start) {}
  void take(const Vector& difference) {
    sum += difference;
    x -= rate * difference;
    if (++taken % delay != 0) return;
    const auto n = static_cast<double>(delay);
    m = beta * m + sum / n;
    x -= rate * n * beta * m;
    sum.setZero();
  }
};

/// H 4, K 6, alpha 0.3. Local servers are on ranks 0, 4, 8 and 12, the global one on rank 0.
StepEnds model(Workers& workers, double until_s) {
  EventQueue queue(until_s);
  StepEnds ends(16);
  std::vector<std::uint64_t> steps(16);
  Server global(0.5, 0.5, 2, workers[0]);
  std::vector<Server> local(4, Server(0.4, 0.8, 3, workers[0]));
  std::vector<Vector> merged(4, workers[0]);
  std::vector<std::uint64_t> merged_at(4);
  const auto merge = [&](std::size_t region, const Vector& model) {
    local[region].x = 0.7 * local[region].x + 0.3 * model;
    merged[region] = local[region].x;
    merged_at[region] = local[region].taken;
  };
  const auto tell_global = [&](std::size_t region) {
    const Vector gone = merged[region] - local[region].x;
    if (region == 0) {
      global.take(gone);
      return merge(0, global.x);
    }
    queue.told(queue.now() + outside_s(region), [&, region, gone] {
      global.take(gone);
      queue.told(queue.now() + outside_s(region), [&, region, answer = global.x] { merge(region, answer); });
    });
  };
  std::function<void(std::size_t)> begin;
  const auto take = [&](std::size_t i, const Vector& gone) {
    const std::size_t region = i / 4;
    local[region].take(gone);
    if (local[region].taken == merged_at[region] + 6) tell_global(region);
    queue.told(queue.now() + (i % 4 == 0 ? 0 : kInside_s), [&, i, answer = local[region].x] {
      ends[i].push_back(queue.now());
      workers[i] = answer;
      begin(i);
    });
  };
  begin = [&](std::size_t i) {
    const Vector start = workers[i];
    for (int inner = 1; inner <= 4; ++inner) {
      workers[i] -= kRate * workers.gradient(i, ++steps[i]);
      if (inner < 4) ends[i].push_back(queue.now() + inner / kSpeeds[i]);
    }
    queue.computed(queue.now() + 4 / kSpeeds[i], [&, i, gone = Vector(start - workers[i])] {
      queue.told(queue.now() + (i % 4 == 0 ? 0 : kInside_s), [&, i, gone] { take(i, gone); });
    });
  };
  for (std::size_t i = 0; i < 16; ++i) begin(i);
  queue.run();
  return ends;
}

}  // namespace

TEST_CASE("HALoS in its paper's set-up: when steps end and what they lose, as a model of its events says") {
  const Job job = paper_job(60);
  Workers workers(job);
  check_steps(
      simulated_steps([] { return paper_job(60); }, 16), workers,
      [&](double until_s) { return model(workers, until_s); }, 8);
}

TEST_CASE("HALoS with one region that mixes in nothing is async_local_sgd") {
  const auto losses = [](const std::string& method, const Json& parameters) {
    return simulated_steps(
               [&] {
                 Job job = learning_job(4, method, parameters, 40);
                 job.workload.layers.front().forward_s = 1.3;
                 job.cluster.node_speed = {1, 0.83, 0.61, 0.37};
                 return job;
               },
               4)
        .losses;
  };
  const std::vector<double> one = losses(
      "halos", {{"regions", 1}, {"inner_steps", 3}, {"merge", 0}, {"local_rate", 0.25}, {"local_delay", 2}});
  CHECK(one == losses("async_local_sgd",
                      {{"inner_steps", 3}, {"outer_rate", 0.5}, {"outer_momentum", 0.9}, {"delay", 2}}));
  CHECK(one.size() == 40);
}

TEST_CASE("HALoS sends the model each way, inside its region and from there to rank 0") {
  // Equal speeds: 12 steps of each, a difference after every 2, of which local servers tell after every 8.
  const auto sent = [](std::size_t rank) {
    Job job = scripted_job(star(8, 0, 1e9), nullptr, 1e6);
    use_algorithm(job, "halos", {{"regions", 2}, {"inner_steps", 2}, {"accumulate", 8}});
    job.workload.layers.front().forward_s = 1;
    job.stop.steps = 13;
    const WorkerRecord worker = simulate_job(job).workers[rank];
    return sent_bytes(worker, Traffic::model) / 4e6;
  };
  CHECK(sent(1) == 6);
  CHECK(sent(5) == 6);
  CHECK(sent(4) == 3 * 6 + 3);  // answers to three workers; three of 24 differences end eight
  CHECK(sent(0) == 3 * 6 + 3);
}

TEST_CASE("uneven regions: every worker has a server") {
  Job job = scripted_job(star(5, 0, 1e9), nullptr, 36);
  use_algorithm(job, "halos", {{"regions", 3}, {"inner_steps", 1}, {"accumulate", 1}});
  job.workload.layers.front().forward_s = 1;
  job.stop.steps = 4;
  CHECK(simulate_job(job).end_s >= 4);
}

}  // namespace simsgd::test::algorithms_halos
