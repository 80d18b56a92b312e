// The simulated worker: where its time is booked, how runs end, what happens in the background.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::engine_worker {

namespace {

double sum(const WorkerRecord& worker) {
  return std::accumulate(worker.activity_s.begin(), worker.activity_s.end(), 0.0);
}

double part(const WorkerRecord& worker, Activity activity) { return spent_s(worker, activity); }

}  // namespace

TEST_CASE("the activities of every worker sum to its time, with stragglers, jitter, overlap and host costs") {
  Job job = scripted_job(star(6, 1e-4, 1e9), nullptr, 6e6);
  job.workload.layers = {};
  for (int l = 0; l < 5; ++l) {
    Layer layer;
    layer.tensors = {1e6, 1e3};
    layer.forward_s = 1e-3;
    layer.backward_s = 2.3e-3;
    job.workload.layers.push_back(layer);
  }
  job.workload.compute_factor = {Distribution::Kind::lognormal, 0, 1, 0.3, {}, {}};
  job.network.jitter = {Distribution::Kind::exponential, 0, 5e-5, 1, {}, {}};
  job.cluster.host = {1e-5, 1e-11, 1e10, 1e-12};
  use_algorithm(job, "allreduce_sgd", {{"fusion", "none"}});
  job.stop.steps = 200;
  const RunRecord record = simulate_job(job);
  std::vector<double> errors;
  for (const WorkerRecord& worker : record.workers) {
    errors.push_back(std::fabs(sum(worker) - worker.end_s) / worker.end_s);
    errors.push_back(part(worker, Activity::communication) > 0 && part(worker, Activity::host) > 0 ? 0.0
                                                                                                   : 1.0);
  }
  for (const double error : errors) CHECK(error < 1e-12);
}

TEST_CASE("a worker that is early waits; one that is late does not") {
  // Two workers compute 1 s and 3 s and then all-reduce 1 GB at 1 GB/s: 2 steps of 0.5 s.
  Job job = scripted_job(star(2, 0, 1e9), [](Worker& worker) {
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, worker.rank() == 0 ? 1.0 : 3.0);
      worker.wait(worker.collectives().start(timed<AllReduce>(1e9, "ring")));
    }
  });
  const RunRecord record = simulate_job(job);
  const std::vector<double> booked = {
      part(record.workers[0], Activity::wait), part(record.workers[0], Activity::communication),
      part(record.workers[1], Activity::wait), part(record.workers[1], Activity::communication)};
  CHECK(booked == std::vector<double>{2.0, 1.0, 0.0, 1.0});
}

TEST_CASE("communication that is hidden behind computing is not booked as exposed") {
  // An all-reduce of 1 s starts; the worker computes 0.75 s and then waits 0.25 s.
  Job job = scripted_job(star(2, 0, 1e9), [](Worker& worker) {
    while (worker.next_step()) {
      const Handle handle = worker.collectives().start(timed<AllReduce>(1e9, "ring"));
      worker.compute().spend(Activity::compute, 0.75);
      worker.wait(handle);
    }
  });
  const WorkerRecord worker = simulate_job(job).workers[0];
  const std::vector<double> booked = {part(worker, Activity::communication), worker.exposed_s[0],
                                      worker.communication_s[0]};
  CHECK(booked == std::vector<double>{0.25, 0.25, 1.0});
}

TEST_CASE("operations of one channel run one after another; of two channels, at once") {
  for (const bool two_channels : {false, true}) {
    CAPTURE(two_channels);
    Job job = scripted_job(star(2, 0, 1e9), [&](Worker& worker) {
      while (worker.next_step()) {
        auto second = timed<AllReduce>(1e9, "ring");
        second.channel = two_channels ? 1 : 0;
        const Handle a = worker.collectives().start(timed<AllReduce>(1e9, "ring"));
        const Handle b = worker.collectives().start(second);
        worker.wait(b);
        worker.wait(a);
      }
    });
    job.network.fidelity = Fidelity::messages;
    const double end = simulate_job(job).end_s;
    CHECK(end == doctest::Approx(2.0).epsilon(1e-9));  // 2 GB in all through each 1 GB/s link, either way
  }
}

TEST_CASE("a run that ends by the clock counts the steps that are complete by then") {
  // Steps of 1 s; the run ends at 2.5 s: step 3 has begun.
  Job job = scripted_job(star(3, 0, 1e9), [](Worker& worker) {
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, 1.0);
      worker.collectives().run(Barrier());
    }
  });
  job.stop.steps = 100;
  job.stop.time_s = 2.5;
  std::vector<double> steps;
  for (const WorkerRecord& worker : simulate_job(job).workers)
    steps.push_back(static_cast<double>(worker.steps));
  CHECK(steps == std::vector<double>{2, 2, 2});
}

TEST_CASE("a deadlock ends with a sentence that names who waits for what") {
  Job job = scripted_job(star(3, 1e-6, 1e9), [](Worker& worker) {
    while (worker.next_step()) {
      if (worker.rank() == 2) worker.messages().receive(0, 7);
      worker.wait(worker.collectives().start(timed<AllReduce>(1e6, "ring")));
    }
  });
  const std::string error = refusal_of<std::exception>([&] { simulate_job(job); });
  CHECK(
      error ==
      "Deadlock at 0 s of simulated time: no event is left, and these ranks wait forever: 0 (step 1), 1 (step 1), 2 (step 1). all_reduce by ring among 3 (2 of 3 ranks have come; missing: 2). Rank 2 waits to receive from rank 0 (tag 7). The algorithm's ranks do not agree on what they exchange.");
}

