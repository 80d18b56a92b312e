// What follows a backward pass may begin before its end: the host's "overlap".
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_overlap {

namespace {

/// 2 workers, a backward pass of 2 s after a forward pass of 1 s, a model of 1 GB at 1 GB/s: all-reduce 1 s.
Job job_with(double overlap_s, const std::string& algorithm, const Json& parameters, std::uint64_t steps) {
  Job job = scripted_job(star(2, 0, 1e9), nullptr, 0.25e9);
  job.workload.layers.front().forward_s = 1;
  job.workload.layers.front().backward_s = 2;
  job.cluster.host.overlap_s = overlap_s;
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = steps;
  return job;
}

struct Seen {
  double end_s, compute_s, exposed_s, wait_s, sum_s;
};

Seen run(const std::function<Job()>& make) {
  const RunRecord record = simulate_job(make());
  const auto& activity = record.workers[0].activity_s;
  const auto part = [&](Activity which) { return activity[static_cast<std::size_t>(which)]; };
  return {record.end_s, part(Activity::compute), part(Activity::communication), part(Activity::wait),
          std::accumulate(activity.begin(), activity.end(), 0.0) - record.workers[0].end_s};
}

}  // namespace

TEST_CASE("an overlap of 0.75 s hides as much of an all-reduce of 1 s, whichever algorithm asks for it") {
  for (const char* algorithm : {"local_sgd", "allreduce_sgd", "wagma", "eager_sgd"}) {
    CAPTURE(algorithm);
    Json parameters = Json::object();
    if (std::string(algorithm) == "allreduce_sgd") parameters["fusion"] = "all";
    const Seen seen = run([&] { return job_with(0.75, algorithm, parameters, 4); });
    CHECK(seen.end_s == doctest::Approx(4 * 3.25).epsilon(1e-12));
    CHECK(seen.compute_s == doctest::Approx(4 * 3.0).epsilon(1e-12));
    CHECK(seen.exposed_s == doctest::Approx(4 * 0.25).epsilon(1e-12));
    CHECK(seen.wait_s == doctest::Approx(0).epsilon(1e-12));
    CHECK(seen.sum_s == doctest::Approx(0).epsilon(1e-9));
  }
}

TEST_CASE(
    "an overlap hides no more than there is, and reaches back to the start of the backward pass at most") {
  const Seen all = run([] { return job_with(1.5, "local_sgd", Json::object(), 4); });
  CHECK(all.end_s == doctest::Approx(12.0).epsilon(1e-12));
  CHECK(all.exposed_s == doctest::Approx(0).epsilon(1e-12));
  // 100 s are 2 s of backward pass: a model of 3 GB takes 3 s.
  const Seen most = run([] {
    Job job = job_with(100, "local_sgd", Json::object(), 4);
    job.workload.layers.front().tensors = {0.75e9};
    return job;
  });
  CHECK(most.end_s == doctest::Approx(4 * (3 + 3 - 2.0)).epsilon(1e-12));
}

TEST_CASE("without a communication an overlap changes nothing") {
  const Seen seen = run([] { return job_with(0.75, "local_sgd", {{"period", 100}}, 4); });
  CHECK(seen.end_s == doctest::Approx(12.0).epsilon(1e-12));
  CHECK(seen.compute_s == doctest::Approx(12.0).epsilon(1e-12));
}

TEST_CASE("a slow worker's backward pass is as slow to its end") {
  // Rank 1 takes twice as long: 6 s, of which the last 0.75 s go on beside the all-reduce.
  const Seen seen = run([] {
    Job job = job_with(0.75, "local_sgd", Json::object(), 4);
    job.cluster.node_speed = {1, 0.5};
    return job;
  });
  CHECK(seen.end_s == doctest::Approx(4 * 6.25).epsilon(1e-12));
  CHECK(seen.compute_s == doctest::Approx(12.0).epsilon(1e-12));
  CHECK(seen.wait_s == doctest::Approx(4 * 2.25).epsilon(1e-12));  // 3 s to 5.25 s
}

}  // namespace simsgd::test::engine_overlap
