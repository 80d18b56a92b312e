// Ranks that were not started alike, on three of them. documents.cpp has what the program makes of it.
#include "measure/agreement.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "tests/measure/world.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::measure_agreement {

namespace {

int rank_here() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// What every rank is told where rank `odd` is `theirs`.
std::string told(int odd, const Started& theirs) {
  const Started usual{"simsgd-measure 1.0", "run s.json", "run"};
  return started_apart(MPI_COMM_WORLD, rank_here() == odd ? theirs : usual);
}

/// The sentence of this rank; empty where it is content.
std::string objection(const Json& resolved) {
  return refusal_of<ConfigError>([&] { require_one_scenario(MPI_COMM_WORLD, "s.json", resolved); });
}

}  // namespace

TEST_CASE("programs, and then verbs, are compared with rank 0's, and all ranks are told the same") {
  CHECK(told(-1, {}).empty());
  // How the command was written does not matter, but what it does.
  CHECK(told(2, {"simsgd-measure 1.0", "run other.json -o out", "run"}).empty());
  CHECK(
      told(2, {"simsgd-measure 1.1", "run s.json", "run"}) ==
      "Rank 2 runs simsgd-measure 1.1, and rank 0 runs simsgd-measure 1.0. Start the same program on all ranks.");
  CHECK(
      told(1, {"simsgd-measure 1.0", "network", "network"}) ==
      "Rank 1 was started with \"network\", and rank 0 with \"run s.json\". Give all ranks the same command and options.");
  CHECK(
      told(0, {"simsgd-measure 1.1", "run s.json", "run"}) ==
      "Rank 1 runs simsgd-measure 1.0, and rank 0 runs simsgd-measure 1.1. Start the same program on all ranks.");
  // Longer than what travels: told apart all the same.
  const std::string longer(1000, 'x');
  CHECK(!told(2, {"simsgd-measure 1.0", longer, longer + "y"}).empty());
}

TEST_CASE("a scenario that is not rank 0's is named with its first difference, by those who have it") {
  const auto scenario = [](int odd, const Json& patch) {
    Json resolved = {{"algorithm", {{"name", "a"}}}, {"stop", {{"steps", 5}}}, {"list", {1, 2}}};
    if (rank_here() == odd) resolved.merge_patch(patch);
    return resolved;
  };
  CHECK(objection(scenario(-1, {})).empty());
  CHECK(objection(scenario(1, {{"stop", {{"steps", 5.0}}}})).empty());  // the same number
  CHECK(
      objection(scenario(1, {{"stop", {{"steps", 7}}}})) ==
      (rank_here() == 1
           ? "s.json:/stop/steps: differs between rank 0 and rank 1. Found: 7, but 5 on rank 0. Give all ranks the same scenario."
           : ""));
  CHECK(objection(scenario(2, {{"more", 1}})).find("Found: 1, but nothing on rank 0.") ==
        (rank_here() == 2 ? 49 : std::string::npos));
  CHECK(objection(scenario(0, {{"list", {1}}})).empty() == (rank_here() == 0));
  const int code = on_all_ranks(MPI_COMM_WORLD, [&] {
    require_one_scenario(MPI_COMM_WORLD, "s.json", scenario(2, {{"algorithm", {{"name", "b"}}}}));
  });
  CHECK(code == 2);  // everywhere
}

}  // namespace simsgd::test::measure_agreement