TEST_CASE("ranks that start different operations end the run with a sentence") {
  Job job = scripted_job(star(2, 1e-6, 1e9), [](Worker& worker) {
    while (worker.next_step())
      worker.wait(worker.collectives().start(timed<AllReduce>(worker.rank() == 0 ? 1e6 : 2e6, "ring")));
  });
  const std::string error = refusal_of<std::exception>([&] { simulate_job(job); });
  CHECK(
      error ==
      "Rank 1 started all_reduce of 2000000 bytes as operation 0 of its channel, but another rank started all_reduce of 1000000 bytes: the algorithm's ranks disagree.");
}

TEST_CASE(
    "a posted message reaches its handler while the receiver computes, and may be answered from there") {
  // Rank 1 computes 10 s; rank 0 posts at 1 s, 8 bytes of no size: each way takes 0.5 s.
  std::vector<double> times(3, -1);
  Job job = scripted_job(star(2, 0.5, 1e9), [&](Worker& worker) {
    while (worker.next_step()) {
      if (worker.rank() == 1) {
        worker.background().serve(1, [&](const Message& message) {
          times[0] = worker.now();
          worker.background().post(message.from, 2, {});
        });
        worker.compute().spend(Activity::compute, 10.0);
        times[2] = worker.now();
      } else {
        const Handle answered = worker.background().make_event();
        worker.background().serve(2, [&](const Message&) { worker.background().signal(answered); });
        worker.compute().spend(Activity::compute, 1.0);
        worker.background().post(1, 1, {});
        worker.wait(answered);
        times[1] = worker.now();
      }
    }
  });
  simulate_job(job);
  CHECK(times[0] == doctest::Approx(1.5).epsilon(1e-12));
  CHECK(times[1] == doctest::Approx(2.0).epsilon(1e-12));
  CHECK(times[2] == doctest::Approx(10.0).epsilon(1e-12));
}

TEST_CASE("a gradient that was started can be waited for with other things, and cancelled") {
  // A gradient of 3 s against an event after 1 s; cancelled then, so the step ends at 1 s, all of it
  // computing.
  double end = 0;
  Job job = scripted_job(star(2, 1.0, 1e9), [&](Worker& worker) {
    const Handle event = worker.background().make_event();
    worker.background().serve(1, [&](const Message&) { worker.background().signal(event); });
    while (worker.next_step()) {
      if (worker.rank() == 1) {
        worker.background().post(0, 1, {});
        continue;
      }
      const Handle gradient = worker.preemption().start({});
      const std::array<Awaited, 2> both = {gradient, event};
      if (worker.wait_any(both) == 1) worker.preemption().cancel(gradient);
      end = worker.now();
    }
  });
  job.workload.layers.front().forward_s = 1;
  job.workload.layers.front().backward_s = 2;
  const RunRecord record = simulate_job(job);
  const std::vector<double> booked = {end, part(record.workers[0], Activity::compute),
                                      record.workers[0].samples};
  CHECK(booked == std::vector<double>{1.0, 1.0, 0.0});
}

TEST_CASE("then calls its action when an operation ends, in the background") {
  std::vector<double> times(2, -1);
  Job job = scripted_job(star(2, 0, 1e9), [&](Worker& worker) {
    while (worker.next_step()) {
      const Handle handle = worker.collectives().start(timed<AllReduce>(1e9, "ring"));
      worker.background().then(handle,
                               [&] { times[static_cast<std::size_t>(worker.rank())] = worker.now(); });
      worker.compute().spend(Activity::compute, 5.0);
    }
  });
  simulate_job(job);
  CHECK(times[0] == doctest::Approx(1.0).epsilon(1e-12));
  CHECK(times[1] == doctest::Approx(1.0).epsilon(1e-12));
}

TEST_CASE("who waits for the answer to a posted message waits for bytes, and they are booked by kind") {
  // 1 GB there and 1 GB back at 1 GB/s.
  const Job job = scripted_job(star(2, 0, 1e9), [](Worker& worker) {
    worker.next_step();
    const int other = 1 - worker.rank();
    Message big;
    big.bytes = 1e9;
    big.traffic = Traffic::model;
    const Handle answered = worker.background().make_event();
    worker.background().serve(
        7, [&worker, other, big](const Message&) { worker.background().post(other, 8, big); });
    worker.background().serve(8,
                              [&worker, answered](const Message&) { worker.background().signal(answered); });
    if (worker.rank() == 0) {
      worker.background().post(other, 7, big);
      worker.wait(answered);
    } else {
      worker.compute().spend(Activity::compute, 5);
    }
    worker.next_step();
  });
  const RunRecord record = simulate_job(job);
  const auto of = [&](int rank, Activity activity) {
    return spent_s(record.workers[static_cast<std::size_t>(rank)], activity);
  };
  CHECK(of(0, Activity::communication) == doctest::Approx(2).epsilon(1e-9));
  CHECK(of(0, Activity::wait) == doctest::Approx(0).epsilon(1e-9));
  CHECK(record.workers[1].communication_s[static_cast<std::size_t>(Traffic::model)] ==
        doctest::Approx(2).epsilon(1e-9));  // hidden behind its computing
  CHECK(record.workers[1].exposed_s[static_cast<std::size_t>(Traffic::model)] == 0);
}

}  // namespace simsgd::test::engine_worker
