#include "analysis/runs/run_row.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace simsgd::test::analysis_run_key {

TEST_CASE("the key of a run is the same on every machine") {
  // Python: uuid.uuid5(uuid.UUID("5d0e6a52-0f3b-4c19-9a77-b241ce836df4"), 'run\n1\n{"a":0.1,"seed":1}')
  CHECK(run_key(Json::parse(R"({"seed": 1, "a": 0.1})"), 1) == "55f50971-2f87-50bc-aaf4-5ec902ca8055");
}

TEST_CASE("another seed, another value and another model version are other runs") {
  const std::string key = run_key({{"seed", 1}, {"a", 0.1}}, 1);
  CHECK(run_key({{"a", 0.1}, {"seed", 1}}, 1) == key);
  CHECK(run_key({{"seed", 2}, {"a", 0.1}}, 1) != key);
  CHECK(run_key({{"seed", 1}, {"a", 0.2}}, 1) != key);
  CHECK(run_key({{"seed", 1}, {"a", 0.1}}, 2) != key);
}

}  // namespace simsgd::test::analysis_run_key
