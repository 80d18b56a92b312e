#include "results/text_table.hpp"

#include <doctest/doctest.h>

namespace simsgd::test::results_text_table {

TEST_CASE("columns are as wide as their widest cell, in characters and not in bytes") {
  const TextTable table{.left = 1, .rows = {{"name", "value"}, {"-"}, {"é", "1"}, {}, {"four", "12"}}};
  CHECK(table.text() ==
        "name  value\n"
        "-----------\n"
        "é         1\n"
        "\n"
        "four     12\n");
}

TEST_CASE("thousands are separated") {
  CHECK(grouped(1729.49, 1) == "1,729.5");
  CHECK(grouped(1234567, 0) == "1,234,567");
  CHECK(grouped(999.94, 1) == "999.9");
  CHECK(grouped(-1000, 0) == "-1,000");
  CHECK(grouped(-0.0, 1) == "0.0");
}

TEST_CASE("values to be compared share the unit in which the smallest is at least one") {
  const CommonUnit step = common_time_unit({1.7295, 0.2554});
  CHECK(step.name == "ms");
  CHECK(step.show(1.7295) == "1,729.5");
  CHECK(step.show(0.2554) == "255.4");
  CHECK(common_time_unit({3459, 511}).name == "min");
  CHECK(common_time_unit({3459, 90}).name == "s");
  CHECK(common_time_unit({0, 2e-6}).show(2e-6) == "2.00");
  CHECK(common_bytes_unit({178899224}).name == "MB");
  CHECK(common_unit("kWh", 3.6e6, {1720237.9}).show(1720237.9) == "0.478");
}

TEST_CASE("a value below every unit, and none at all, are still shown") {
  CHECK(common_time_unit({1e-12}).show(1e-12) == "0.00100");
  CHECK(common_time_unit({}).show(0) == "0.0");
}

}  // namespace simsgd::test::results_text_table
