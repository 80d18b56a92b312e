// Pointers, and where values come from.
#include "scenarios/language/errors.hpp"

#include <doctest/doctest.h>

namespace simsgd::test::scenarios_provenance {

TEST_CASE("a value comes from where its nearest known ancestor comes from") {
  Provenance origins;
  origins.replace("", {"s.json", ""});
  origins.replace("/cluster/nic", {"c.json", "/nic"});
  CHECK(origins.at("/cluster/nic/bandwidth") == Origin{"c.json", "/nic/bandwidth"});
  CHECK(origins.at("/cluster/nics") == Origin{"s.json", "/cluster/nics"});
  origins.replace("/cluster", {"--set", "/cluster"});
  CHECK(origins.at("/cluster/nic") == Origin{"--set", "/cluster/nic"});
}

TEST_CASE("pointers escape ~ and /") {
  CHECK(child("/a", "b/c~d") == "/a/b~1c~0d");
  CHECK(child("", std::size_t{3}) == "/3");
  CHECK(tokens("/a/b~1c~0d") == std::vector<std::string>{"a", "b/c~d"});
  CHECK(tokens("/a//b") == std::vector<std::string>{"a", "", "b"});
  CHECK(tokens("").empty());
  CHECK(last_key("/a/b~1c") == "b/c");
  CHECK(parent("/a/b") == "/a");
  CHECK(parent("/a") == "");
  CHECK(within("/a/b", "/a"));
  CHECK(within("/a", ""));
  CHECK(!within("/ab", "/a"));
}

}  // namespace simsgd::test::scenarios_provenance
