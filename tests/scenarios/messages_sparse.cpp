// What is wrong with the settings of a sparse gradient: the full text of every message.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_messages_sparse {

namespace {

// Of a workload of 1,010 parameters, in the place of both sparsified algorithms.
std::string errors_of(Json parameters) {
  parameters["name"] = "topk_sgd";
  const std::string topk = errors_with("/algorithm", parameters);
  parameters["name"] = "gtopk";
  const std::string gtopk = errors_with("/algorithm", parameters);
  CHECK(topk == gtopk);
  return gtopk;
}

}  // namespace

TEST_CASE("a density is above 0 and at most 1") {
  CHECK(errors_of({{"density", 0}}) ==
        "s.json:/algorithm/density: is out of range. Found: 0. Write a number above 0 and of at most 1.");
  CHECK(errors_of({{"density", 1.5}}) ==
        "s.json:/algorithm/density: is out of range. Found: 1.5. Write a number above 0 and of at most 1.");
  CHECK(errors_of({{"density", 1}}).empty());
}

TEST_CASE("k is at least 1 and at most the parameters of the workload") {
  CHECK(
      errors_of({{"k", 1011}}) ==
      "s.json:/algorithm/k: is more than the 1010 parameters of the workload. Found: 1011. Use at most 1010.");
  CHECK(errors_of({{"k", 0}}) ==
        "s.json:/algorithm/k: is out of range. Found: 0. Write a whole number of at least 1.");
  CHECK(errors_of({{"k", 1010}}).empty());
}

TEST_CASE("k and density say the same twice") {
  CHECK(errors_of({{"k", 10}, {"density", 0.1}}) ==
        "s.json:/algorithm/k: contradicts \"density\". Found: 10. Give one of the two.");
}

TEST_CASE("densities of a warm-up are densities, and have steps") {
  CHECK(
      errors_of({{"warmup_steps", 5}, {"warmup_densities", {0.25, 2}}}) ==
      "s.json:/algorithm/warmup_densities/1: is out of range. Found: 2. Write a number above 0 and of at most 1.");
  CHECK(errors_of({{"warmup_steps", 5}, {"warmup_densities", Json::array()}}) ==
        "s.json:/algorithm/warmup_densities: is too short. Found: []. Give at least 1 element.");
  CHECK(
      errors_of({{"warmup_densities", {0.25}}}) ==
      "s.json:/algorithm/warmup_densities: has no effect without \"warmup_steps\". Found: [0.25]. Give \"warmup_steps\", the steps with each of them, or leave both out.");
  CHECK(errors_of({{"warmup_steps", -1}}) ==
        "s.json:/algorithm/warmup_steps: is out of range. Found: -1. Write a whole number of at least 0.");
}

TEST_CASE("an entry takes bytes, and a threshold a sample") {
  CHECK(
      errors_of({{"bytes_per_entry", 0}}) ==
      "s.json:/algorithm/bytes_per_entry: is out of range. Found: 0. Write a number above 0, such as \"16 GB\" or 16e9 (bytes).");
  CHECK(errors_of({{"selection", "sampled"}, {"sample", 0}}) ==
        "s.json:/algorithm/sample: is out of range. Found: 0. Write a number above 0 and of at most 1.");
}

TEST_CASE("names of variants and of rules for putting back") {
  CHECK(
      errors_with("/algorithm", {{"name", "gtopk"}, {"put_back", "exakt"}}) ==
      "s.json:/algorithm/put_back: is not valid here. Found: \"exakt\". Did you mean \"exact\"? Valid are paper or exact.");
  CHECK(
      errors_with("/algorithm", {{"name", "gtopk"}, {"variant", "ring"}}) ==
      "s.json:/algorithm/variant: is not valid here. Found: \"ring\". Valid are tree or recursive_doubling.");
}

}  // namespace simsgd::test::scenarios_messages_sparse
