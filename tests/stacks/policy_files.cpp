// Policies as clusters and scenarios write them: whose holds, and what is wrong with them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::stacks_policy_files {

TEST_CASE("the network's policy replaces the cluster's, and documents show which holds") {
  Json scenario = small_scenario();
  CHECK(job_of(scenario).network.collectives.empty());
  scenario["cluster"]["collectives"] = {{"all_reduce", {{{"schedule", "tree"}, {"launch", "2 us"}}}}};
  CHECK(job_of(scenario).network.collectives.at(CollectiveOp::all_reduce).ways.front().schedule == "tree");
  CHECK(job_of(scenario).network.collectives.at(CollectiveOp::all_reduce).ways.front().costs.launch_s ==
        2e-6);
  scenario["network"]["all_reduce"] = "ring";
  CHECK(job_of(scenario).network.collectives.at(CollectiveOp::all_reduce).ways.front().schedule == "ring");
}

TEST_CASE("what is wrong with a table is told with its entry, all at once") {
  Json scenario = small_scenario();
  scenario["network"]["all_reduce"] = {{{"schedule", "ring"}}, {{"schedule", "tree"}}};
  scenario["cluster"]["collectives"] = {
      {"all_gather",
       {{"measured",
         {{{"workers", 2}, {"bytes", 10}, {"time", 1}}, {{"workers", 2}, {"bytes", 10}, {"time", 2}}}}}}};
  const std::string errors = errors_of(scenario);
  CHECK(errors.find("/network/all_reduce/0: takes any size, so the next entry is never used") !=
        std::string::npos);
  CHECK(errors.find("/cluster/collectives/all_gather/measured/1: is not above the one before it") !=
        std::string::npos);
}

TEST_CASE("entries by number of workers and by their parts ascend too, and take what they say") {
  const auto errors = [](const Json& entries) {
    Json scenario = small_scenario();
    scenario["network"]["all_gather"] = entries;
    return errors_of(scenario);
  };
  const Json among8{{"up_to_workers", 8}, {"schedule", "ring"}},
      among4{{"up_to_workers", 4}, {"schedule", "ring"}};
  const Json any{{"schedule", "bruck"}};
  CHECK(
      errors({among8, among4}).find("/network/all_gather/1/up_to_workers: is not above the one before it") !=
      std::string::npos);
  CHECK(errors({any, among4}).find("/network/all_gather/1/up_to_workers: is not above the one before it") !=
        std::string::npos);
  const Json parts{{"up_to_part", 100}, {"schedule", "ring"}},
      fewer{{"up_to_part", 99}, {"schedule", "ring"}};
  CHECK(errors({parts, fewer}).find("/network/all_gather/1/up_to_part: is not above the one before it") !=
        std::string::npos);
  Json scenario = small_scenario();
  scenario["network"]["all_gather"] = {among4, among8, parts, any};
  const std::vector<CollectiveWay> ways =
      job_of(scenario).network.collectives.at(CollectiveOp::all_gather).ways;
  CHECK(ways[0].takes(4, 1e9));
  CHECK(!ways[0].takes(5, 1));
  CHECK(ways[2].takes(16, 1600));  // 100 B of each
  CHECK(!ways[2].takes(16, 1601));
  CHECK(ways[3].takes(1000, 1e12));
}

TEST_CASE("a segment is no faster than its link, and segments ascend") {
  Json scenario = small_scenario();
  scenario["cluster"]["nic"]["bandwidth"] = "1 GB/s";
  scenario["cluster"]["nic"]["segments"] = {{{"up_to", 100}, {"latency", 1e-6}, {"bandwidth", "2 GB/s"}}};
  CHECK(errors_of(scenario).find("/cluster/nic/segments/0/bandwidth: is more than the link has") !=
        std::string::npos);
  scenario["cluster"]["nic"]["segments"] = {{{"up_to", 100}, {"latency", 1e-6}, {"bandwidth", "1 GB/s"}},
                                            {{"up_to", 100}, {"latency", 1e-6}, {"bandwidth", "1 GB/s"}}};
  CHECK(errors_of(scenario).find("/cluster/nic/segments/1/up_to: is not above the one before it") !=
        std::string::npos);
}

}  // namespace simsgd::test::stacks_policy_files
