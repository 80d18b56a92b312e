#include "results/summary.hpp"
#include "sim/base/field.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace simsgd::test::results_summary_tables {

TEST_CASE("what an algorithm decided is shown as tables, numbers with separators") {
  const auto document = OrderedJson::parse(R"({"tables": {"factor_groups": {
    "columns": ["group", "first", "elements"], "rows": [[1, "A 1", 62348671], [2, "G 54", 0.25]]}}})");
  CHECK(decided_tables(document) ==
        "\n"
        "factor groups (2)\n"
        "group  first    elements\n"
        "------------------------\n"
        "1        A 1  62,348,671\n"
        "2       G 54        0.25\n");
}

TEST_CASE("of a long table the first rows are shown, and how many more there are") {
  OrderedJson document;
  document["tables"]["t"] = {{"columns", {"n"}}, {"rows", OrderedJson::array()}};
  for (int row = 1; row <= 20; ++row) document["tables"]["t"]["rows"].push_back(OrderedJson::array({row}));
  const std::string text = decided_tables(document);
  CHECK(text.find("\n16\n... and 4 more: --json has them all\n") != std::string::npos);
  CHECK(text.find("\n17\n") == std::string::npos);
}

TEST_CASE("nothing is shown of an algorithm that decides nothing") {
  CHECK(decided_tables(OrderedJson::object()).empty());
  CHECK(decided_tables({{"tables", OrderedJson::object()}}).empty());
}

}  // namespace simsgd::test::results_summary_tables
