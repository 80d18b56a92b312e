// Every committed calibration is one: it is read without an error.
#include <doctest/doctest.h>

#include <filesystem>

#include "support.hpp"

namespace simsgd::test::calibration_specs {

TEST_CASE("every committed calibration is read without an error") {
  int specs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SIMSGD_SOURCE_DIR) + "/scenarios/calibration")) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path().string());
    CHECK_NOTHROW(load_spec(entry.path().string()));
    ++specs;
  }
  CHECK(specs >= 12);
}

}  // namespace simsgd::test::calibration_specs
