// Parameter servers: what they learn against a model of their events, and where they are allreduce_sgd; what
// they send, how long it takes, and what a crash does.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/learn/optimizers/registry.hpp"
#include "tests/algorithms/served_models.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::algorithms_parameter_server {

using doctest::Approx;

namespace {

// So fast that messages which share a link, a push and an answer, are not held up by one another.
constexpr double kAlpha_s = 0.08, kBps = 1e15;
const std::vector<double> kSpeeds = {1, 0.83, 0.61, 0.37};

/// Four workers at speeds of their own, with links of their own: 36 numbers over two servers.
Job unequal_job(const Json& parameters, std::uint64_t steps) {
  Job job = learning_job(4, "parameter_server", parameters, steps);
  job.cluster.network = pairs(4, kAlpha_s, [](int, int) { return kBps; });
  job.workload.layers.front().forward_s = 0.4;
  job.workload.layers.front().backward_s = 0.9;
  job.cluster.node_speed = kSpeeds;
  return job;
}

/// SGD whose gradients two servers, on ranks 0 and 2, take over as they come. A worker is answered once
/// nobody is more than `staleness` pushes behind it.
StepEnds model(Workers& workers, double until_s, std::uint64_t staleness) {
  constexpr std::size_t kServers = 2;
  constexpr Eigen::Index kPart = 18;
  const std::size_t count = workers.size();
  EventQueue queue(until_s);
  StepEnds ends(count);
  Vector w = workers[0];
  std::vector<std::uint64_t> steps(count);
  std::vector<std::vector<std::uint64_t>> pushed(kServers, steps);
  std::vector<std::vector<std::size_t>> waiting(kServers);
  std::vector<std::size_t> missing(count);
  const auto travel_s = [](std::size_t worker, std::size_t server) {
    return worker == 2 * server ? 0 : kAlpha_s + 4 * kPart / kBps;
  };
  std::function<void(std::size_t)> begin;
  const auto take = [&](std::size_t i, std::size_t s, const Vector& gradient) {
    const auto first = static_cast<Eigen::Index>(s) * kPart;
    w.segment(first, kPart) -= kRate * gradient.segment(first, kPart);
    ++pushed[s][i];
    waiting[s].push_back(i);
    const std::uint64_t slowest = *std::min_element(pushed[s].begin(), pushed[s].end());
    std::erase_if(waiting[s], [&](std::size_t who) {
      if (pushed[s][who] - slowest > staleness) return false;
      queue.told(queue.now() + travel_s(who, s), [&, who, first, part = Vector(w.segment(first, kPart))] {
        workers[who].segment(first, kPart) = part;
        if (--missing[who] > 0) return;
        ends[who].push_back(queue.now());
        begin(who);
      });
      return true;
    });
  };
  begin = [&](std::size_t i) {
    queue.computed(queue.now() + 1.3 / kSpeeds[i], [&, i] {
      const Vector gradient = workers.gradient(i, ++steps[i]);
      missing[i] = kServers;
      for (std::size_t s = 0; s < kServers; ++s)
        queue.told(queue.now() + travel_s(i, s), [&, i, s, gradient] { take(i, s, gradient); });
    });
  };
  for (std::size_t i = 0; i < count; ++i) begin(i);
  queue.run();
  return ends;
}

std::vector<std::vector<float>> models_of(const std::string& method, const Json& parameters,
                                          const std::shared_ptr<const UpdateRule>& rule) {
  Job job = learning_job(4, method, parameters, 25);
  job.workload.layers.front().tensors = {20, 10, 6};
  job.optimizer.rule = rule;
  use_algorithm(job, method, parameters);
  return run_fake(job).models;
}

double bytes_sent(const Json& parameters, std::size_t rank, Traffic traffic) {
  Job job = scripted_job(star(4, 0, 1e9), nullptr, 1e6);
  use_algorithm(job, "parameter_server", parameters);
  job.stop.steps = 5;
  job.workload.layers.front().forward_s = 1;
  return sent_bytes(simulate_job(job).workers[rank], traffic);
}

}  // namespace

TEST_CASE("parameter servers take gradients over as they come, or hold up who is too far ahead") {
  for (const std::uint64_t staleness : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, UINT64_MAX}) {
    CAPTURE(staleness);
    Json parameters = {{"mode", "asynchronous"}, {"servers", 2}};
    if (staleness != UINT64_MAX) parameters.update({{"mode", "stale_synchronous"}, {"staleness", staleness}});
    const Job job = unequal_job(parameters, kSteps);
    Workers workers(job);
    check_steps(
        simulated_steps([&] { return unequal_job(parameters, kSteps); }, 4), workers,
        [&](double until_s) { return model(workers, until_s, staleness); }, 18, staleness != UINT64_MAX);
  }
}

