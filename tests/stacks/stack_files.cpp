// Stacks as clusters write them: what they set, what contradicts them, what documents show.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/stacks/policy.hpp"
#include "sim/stacks/stack.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::stacks_stack_files {

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

}  // namespace simsgd::test::stacks_stack_files
