// Communication stacks in the simulation: closed forms, laws, and the same at every fidelity.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "analysis/collective_bench.hpp"
#include "tests/stacks/support.hpp"
#include "tests/stacks/tensors.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::stacks_stacks {

using doctest::Approx;
using namespace stacks;

TEST_CASE("without costs every stack is the network alone, to the bit") {
  std::mt19937 random(11);
  const Json free[] = {{{"name", "mpi"}, {"decisions", "cluster"}},
                       {{"name", "gloo"}},
                       {{"name", "horovod"}, {"cycle", 0}, {"fusion", 0}}};
  for (int trial = 0; trial < 4; ++trial) {
    const Tensors tensors = random_tensors(random);
    const double alone = simulated_s({{"name", "bytes"}}, tensors, Fidelity::automatic);
    for (const Json& stack : free) {
      CAPTURE(stack.dump());
      CHECK(simulated_s(stack, tensors, Fidelity::automatic) == alone);
    }
  }
}

namespace {

// allreduce_sgd, of layers whose last tensors are ready first: end of a step.
double step_s(const Json& stack, const Json& options = Json::object()) {
  Job job = scripted_job(star(2, kAlpha_s, kBps), nullptr);
  job.workload.layers = {};
  for (const double parameters : {5e5, 1e6, 2.5e5}) {
    Layer layer;
    layer.tensors = {parameters};
    layer.forward_s = 1e-3;
    layer.backward_s = 2e-3;
    job.workload.layers.push_back(layer);
  }
  use_stack(job, stack);
  use_algorithm(job, "allreduce_sgd", options);
  return simulate_job(job).end_s;
}

}  // namespace

TEST_CASE("mpi: per tensor or fused, blocking or immediate, as the layers' ready times have it") {
  // Forward 3 ms; gradients of 1, 4 and 2 MB at 5, 7 and 9 ms, each 0.2 ms and 1 ms per MB.
  const auto mpi = [](const char* gradients, const char* calls) {
    return Json{{"name", "mpi"}, {"gradients", gradients}, {"calls", calls}, {"decisions", "cluster"}};
  };
  CHECK(step_s(mpi("per_tensor", "blocking")) == Approx(9e-3 + 3 * 2e-4 + 7e-3).epsilon(1e-9));
  CHECK(step_s(mpi("fused", "blocking")) == Approx(9e-3 + 2e-4 + 7e-3).epsilon(1e-9));
  CHECK(step_s(mpi("fused", "immediate")) == Approx(9e-3 + 2e-4 + 7e-3).epsilon(1e-9));
  // 5 + 1.2 = 6.2; 7 + 4.2 = 11.2; + 2.2
  CHECK(step_s(mpi("per_tensor", "immediate")) == Approx(13.4e-3).epsilon(1e-9));
  // What the algorithm says counts for more: one bucket of all, by threshold.
  CHECK(step_s(mpi("per_tensor", "immediate"), {{"fusion", "all"}}) == Approx(16.2e-3).epsilon(1e-9));
  CHECK(step_s({{"name", "mpi"}, {"decisions", "cluster"}}) == Approx(16.2e-3).epsilon(1e-9));
}

TEST_CASE("host buffers, launches, messages and copies are charged where they happen") {
  // Immediate, one fused vector of 7 MB of three tensors: launch, 3 tensors, into the buffer and down before;
  // 2 messages; up and out after.
  const Json mpi{{"name", "mpi"},        {"gradients", "fused"},     {"decisions", "cluster"},
                 {"launch", "50 us"},    {"tensor", "10 us"},        {"buffer_bandwidth", "10 GB/s"},
                 {"host_buffers", true}, {"staging_bandwidth", 5e9}, {"message", "20 us"}};
  const double copies = 2 * (7e6 / 10e9 + 7e6 / 5e9);
  CHECK(step_s(mpi) == Approx(9e-3 + 50e-6 + 30e-6 + copies + 2 * (kAlpha_s + 20e-6) + 7e-3).epsilon(1e-9));
  // One by one nothing is copied into a shared buffer: staging remains.
  Json single = mpi;
  single["gradients"] = "per_tensor";
  single["calls"] = "blocking";
  const double staging = 2 * 7e6 / 5e9;
  CHECK(step_s(single) == Approx(9e-3 + 3 * (50e-6 + 2 * (kAlpha_s + 20e-6)) + staging + 7e-3).epsilon(1e-9));
}

