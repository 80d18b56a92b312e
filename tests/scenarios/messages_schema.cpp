// What the schema finds: the full text of every kind of message.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "scenarios/language/explain.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_messages_schema {

TEST_CASE("the small scenario of these tests is right") { CHECK(errors_with("/seed", 1) == ""); }

TEST_CASE("an unknown key names the nearest valid one and all others") {
  CHECK(
      errors_with("/stop/stepss", 8) ==
      "s.json:/stop/stepss: is an unknown key. Found: 8. Did you mean \"steps\"? Valid keys here: epochs, samples, steps, time.");
  CHECK(errors_with("/stop/zzzzzz", 8) ==
        "s.json:/stop/zzzzzz: is an unknown key. Found: 8. Valid keys here: epochs, samples, steps, time.");
}

TEST_CASE("an unknown parameter of a plug-in is told from the parameters of that plug-in") {
  CHECK(
      errors_with("/algorithm", {{"name", "local_sgd"}, {"perod", 4}}) ==
      "s.json:/algorithm/perod: is an unknown key. Found: 4. Did you mean \"period\"? Valid keys of local_sgd: name, period.");
}

TEST_CASE("an unknown name of a plug-in lists the valid ones") {
  CHECK(
      errors_with("/cluster/topology/name", "strar") ==
      "s.json:/cluster/topology/name: is not valid here. Found: \"strar\". Did you mean \"star\"? Valid are star, switch_tree, fat_tree, dragonfly, torus, rails, graphml, dot or simgrid_xml.");
}

TEST_CASE("an object that chooses a plug-in needs a name") {
  CHECK(errors_with("/optimizer", {{"momentum", 0.9}}) ==
        "s.json:/optimizer: lacks the key \"name\". Add \"name\": sgd or adamw.");
}

TEST_CASE("a value of the wrong type says what type is right") {
  CHECK(errors_with("/cluster/workers", "many") ==
        "s.json:/cluster/workers: has the wrong type. Found: \"many\". Write a whole number of at least 1.");
  CHECK(errors_with("/cluster/workers", 2.5) ==
        "s.json:/cluster/workers: has the wrong type. Found: 2.5. Write a whole number of at least 1.");
  CHECK(errors_with("/stop", 5) == "s.json:/stop: has the wrong type. Found: 5. Write an object.");
  CHECK(errors_with("/name", 5) == "s.json:/name: has the wrong type. Found: 5. Write text.");
  CHECK(errors_with("/stragglers", Json::object()) ==
        "s.json:/stragglers: has the wrong type. Found: {}. Write a list.");
  CHECK(errors_with("/optimizer", {{"name", "sgd"}, {"nesterov", 1}}) ==
        "s.json:/optimizer/nesterov: has the wrong type. Found: 1. Write true or false.");
}

TEST_CASE("a value of none of several types names them all") {
  CHECK(errors_with("/learner", 5) ==
        "s.json:/learner: has the wrong type. Found: 5. Write null or an object.");
  CHECK(
      errors_with("/cluster/placement", 5) ==
      "s.json:/cluster/placement: has the wrong type. Found: 5. Write block or round_robin, a list or an object.");
}

TEST_CASE("a quantity with the wrong unit names the unit and gives examples") {
  CHECK(
      errors_with("/cluster/nic/latency", "5 GB") ==
      "s.json:/cluster/nic/latency: has the unit \"GB\", which is no unit of time. Found: \"5 GB\". Write \"20 ms\" or 0.02 (seconds).");
  CHECK(
      errors_with("/cluster/nic/bandwidth", "fast") ==
      "s.json:/cluster/nic/bandwidth: is not a number with a unit. Found: \"fast\". Write \"10 Gbps\", \"1.25 GB/s\" or 1.25e9 (bytes per second).");
  CHECK(
      errors_with("/cluster/nic/bandwidth", false) ==
      "s.json:/cluster/nic/bandwidth: has the wrong type. Found: false. Write \"10 Gbps\", \"1.25 GB/s\" or 1.25e9 (bytes per second).");
}

