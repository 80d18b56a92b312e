// Decoupled DiLoCo against a model of its events; where it is DiLoCo; what a quorum is good for.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/algorithms/served_models.hpp"

namespace simsgd::test::algorithms_decoupled_diloco {

using doctest::Approx;

namespace {

const std::vector<double> kSpeeds = {1, 0.83, 0.61, 0.37};
constexpr double kMessage_s = 0.02 + 144 / 1000.0;

Job unequal_job(const Json& parameters) {
  Job job = learning_job(4, "decoupled_diloco", parameters, kSteps);
  job.workload.layers.front().forward_s = 1.3;
  job.cluster.node_speed = kSpeeds;
  job.cluster.network = pairs(4, 0.02, [](int, int) { return 1000.0; });
  return job;
}

/// H 3, K 2, grace 0.4, m 0.3, eta 0.6, mu 0.7; learners train on.
StepEnds model(Workers& workers, double until_s) {
  EventQueue queue(until_s);
  StepEnds ends(4);
  Vector agreed = workers[0], u = 0 * agreed;
  struct Sent {
    Vector model;
    double steps;
  };
  std::map<std::size_t, Sent> here;
  int merges = 0;
  double merged_s = 0;
  std::vector<std::uint64_t> steps(4);
  std::vector<double> since(4);
  std::vector<bool> waits(4), news(4);
  std::vector<Vector> answer(4);
  const auto merge = [&] {
    ++merges;
    merged_s = queue.now();
    double all = 0;
    for (const auto& [i, sent] : here) all += sent.steps;
    Vector difference = 0 * agreed;
    for (const auto& [i, sent] : here) difference += sent.steps / all * (agreed - sent.model);
    u = 0.7 * u + difference;
    agreed -= 0.6 * (difference + 0.7 * u);
    for (const auto& [i, sent] : std::exchange(here, {}))
      queue.told(queue.now() + (i == 0 ? 0 : kMessage_s), [&, i = i, merged = agreed] {
        answer[i] = merged;
        news[i] = true;
      });
  };
  const auto learned = [&](std::size_t i, const Sent& sent) {
    here[i] = sent;
    if (here.size() == 4) return merge();
    if (here.size() == 2)
      queue.told(queue.now() + 0.4 * (queue.now() - merged_s), [&, at = merges] {
        if (merges == at) merge();
      });
  };
  std::function<void(std::size_t)> begin;
  const auto end = [&](std::size_t i) {
    if (!waits[i] && since[i] >= 3) {
      waits[i] = true;
      queue.told(queue.now() + (i == 0 ? 0 : kMessage_s),
                 [&, i, sent = Sent{workers[i], since[i]}] { learned(i, sent); });
    }
    if (news[i]) {
      waits[i] = news[i] = false;
      since[i] = 0;
      workers[i] = 0.3 * workers[i] + 0.7 * answer[i];
    }
    ends[i].push_back(queue.now());
    begin(i);
  };
  begin = [&](std::size_t i) {
    workers[i] -= kRate * workers.gradient(i, ++steps[i]);
    ++since[i];
    queue.computed(queue.now() + 1.3 / kSpeeds[i], [&, i] { end(i); });
  };
  for (std::size_t i = 0; i < 4; ++i) begin(i);
  queue.run();
  return ends;
}

}  // namespace

TEST_CASE("decoupled DiLoCo merges who is there, as a model of its events says") {
  const Json parameters = {{"inner_steps", 3}, {"quorum", 2},       {"grace", 0.4},
                           {"mixing", 0.3},    {"outer_rate", 0.6}, {"outer_momentum", 0.7}};
  const Job job = unequal_job(parameters);
  Workers workers(job);
  check_steps(
      simulated_steps([&] { return unequal_job(parameters); }, 4), workers,
      [&](double until_s) { return model(workers, until_s); }, 20);
}

TEST_CASE("decoupled DiLoCo of all learners that wait for each other is DiLoCo") {
  const FakeResult one = run_fake(
      learning_job(4, "decoupled_diloco", {{"inner_steps", 5}, {"quorum", 4}, {"wait", true}}, kSteps));
  const FakeResult two = run_fake(learning_job(4, "diloco", {{"inner_steps", 5}}, kSteps));
  CHECK(worst_difference(one.models, two.models) < 1e-5);
  CHECK(one.models[0] == one.models[3]);
}

TEST_CASE("a learner that is down holds up nobody beyond the quorum, and is in the merges after its return") {
  // All wait for the answer; 100 steps together. Learner 2 is down from 10 s to 40 s and then does what it
  // lost.
  const auto steps_by = [](int quorum, double time_s) {
    const StepEnds ends = simulated_steps(
                              [&] {
                                Job job = scripted_job(star(4, 1e-6, 1e9), nullptr, 36);
                                job.workload.layers.front().forward_s = 1;
                                job.failures.crashes = {{2, 10.5}};
                                job.failures.restart_s = 30;
                                use_algorithm(job, "decoupled_diloco",
                                              {{"inner_steps", 2}, {"quorum", quorum}, {"wait", true}});
                                job.stop.steps = 60;
                                return job;
                              },
                              4)
                              .ends;
    std::vector<std::ptrdiff_t> counts;
    for (const std::vector<double>& of_rank : ends)
      counts.push_back(
          std::count_if(of_rank.begin(), of_rank.end(), [time_s](double end_s) { return end_s <= time_s; }));
    return counts;
  };
  const auto without = steps_by(3, 40.4), all = steps_by(4, 40.4), later = steps_by(3, 60.4);
  // Two steps and a grace window of a tenth of the time since the last merge.
  CHECK(without[0] >= 34);
  CHECK(without[1] == without[0]);
  CHECK(without[2] == 10);
  CHECK(all[0] == 11);  // up to the merge that learner 2 is not in
  CHECK(later[2] >= without[2] + 14);
}

TEST_CASE("decoupled DiLoCo sends the model each way for every merge") {
  const auto sent = [](std::size_t rank) {
    Job job = scripted_job(star(4, 0, 1e9), nullptr, 1e6);
    job.workload.layers.front().forward_s = 1;
    use_algorithm(job, "decoupled_diloco", {{"inner_steps", 3}, {"quorum", 4}, {"wait", true}});
    job.stop.steps = 13;
    const WorkerRecord worker = simulate_job(job).workers[rank];
    return sent_bytes(worker, Traffic::model) / 4e6;
  };
  CHECK(sent(1) == 4);
  CHECK(sent(0) == 4 * 3);
}

}  // namespace simsgd::test::algorithms_decoupled_diloco
