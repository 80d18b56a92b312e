// Communication that slows computing, and what a tensor costs on the host, by hand.
#include "sim/engine/interference.hpp"

#include <doctest/doctest.h>

#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_slowdown {

namespace {

constexpr double kSlowdown = 0.5;  // computing takes 1.5 times as long

struct Seen {
  double end_s, inverse_s, exposed_s, gradient_exposed_s, host_s;
};

// Two workers that run `body`; an all-reduce of 1 GB takes 1 s.
Seen run(double slowdown, const std::function<void(Worker&)>& body, double tensor_s = 0) {
  Job job = scripted_job(star(2, 0, 1e9), [&body](Worker& worker) {
    while (worker.next_step()) body(worker);
  });
  job.cluster.device.communication_slowdown = slowdown;
  job.cluster.host.tensor_s = tensor_s;
  const WorkerRecord worker = simulate_job(job).workers[0];
  const auto part = [&](Activity which) { return worker.activity_s[static_cast<std::size_t>(which)]; };
  return {worker.end_s, part(Activity::inverse), part(Activity::communication),
          worker.exposed_s[static_cast<std::size_t>(Traffic::gradient)], part(Activity::host)};
}

AllReduce one_second() { return timed<AllReduce>(1e9, "ring"); }

}  // namespace

TEST_CASE(
    "computing beside an all-reduce of 1 s takes 1.5 times as long until that ends; the rest is at full speed") {
  const auto body = [](Worker& worker) {
    const Handle handle = worker.collectives().start(one_second());
    worker.compute().spend(Activity::inverse, 1);  // in the first second 1/1.5 of it, and 1/3 s after that
    worker.wait(handle);
  };
  const Seen slowed = run(kSlowdown, body);
  CHECK(slowed.end_s == doctest::Approx(4.0 / 3).epsilon(1e-12));
  CHECK(slowed.inverse_s == doctest::Approx(1).epsilon(1e-12));
  CHECK(slowed.exposed_s == doctest::Approx(1.0 / 3).epsilon(1e-12));  // what it cost is not hidden
  CHECK(slowed.gradient_exposed_s == doctest::Approx(1.0 / 3).epsilon(1e-12));
  const Seen full = run(0, body);
  CHECK(full.end_s == doctest::Approx(1).epsilon(1e-12));
  CHECK(full.exposed_s == doctest::Approx(0));
}

TEST_CASE("operations of one channel follow each other: two slow computing for 2 s") {
  const Seen seen = run(kSlowdown, [](Worker& worker) {
    worker.collectives().start(one_second());
    const Handle last = worker.collectives().start(one_second());
    worker.compute().spend(Activity::inverse, 2);  // 4/3 of it in 2 s, the rest in 2/3 s
    worker.wait(last);
  });
  CHECK(seen.end_s == doctest::Approx(8.0 / 3).epsilon(1e-12));
}

TEST_CASE("those of two channels go on at once: computing is slowed once") {
  const Seen seen = run(kSlowdown, [](Worker& worker) {
    AllReduce other = one_second();
    other.channel = 1;
    const Handle first = worker.collectives().start(one_second()), second = worker.collectives().start(other);
    worker.compute().spend(Activity::inverse, 1);
    worker.wait(first);
    worker.wait(second);
  });
  CHECK(seen.end_s == doctest::Approx(4.0 / 3).epsilon(1e-12));
}

TEST_CASE("computing before an operation or after it is not slowed") {
  const Seen seen = run(kSlowdown, [](Worker& worker) {
    worker.compute().spend(Activity::inverse, 1);
    worker.wait(worker.collectives().start(one_second()));
    worker.compute().spend(Activity::inverse, 1);
  });
  CHECK(seen.end_s == doctest::Approx(3).epsilon(1e-12));
  CHECK(seen.inverse_s == doctest::Approx(2).epsilon(1e-12));
}

TEST_CASE("each tensor of a message costs its time on the host before the first byte moves") {
  const Seen seen = run(
      0,
      [](Worker& worker) {
        AllReduce collective = one_second();
        collective.tensors = 3;
        worker.wait(worker.collectives().start(collective));
      },
      0.25);
  CHECK(seen.end_s == doctest::Approx(1.75).epsilon(1e-12));
  CHECK(seen.host_s == doctest::Approx(0.75).epsilon(1e-12));
}

}  // namespace simsgd::test::engine_slowdown