TEST_CASE("an impossible value says what is possible") {
  CHECK(errors_with("/cluster/workers", 0) ==
        "s.json:/cluster/workers: is out of range. Found: 0. Write a whole number of at least 1.");
  CHECK(errors_with("/cluster/workers", 3000000000) ==
        "s.json:/cluster/workers: is out of range. Found: 3000000000. Write at most 2147483647.");
  CHECK(
      errors_with("/cluster/device/efficiency", 1.5) ==
      "s.json:/cluster/device/efficiency: is out of range. Found: 1.5. Write a number above 0 and of at most 1.");
  CHECK(
      errors_with("/cluster/nic/latency", "-5 us") ==
      "s.json:/cluster/nic/latency: is out of range. Found: \"-5 us\". Write a number of at least 0, such as \"20 ms\" or 0.02 (seconds).");
  CHECK(errors_with("/optimizer", {{"name", "sgd"}, {"momentum", 1}}) ==
        "s.json:/optimizer/momentum: is out of range. Found: 1. Write a number of at least 0 and below 1.");
  for (const char* beta : {"beta1", "beta2"})
    CHECK(errors_with("/optimizer", {{"name", "adamw"}, {beta, 1}}) ==
          std::string("s.json:/optimizer/") + beta +
              ": is out of range. Found: 1. Write a number of at least 0 and below 1.");
  CHECK(errors_with("/optimizer", {{"name", "adamw"}, {"epsilon", 0}}) ==
        "s.json:/optimizer/epsilon: is out of range. Found: 0. Write a number above 0.");
  CHECK(errors_with("/learner", {{"model", {{"name", "mlp"}, {"hidden", {0}}}},
                                 {"data", {{"name", "gaussian_mixture"}}},
                                 {"batch", 1}}) ==
        "s.json:/learner/model/hidden/0: is out of range. Found: 0. Write a whole number from 1 to 65536.");
}

TEST_CASE("clipping at 0 is refused: no clipping is to say nothing") {
  for (const char* name : {"sgd", "adamw"})
    CHECK(
        errors_with("/optimizer", {{"name", name}, {"clip_norm", 0}}) ==
        "s.json:/optimizer/clip_norm: is out of range. Found: 0. Write a number above 0, or leave it out for no clipping.");
}

TEST_CASE("the options of one optimizer are not those of another") {
  CHECK(
      errors_with("/optimizer", {{"name", "adamw"}, {"momentum", 0.9}}) ==
      "s.json:/optimizer/momentum: is an unknown key. Found: 0.9. Valid keys of adamw: beta1, beta2, clip_norm, epsilon, learning_rate, name, schedule, weight_decay.");
  CHECK(
      errors_with("/optimizer", {{"name", "adam"}}) ==
      "s.json:/optimizer/name: is not valid here. Found: \"adam\". Did you mean \"adamw\"? Valid are sgd or adamw.");
}

TEST_CASE("a value that is not among the valid ones lists them") {
  CHECK(
      errors_with("/network/fidelity", "stepps") ==
      "s.json:/network/fidelity: is not valid here. Found: \"stepps\". Did you mean \"steps\"? Valid are auto, closed, steps, flows or messages.");
  CHECK(errors_with("/workload", "selfish") ==
        "s.json:/workload: is not valid here. Found: \"selfish\". Valid is self.");
}

TEST_CASE("a missing key says what it is") {
  Json scenario = small_scenario();
  scenario.erase("algorithm");
  scenario["cluster"].erase("nic");
  const Folder folder;
  folder.write_json("s.json", scenario);
  CHECK(folder.errors("s.json") ==
        "s.json:/cluster: lacks the key \"nic\". Add \"nic\": How a node is attached to the network.\n"
        "s.json: lacks the key \"algorithm\". Add \"algorithm\": The training method.");
}

TEST_CASE("an empty stop rule and lists that are too short") {
  CHECK(errors_with("/stop", Json::object()) ==
        "s.json:/stop: is empty. Give epochs, samples, steps or time.");
  CHECK(errors_with("/workload/layers", Json::array()) ==
        "s.json:/workload/layers: is too short. Found: []. Give at least 1 element.");
  CHECK(errors_with("/cluster/placement", {0, 1, 2, 0}) ==
        "s.json:/cluster/placement/3: is in the list already. Found: 0. Name each element once.");
}

TEST_CASE("a list that is too long, a bound from above, and a constant") {
  const Json list = {{"type", "array"}, {"maxItems", 1}};
  REQUIRE(explain(list, {1, 2}).size() == 1);
  CHECK(explain(list, {1, 2})[0].problem == "is too long");
  CHECK(explain(list, {1, 2})[0].remedy == "Give at most 1 elements");
  CHECK(wanted({{"type", "number"}, {"exclusiveMaximum", 3}}) == "a number below 3");
  CHECK(wanted({{"type", {"number", "null"}}}) == "a number or null");
}

