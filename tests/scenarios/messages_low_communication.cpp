// What is wrong with the settings of methods that communicate little or shard: the full text of every
// message.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_messages_low_communication {

namespace {

/// Of a workload of two layers, with matrices of 10 x 100 and 3 x 7.
std::string errors_of(const Json& algorithm, const Json& optimizer = Json::object()) {
  Json scenario = small_scenario();
  scenario["workload"]["layers"] = {
      {{"name", "one"}, {"type", "fc"}, {"tensors", {{10, 100}, 10}}, {"forward_flop", 2000}},
      {{"name", "two"}, {"type", "fc"}, {"tensors", {{3, 7}}}, {"forward_flop", 42}}};
  scenario["algorithm"] = algorithm;
  if (!optimizer.empty()) scenario["optimizer"] = optimizer;
  const Folder folder;
  folder.write_json("s.json", scenario);
  return folder.errors("s.json");
}

}  // namespace

TEST_CASE("DiLoCo takes inner steps") {
  CHECK(errors_of({{"name", "diloco"}, {"inner_steps", 0}}) ==
        "s.json:/algorithm/inner_steps: is out of range. Found: 0. Write a whole number of at least 1.");
}

TEST_CASE("what leaves comes back before it leaves again") {
  CHECK(
      errors_of({{"name", "diloco"}, {"inner_steps", 8}, {"overlap", 8}}) ==
      "s.json:/algorithm/overlap: is not below the 8 inner_steps. Found: 8. Use at most 7, or more inner_steps.");
  CHECK(errors_of({{"name", "diloco"}, {"inner_steps", 8}, {"overlap", 7}}) == "");
}

TEST_CASE("fragments are of layers") {
  CHECK(
      errors_of({{"name", "diloco"}, {"fragments", 3}}) ==
      "s.json:/algorithm/fragments: are more than the workload's 2 layers with parameters. Found: 3. Use at most 2.");
  CHECK(errors_of({{"name", "diloco"}, {"fragments", 2}}) == "");
}

TEST_CASE("numbers of DiLoCo") {
  CHECK(errors_of({{"name", "diloco"}, {"bits", 1}}) ==
        "s.json:/algorithm/bits: is out of range. Found: 1. Write a whole number from 2 to 32.");
  CHECK(errors_of({{"name", "diloco"}, {"mixing", 1.5}}) ==
        "s.json:/algorithm/mixing: is out of range. Found: 1.5. Write a number from 0 to 1.");
  CHECK(errors_of({{"name", "diloco"}, {"outer_rate", 0}}) ==
        "s.json:/algorithm/outer_rate: is out of range. Found: 0. Write a number above 0.");
  CHECK(
      errors_of({{"name", "diloco"}, {"outer_momentum", 1}}) ==
      "s.json:/algorithm/outer_momentum: is out of range. Found: 1. Write a number of at least 0 and below 1.");
}

TEST_CASE("PowerSGD takes any rank from 1 on, and needs a matrix") {
  CHECK(errors_of({{"name", "powersgd"}, {"rank", 0}}) ==
        "s.json:/algorithm/rank: is out of range. Found: 0. Write a whole number of at least 1.");
  CHECK(errors_of({{"name", "powersgd"}, {"rank", 1000}}) == "");  // layer two is 3 x 7
  Json scenario = small_scenario();
  scenario["algorithm"] = {{"name", "powersgd"}, {"rank", 4}};
  const Folder folder;
  folder.write_json("s.json", scenario);
  CHECK(
      folder.errors("s.json") ==
      "s.json:/algorithm/name: has nothing to compress: no tensor of the workload \"workload\" is a matrix. Found: \"powersgd\". Give the tensors of its layers as [rows, columns], or use allreduce_sgd.");
}

TEST_CASE("FSDP shards, and a norm is of the whole gradient") {
  CHECK(
      errors_of({{"name", "fsdp"}}, {{"name", "sgd"}, {"clip_norm", 1}}) ==
      "s.json:/algorithm/name: shards the gradient, and /optimizer/clip_norm needs the norm of all of it. Found: \"fsdp\". Leave out /optimizer/clip_norm, or use allreduce_sgd.");
  CHECK(errors_of({{"name", "fsdp"}}, {{"name", "sgd"}}) == "");
  CHECK(errors_of({{"name", "fsdp"}, {"stage", 4}}) ==
        "s.json:/algorithm/stage: is out of range. Found: 4. Write a whole number from 1 to 3.");
  CHECK(errors_of({{"name", "fsdp"}, {"channels", 3}}) ==
        "s.json:/algorithm/channels: is out of range. Found: 3. Write a whole number from 1 to 2.");
  CHECK(errors_of({{"name", "fsdp"}, {"prefetch", -1}}) ==
        "s.json:/algorithm/prefetch: is out of range. Found: -1. Write a whole number from 0 to 1024.");
  CHECK(errors_of({{"name", "fsdp"}, {"reduce", "always"}}) ==
        "s.json:/algorithm/reduce: is not valid here. Found: \"always\". Valid are once or each.");
}

TEST_CASE("gradients are clipped at a norm above 0") {
  CHECK(
      errors_of({{"name", "allreduce_sgd"}}, {{"name", "sgd"}, {"clip_norm", 0}}) ==
      "s.json:/optimizer/clip_norm: is out of range. Found: 0. Write a number above 0, or leave it out for no clipping.");
}

}  // namespace simsgd::test::scenarios_messages_low_communication