TEST_CASE("synchronous parameter servers are SGD with the mean gradient, to 1e-6 of a model") {
  const Job job = learning_job(4, "parameter_server", {{"servers", 3}}, kSteps, 0.9);
  Workers workers(job);
  Vector u = Vector::Zero(36);
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    const Vector mean = workers.mean_gradient(step);
    u = 0.9 * u + mean;
    for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * u;
  }
  workers.check_against(run_fake(job));
}

TEST_CASE("synchronous parameter servers are allreduce_sgd, bit by bit, however the model is divided") {
  const auto adamw = find_plugin(optimizer_plugins(), "adamw", "optimizer").make(Json::object());
  for (const auto& rule : {sgd_rule(0.9), adamw})
    for (const int servers : {1, 3, 4})
      for (const char* fusion : {"none", "all"}) {
        CAPTURE(servers);
        CAPTURE(fusion);
        CHECK(models_of("parameter_server", {{"servers", servers}, {"fusion", fusion}}, rule) ==
              models_of("allreduce_sgd", {{"fusion", fusion}}, rule));
      }
}

TEST_CASE("parameter servers send the model to the servers and back, but nothing to themselves") {
  // 4 MB; two servers, on ranks 0 and 2.
  const Json two = {{"servers", 2}};
  CHECK(bytes_sent(two, 1, Traffic::gradient) == Approx(5 * 4e6).epsilon(1e-12));
  CHECK(bytes_sent(two, 1, Traffic::model) == 0);
  CHECK(bytes_sent(two, 2, Traffic::gradient) == Approx(5 * 2e6).epsilon(1e-12));
  CHECK(bytes_sent(two, 2, Traffic::model) == Approx(5 * 3 * 2e6).epsilon(1e-12));
}

TEST_CASE("one server's link and its sums are what a step waits for") {
  Job job = scripted_job(star(4, 1e-5, 1e9), nullptr, 1e6);
  job.workload.layers.front().forward_s = 1e-3;
  job.workload.layers.front().backward_s = 2e-3;
  job.cluster.host.reduce_s_per_byte = 5e-10;
  use_algorithm(job, "parameter_server", {{"servers", 1}});
  job.stop.steps = 3;
  // Three pushes of 4 MB share the server's link, 12 ms; its own worker's was added up meanwhile, in 2 ms,
  // and then theirs are, one after another; three answers share the link back.
  CHECK(simulate_job(job).end_s == Approx(3 * (3e-3 + 2 * (1e-5 + 12e-3) + 3 * 2e-3)).epsilon(1e-9));
}

TEST_CASE("a crash holds up others where they wait, changes no value there, and nobody elsewhere") {
  const auto run = [](const Json& parameters, bool crash) {
    return simulated_steps(
        [&] {
          Job job = unequal_job(parameters, 20);
          job.cluster.node_speed.clear();
          if (crash) {
            job.failures.crashes = {{1, 5.0}};
            job.failures.restart_s = 30;
          }
          return job;
        },
        4);
  };
  const Json together = {{"servers", 2}}, apart = {{"servers", 2}, {"mode", "asynchronous"}};
  const SimulatedSteps without = run(together, false), with = run(together, true);
  CHECK(with.losses == without.losses);
  CHECK(with.ends[0].back() > without.ends[0].back() + 30);
  // 80 steps of all together: the others do what the one that is down for most of the run does not.
  const SimulatedSteps others = run(apart, true);
  CHECK(others.ends[1].size() < 8);
  CHECK(others.ends[0].size() > 20);
  CHECK(others.ends[0].size() + others.ends[1].size() + others.ends[2].size() + others.ends[3].size() == 80);
  // Where staleness is bounded the others end so many steps ahead.
  const SimulatedSteps bounded = run({{"servers", 2}, {"mode", "stale_synchronous"}, {"staleness", 2}}, true);
  const auto by = [](const std::vector<double>& ends, double time_s) {
    return std::count_if(ends.begin(), ends.end(), [time_s](double end_s) { return end_s <= time_s; });
  };
  CHECK(by(bounded.ends[1], 30) == 3);
  CHECK(by(bounded.ends[0], 30) == 5);
}

}  // namespace simsgd::test::algorithms_parameter_server
