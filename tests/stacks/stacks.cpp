// Communication stacks in the simulation: closed forms, laws, and the same at every fidelity.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>

#include "analysis/collective_bench.hpp"
#include "sim/stacks/policy.hpp"
#include "sim/stacks/stack.hpp"
#include "tests/scenarios/support.hpp"
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

// Stacks as clusters write them: what they set, what contradicts them, what documents show.

namespace {

Json with_stack(const Json& stack) {
  Json scenario = small_scenario();
  scenario["cluster"]["stack"] = stack;
  return scenario;
}

Json resolved(const Json& scenario) {
  const Scenario loaded = load(scenario);
  return completed(loaded, make_job(loaded));
}

}  // namespace

TEST_CASE("without a stack nothing is as it was not: no key, no defaults, buckets by threshold") {
  const Json all = resolved(small_scenario());
  CHECK(!all["cluster"].contains("stack"));
  CHECK(all["algorithm"]["fusion"] == "threshold");
  const Job job = job_of(small_scenario());
  CHECK(!job.cluster.handover.negotiation);
  CHECK(!job.cluster.handover.blocking);
  CHECK(!job.cluster.handover.single_in_place);
  CHECK(job.cluster.host.message_s == 0);
}

TEST_CASE("every stack stands in a document with its defaults, and a document's run is the same again") {
  for (const StackPlugin& plugin : stack_plugins()) {
    CAPTURE(plugin.info.name);
    const Json once = resolved(with_stack({{"name", plugin.info.name}}));
    CHECK(resolved(once) == once);
  }
  const Json horovod = resolved(with_stack({{"name", "horovod"}}));
  CHECK(horovod["cluster"]["stack"]["cycle"] == 5e-3);
  CHECK(horovod["cluster"]["stack"]["fusion"] == 67108864);
  CHECK(horovod["algorithm"]["fusion"] == "none");
  const auto of_mpi = [](const char* calls) {
    return resolved(with_stack({{"name", "mpi"}, {"calls", calls}}))["network"]["all_reduce"][0]["schedule"];
  };
  CHECK(of_mpi("blocking") == "recursive_doubling");  // coll/tuned
  CHECK(of_mpi("immediate") == "tree");               // coll/libnbc
}

TEST_CASE("a stack's costs stand beside the host's, and replace none in silence") {
  Json scenario = with_stack({{"name", "horovod"}, {"launch", "5 us"}, {"buffer_bandwidth", "10 GB/s"}});
  scenario["cluster"]["host"] = {{"reduce", 1e-10}, {"merge", 1e-9}};
  const HostCosts host = job_of(scenario).cluster.host;
  CHECK(host.launch_s.value_or(0) == doctest::Approx(5e-6).epsilon(1e-12));
  CHECK(host.pack_s_per_byte == 1 / 10e9);
  CHECK(host.reduce_s_per_byte == 1e-10);
  CHECK(host.merge_s == 1e-9);
  scenario["cluster"]["host"] = {{"launch", "1 us"}, {"pack", 0}, {"overlap", "1 ms"}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/cluster/stack/launch: is given twice: the cluster's \"host\" sets \"launch\". Found: \"5 us\". Leave out one of them, here or /cluster/host/launch.\n"
      "s.json:/cluster/stack/buffer_bandwidth: is given twice: the cluster's \"host\" sets \"pack\". Found: \"10 GB/s\". Leave out one of them, here or /cluster/host/pack.\n"
      "s.json:/cluster/stack: derives the overlap of communication from the layers' ready times, but the cluster's \"host\" sets \"overlap\". Set /cluster/host/overlap to 0, or leave out the stack.");
}

TEST_CASE("bytes takes no host costs: neither given ones nor those that follow from the device") {
  Json scenario = with_stack({{"name", "bytes"}});
  scenario["cluster"]["device"]["memory_bandwidth"] = "1 TB/s";
  scenario["cluster"]["device"]["vector_pass"] = {{"efficiency", 0.5}};
  scenario["cluster"]["device"]["communication_slowdown"] = 0.2;
  const Job job = job_of(scenario);
  CHECK(job.cluster.host.before_s(1e9, 100) == 0);
  CHECK(job.cluster.host.scale_s_per_byte == 0);
  CHECK(job.cluster.device.communication_slowdown == 0);
  for (const Note& note : job.notes) {
    CAPTURE(note.text);
    CHECK(note.text.find("host") == std::string::npos);
  }
  scenario["cluster"]["host"] = {{"launch", "1 us"}, {"copy", "1 ns"}};
  scenario["cluster"]["collectives"] = {{"broadcast", "tree"},
                                        {"all_reduce", {{{"schedule", "ring"}, {"launch", "1 us"}}}}};
  const std::string errors = errors_of(scenario);
  CHECK(
      errors.find(
          "/cluster/stack: models only the network, but the cluster's \"host\" says what \"launch\", \"copy\" cost.") !=
      std::string::npos);
  CHECK(errors.find("--set /cluster/host={}") != std::string::npos);
  CHECK(errors.find("the cluster's \"collectives\" add costs to all_reduce.") != std::string::npos);
  CHECK(errors.find("broadcast") == std::string::npos);
}

TEST_CASE("the way out of a contradiction is one: host={} on the command line, for a cluster that we ship") {
  Json scenario = small_scenario();
  scenario["cluster"] = {{"use", kScenarios + "clusters/ethernet-10g.json"}, {"workers", 4}};
  const Overrides overrides{{{"/cluster/host", "{}"}, {"/cluster/stack", R"({"name": "bytes"})"}}, {}};
  CHECK(job_of(scenario, overrides).cluster.host.launch_s == 0);
}

TEST_CASE("operations that a stack does are not said by the cluster too, but a run may do them otherwise") {
  Json scenario = with_stack({{"name", "nccl"}});
  scenario["cluster"]["collectives"] = {{"all_reduce", "ring"}, {"broadcast", "tree"}};
  CHECK(errors_of(scenario).find(
            "/cluster/stack: defines how all_reduce is done, and so do the cluster's \"collectives\".") !=
        std::string::npos);
  CHECK(errors_of(scenario).find("broadcast") == std::string::npos);
  scenario["cluster"].erase("collectives");
  scenario["network"]["all_reduce"] = "tree";
  CHECK(job_of(scenario).network.collectives.at(CollectiveOp::all_reduce).ways.front().schedule == "tree");
  CHECK(job_of(scenario).network.collectives.at(CollectiveOp::all_gather).kind ==
        CollectivePolicy::Kind::chosen);
}

TEST_CASE("names and options are checked") {
  CHECK(errors_of(with_stack({{"name", "horowod"}})).find("Did you mean \"horovod\"?") != std::string::npos);
  CHECK(errors_of(with_stack({{"name", "horovod"}, {"cycle", -1}})).find("/cluster/stack/cycle") !=
        std::string::npos);
  CHECK(errors_of(with_stack({{"name", "nccl"}, {"multiprocessors", 80}}))
            .find("/cluster/stack/multiprocessors: has no effect without \"channels\"") != std::string::npos);
  CHECK(
      errors_of(with_stack({{"name", "nccl"}, {"multiprocessors", 8}, {"channels", 8}}))
          .find(
              "/cluster/stack/multiprocessors: leaves no multiprocessor for computing, because the channels take all") !=
      std::string::npos);
}

// What stacks cost: predictions, NCCL's choice by closed forms, and that every method runs through every
// stack.

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

}  // namespace simsgd::test::stacks_stacks
