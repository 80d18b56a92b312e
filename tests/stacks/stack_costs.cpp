// What stacks cost: predictions, NCCL's choice by closed forms, and that every method runs through every
// stack.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/stacks/support.hpp"

namespace simsgd::test::stacks_stack_costs {

using doctest::Approx;
using namespace stacks;

TEST_CASE("predictions are what an operation takes that everybody hands over at a tick, at every fidelity") {
  const Json stacks[] = {{{"name", "bytes"}},
                         {{"name", "mpi"}, {"launch", "5 us"}, {"message", "3 us"}},
                         {{"name", "horovod"}, {"agreement", "0.7 ms"}, {"launch", "5 us"}},
                         {{"name", "nccl"}},
                         {{"name", "nccl"}, {"protocol", "ll"}, {"channels", 2}, {"channel_bandwidth", 2e8}},
                         {{"name", "gloo"}, {"algorithm", "halving_doubling"}, {"reduce", 1e-10}}};
  for (const Json& stack : stacks)
    for (const double bytes : {4e2, 3e6}) {
      CAPTURE(stack.dump());
      CAPTURE(bytes);
      for (const Fidelity fidelity : kFidelities) {
        double predicted = 0;
        Job job = scripted_job(star(4, kAlpha_s, kBps), [&](Worker& worker) {
          while (worker.next_step()) {
            predicted = worker.collectives().predict(sum_of_bytes(bytes));
            worker.collectives().run(sum_of_bytes(bytes));
          }
        });
        job.network.fidelity = fidelity;
        use_stack(job, stack);
        const double end_s = simulate_job(job).end_s;
        CHECK(end_s == Approx(predicted).epsilon(1e-9));
      }
    }
}

namespace {

double nccl_s(const Json& more, double bytes, int workers) {
  Job job = scripted_job(star(workers, 0, kBps), [&](Worker& worker) {
    while (worker.next_step()) worker.collectives().run(sum_of_bytes(bytes));
  });
  Json stack = more;
  stack["name"] = "nccl";
  use_stack(job, stack);
  return simulate_job(job).end_s;
}

}  // namespace

TEST_CASE("nccl takes the fastest: LL below the size where Simple's bandwidth pays for its latency") {
  // Around four nodes of one GPU: LL 6.6 us + 6 (5 us + 2 (m/4) / B), Simple 8.4 us + 6 (14 us + (m/4) / B).
  const auto ll = [](double m) { return 6.6e-6 + 6 * (5e-6 + m / 2 / kBps); };
  const auto simple = [](double m) { return 8.4e-6 + 6 * (14e-6 + m / 4 / kBps); };
  const double crossing = (8.4e-6 - 6.6e-6 + 6 * (14e-6 - 5e-6)) * kBps / 1.5;
  CHECK(ll(crossing) == Approx(simple(crossing)).epsilon(1e-12));
  const Json ring{{"algorithm", "ring"}};
  for (const double m : {64.0, 0.99 * crossing, 1.01 * crossing, 1e7}) {
    CAPTURE(m);
    CHECK(nccl_s({{"algorithm", "ring"}, {"protocol", "ll"}}, m, 4) == Approx(ll(m)).epsilon(1e-9));
    CHECK(nccl_s({{"algorithm", "ring"}, {"protocol", "simple"}}, m, 4) == Approx(simple(m)).epsilon(1e-9));
    const double ll128 = nccl_s({{"algorithm", "ring"}, {"protocol", "ll128"}}, m, 4);
    CHECK(ll128 == Approx(14e-6 + 6 * (8.5e-6 + m / 4 / (0.92 * kBps))).epsilon(1e-9));
    CHECK(nccl_s(ring, m, 4) == Approx(std::min({ll(m), ll128, simple(m)})).epsilon(1e-9));
    CHECK(nccl_s(Json::object(), m, 4) <= nccl_s(ring, m, 4));
  }
}

TEST_CASE("a negotiated operation slows computing from its tick on, as long as its buffer takes") {
  // Slowdown 1. Each tensor of 1 MB after 1 ms of computing, then 10 ms more, cycle 5 ms.
  // One: 4 ms until the tick, 0.6 of 1.2 ms beside it, 5.4 ms after 6.2. Two: 3, 1.1 of 2.2, 5.9 after 7.2.
  for (const int tensors : {1, 2}) {
    Job job = scripted_job(star(2, kAlpha_s, kBps), [&](Worker& worker) {
      while (worker.next_step()) {
        for (int k = 0; k < tensors; ++k) {
          worker.compute().spend(Activity::compute, 1e-3);
          worker.collectives().start(sum_of_bytes(1e6));
        }
        worker.compute().spend(Activity::compute, 10e-3);
      }
    });
    use_stack(job, {{"name", "horovod"}, {"slowdown", 1}});
    CHECK(simulate_job(job).workers[0].end_s == Approx(tensors == 1 ? 11.6e-3 : 13.1e-3).epsilon(1e-9));
  }
}

TEST_CASE("few channels bound the bandwidth, and take multiprocessors from computing") {
  const Json simple{
      {"algorithm", "ring"}, {"protocol", "simple"}, {"channels", 2}, {"channel_bandwidth", 1e8}};
  CHECK(nccl_s(simple, 1e7, 2) == Approx(8.4e-6 + 2 * (14e-6 + 5e6 / 2e8)).epsilon(1e-9));
  Cluster cluster;
  set_stack(make_stack({{"name", "nccl"}, {"channels", 8}, {"multiprocessors", 108}}, {}), cluster);
  CHECK(cluster.device.communication_slowdown == Approx(8.0 / 100).epsilon(1e-12));
}

namespace {

struct Run {
  double end_s, bytes;
};

Run run_through(const Json& stack, const std::string& algorithm, const Json& options) {
  Job job = scripted_job(star(4, kAlpha_s, kBps), nullptr);
  job.workload.layers = {};
  for (const double parameters : {5e5, 1e6, 2.5e5, 1e3}) {
    Layer layer;
    layer.tensors = {parameters, 100};
    layer.forward_s = 1e-3;
    layer.backward_s = 2e-3;
    job.workload.layers.push_back(layer);
  }
  use_stack(job, stack);
  use_algorithm(job, algorithm, options);
  job.stop.steps = 6;
  const RunRecord record = simulate_job(job);
  double bytes = 0;
  for (const WorkerRecord& worker : record.workers)
    for (const double sent : worker.bytes_sent) bytes += sent;
  return {record.end_s, bytes};
}

}  // namespace

TEST_CASE(
    "every kind of method runs through every stack, sends the same, and is never faster than the bytes") {
  const std::pair<const char*, Json> methods[] = {{"allreduce_sgd", {{"fusion", "none"}}},
                                                  {"fsdp", Json::object()},
                                                  {"local_sgd", {{"period", 2}}},
                                                  {"topk_sgd", Json::object()},
                                                  {"gtopk", Json::object()},
                                                  {"diloco", Json::object()},
                                                  {"nonblocking", Json::object()},
                                                  {"wagma", Json::object()},
                                                  {"eager_sgd", Json::object()}};
  const Json stacks[] = {{{"name", "horovod"}, {"cycle", "3 ms"}, {"fusion", 0}},
                         {{"name", "horovod"}, {"cycle", "1 ms"}},
                         {{"name", "mpi"}, {"decisions", "cluster"}, {"calls", "blocking"}},
                         {{"name", "mpi"}, {"decisions", "cluster"}}};
  for (const auto& [method, options] : methods) {
    CAPTURE(method);
    const Run alone = run_through({{"name", "bytes"}}, method, options);
    const bool in_time = std::string(method) == "wagma" || std::string(method) == "eager_sgd";
    for (const Json& stack : stacks) {
      CAPTURE(stack.dump());
      const Run run = run_through(stack, method, options);
      if (!in_time) CHECK(run.bytes == Approx(alone.bytes).epsilon(1e-12));
      const bool fuses = stack["name"] == "horovod" && !stack.contains("fusion");
      if (!in_time && !fuses) CHECK(run.end_s >= alone.end_s * (1 - 1e-12));
    }
  }
}

}  // namespace simsgd::test::stacks_stack_costs