TEST_CASE("learning is the same through every stack") {
  const auto losses = [](const Json& stack) {
    Job job = scripted_job(star(4, kAlpha_s, kBps), nullptr, 4e5);
    job.workload.layers.front().tensors = {1e5, 2e5, 5e4, 5e4};
    job.workload.layers.front().backward_s = 1e-3;
    add_learner(job, 16);
    if (!stack.is_null()) use_stack(job, stack);
    use_algorithm(job, "allreduce_sgd", {{"fusion", "none"}});
    job.stop.steps = 20;
    return losses_of(simulate_job(job, 2));
  };
  const std::vector<double> plain = losses(nullptr);
  REQUIRE(plain.size() == 20);
  CHECK(plain.back() < plain.front());
  CHECK(losses({{"name", "horovod"}}) == plain);
  CHECK(losses({{"name", "horovod"}, {"fusion", "1 MB"}, {"cycle", "1 ms"}}) == plain);
  CHECK(losses({{"name", "mpi"}, {"calls", "blocking"}, {"decisions", "cluster"}}) == plain);
}

TEST_CASE("all operations are agreed on, groups have their own, and messages of an algorithm's own are not") {
  // Cycle 10 ms; a barrier handed over at 1 ms, 2 x 0.1 ms of messages between four; then a broadcast of the
  // first two, 1 MB, handed over at its end, at the tick after.
  Job job = scripted_job(star(4, kAlpha_s, kBps), [](Worker& worker) {
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, 1e-3);
      worker.collectives().run(Barrier());
      if (worker.rank() > 1) continue;
      Broadcast one;
      one.group = worker.collectives().group({0, 1});
      one.bytes = 1e6;
      one.schedule = "tree";
      worker.collectives().run(one);
    }
  });
  use_stack(job, {{"name", "horovod"}, {"cycle", "10 ms"}});
  const RunRecord record = simulate_job(job);
  CHECK(record.workers[0].end_s == Approx(20e-3 + 1e-4 + 1e-3).epsilon(1e-9));
  CHECK(record.workers[3].end_s == Approx(10e-3 + 2e-4).epsilon(1e-9));
}

TEST_CASE("an operation that somebody never hands over is told by name") {
  Job job = scripted_job(star(3, kAlpha_s, kBps), [](Worker& worker) {
    while (worker.next_step())
      if (worker.rank() != 1) worker.wait(worker.collectives().start(sum_of_bytes(1e6)));
  });
  use_stack(job, {{"name", "horovod"}});
  const std::string error = refusal_of<std::exception>([&] { simulate_job(job); });
  CHECK(error.find("all_reduce among 3 is not agreed on (not handed over by: 1).") != std::string::npos);
}

TEST_CASE("simsgd bench charges cycle and agreement as a run does whose steps are one operation each") {
  // By hand, cycle 2 ms, agreement 0.3 ms, 1 MB among two: 0.3 + 0.02 + 2 x 0.1 + 1 ms = 1.52 ms; in a row
  // one every 2 ms, so 2 x 2 + 1.52 ms for three. A stack that copies where tensors share a buffer copies
  // nothing of one.
  const Json horovod{{"name", "horovod"}, {"cycle", "2 ms"},   {"agreement", "0.3 ms"},
                     {"launch", "20 us"}, {"tensor", "10 us"}, {"buffer_bandwidth", "1 GB/s"}};
  for (const Fidelity fidelity : kFidelities)
    for (const int steps : {1, 3}) {
      CAPTURE(fidelity_name(fidelity));
      CAPTURE(steps);
      const auto job_of = [&] {
        Job job = scripted_job(star(2, kAlpha_s, kBps), [](Worker& worker) {
          while (worker.next_step()) worker.collectives().run(sum_of_bytes(1e6));
        });
        job.stop.steps = static_cast<std::uint64_t>(steps);
        job.network.fidelity = fidelity;
        use_stack(job, horovod);
        return job;
      };
      const double run_s = simulate_job(job_of()).end_s;
      const double bench_s = [&] {
        const Job job = job_of();
        BenchSettings settings;
        settings.collectives = job.network.collectives;
        settings.fidelity = fidelity;
        settings.sizes_bytes = {1e6};
        settings.iterations = steps;
        return bench_collective(job.cluster, settings).rows.front().time_s;
      }();
      CHECK(bench_s * steps == Approx(run_s).epsilon(1e-9));
      CHECK(run_s == Approx((steps - 1) * 2e-3 + 1.52e-3).epsilon(1e-9));
    }
}

}  // namespace simsgd::test::stacks_stacks