TEST_CASE(
    "what is wrong inside an object is told before what is wrong with the object, by the order of keys") {
  const Json schema = {
      {"type", "object"},
      {"properties", {{"a", {{"type", "integer"}}}, {"b", {{"type", "string"}, {"minLength", 1}}}}},
      {"required", {"c"}},
      {"additionalProperties", false}};
  const std::vector<Explanation> all = explain(schema, {{"a", "x"}, {"b", ""}, {"other", 1}});
  std::string told;
  for (const Explanation& each : all) told += each.pointer + " " + each.problem + ". " + each.remedy + "\n";
  CHECK(told ==
        "/a has the wrong type. Write a whole number\n"
        "/b is too short. Write at least 1 character\n"
        "/other is an unknown key. Valid keys here: a, b\n"
        " lacks the key \"c\". Add \"c\"\n");
}

TEST_CASE("values of keys that anybody may choose are looked at too") {
  const Json schema = {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  REQUIRE(explain(schema, {{"x", 5}, {"y", "text"}}).size() == 1);
  CHECK(explain(schema, {{"x", 5}, {"y", "text"}})[0].pointer == "/x");
}

TEST_CASE("an expected value of an unknown metric") {
  const std::string errors = errors_with(
      "/expected", {{{"metric", "throughput"}, {"value", 1}, {"tolerance", 0.1}, {"source", "nobody"}}});
  CHECK(errors.starts_with(
      "s.json:/expected/0/metric: is not valid here. Found: \"throughput\". Valid are throughput_samples_per_s, scaling_efficiency, iteration_time_mean_s, "));
  CHECK(errors.ends_with("cost_usd or energy_J."));
}

TEST_CASE("a scenario with axes or seeds is a study") {
  CHECK(
      errors_with("/axes", Json::array()) ==
      "s.json:/axes: makes this a study of several runs. Found: []. Run all of them with simsgd sweep run, or one with simsgd run --point N (0: without its axes).");
  CHECK(
      errors_with("/seeds", 3) ==
      "s.json:/seeds: makes this a study of several runs. Found: 3. Run all of them with simsgd sweep run, or one with simsgd run --point N (0: without its axes).");
}

TEST_CASE("long values are cut") {
  const std::string errors = errors_with("/network/fidelity", std::string(200, 'x'));
  CHECK(errors.find("Found: \"" + std::string(76, 'x') + "....") != std::string::npos);
}

TEST_CASE("every error of every section comes at once, the schema's and the others'") {
  Json scenario = small_scenario();
  scenario["cluster"]["nodes"] = 2;
  scenario["workload"]["micro_batches"] = 3;
  scenario["optimizer"] = {{"name", "adam"}};
  scenario["stragglers"] = {{{"name", "gamma"}, {"mean", "1 ms"}}};
  scenario["stop"]["steps"] = 0;
  const Folder folder;
  folder.write_json("s.json", scenario);
  CHECK(
      folder.errors("s.json") ==
      "s.json:/optimizer/name: is not valid here. Found: \"adam\". Did you mean \"adamw\"? Valid are sgd or adamw.\n"
      "s.json:/stop/steps: is out of range. Found: 0. Write a whole number of at least 1.\n"
      "s.json:/cluster/workers: is more than the 2 GPUs of the cluster (2 nodes x 1). Found: 4. Use at most 2 workers, or 4 nodes.\n"
      "s.json:/stragglers/0/cv: is missing. Give either \"mean\" and \"cv\" or \"shape\" and \"scale\".\n"
      "s.json:/workload/micro_batches: does not divide the batch of 8. Found: 3. Use a divisor of it.");
}

TEST_CASE("a tensor is a number of parameters, or its rows and columns") {
  const auto tensors = [](const Json& list) { return errors_with("/workload/layers/0/tensors", list); };
  CHECK(tensors({Json{10, 100}, 10}).empty());
  CHECK(tensors({Json{10, 100, 2}, 10}) ==
        "s.json:/workload/layers/0/tensors/0: is too long. Found: [10,100,2]. Give at most 2 elements.");
  CHECK(
      tensors({Json{0, 100}, 10}) ==
      "s.json:/workload/layers/0/tensors/0/0: is out of range. Found: 0. Write a whole number from 1 to 1000000000.");
  CHECK(
      tensors({"big", 10}) ==
      "s.json:/workload/layers/0/tensors/0: has the wrong type. Found: \"big\". Write a number of at least 0 or a list.");
}

}  // namespace simsgd::test::scenarios_messages_schema
