// Texts of errors, suggestions, and the two kinds of failure.
#include "sim/base/errors.hpp"

#include "sim/base/check.hpp"
#include "tests/support/refusal.hpp"

namespace {

constexpr int kLine = __LINE__ + 1;
void require_positive(int x) { CHECK(x > 0, "x must be positive"); }

}  // namespace

#undef CHECK  // from here on doctest's
#include <doctest/doctest.h>

namespace simsgd::test::base_errors {

TEST_CASE("an input error reads file:pointer: problem. Found: x. remedy.") {
  const InputError error{.file = "a.json",
                         .pointer = "/optimizer/momentum",
                         .problem = "is above 1",
                         .found = "1.5",
                         .remedy = "Use a number from 0 to 1"};
  CHECK(error.text() == "a.json:/optimizer/momentum: is above 1. Found: 1.5. Use a number from 0 to 1.");
}

TEST_CASE("parts that an input error does not have are left out") {
  CHECK(InputError{.file = "a.json", .pointer = "/x", .problem = "is missing", .found = "", .remedy = ""}
            .text() == "a.json:/x: is missing.");
}

TEST_CASE("a ConfigError lists all its errors, one on each line") {
  const InputError one{"a.json", "/x", "is missing", "", "Give it"};
  const InputError two{"a.json", "/y", "is not a number", "\"z\"", ""};
  const ConfigError error({one, two});
  CHECK(std::string(error.what()) ==
        "a.json:/x: is missing. Give it.\na.json:/y: is not a number. Found: \"z\".");
  CHECK(error.errors().size() == 2);
  CHECK(ConfigError(one).errors().size() == 1);
}

TEST_CASE("the nearest name is the one with the fewest letters changed, if it could be a misspelling") {
  const std::vector<std::string> valid = {"learning_rate", "momentum", "nesterov"};
  CHECK(nearest("momentun", valid) == "momentum");  // one letter replaced
  CHECK(nearest("momntum", valid) == "momentum");   // one left out
  CHECK(nearest("learning_rates", valid) == "learning_rate");
  CHECK(nearest("learnig_rtae", valid) == "learning_rate");  // three of twelve
  CHECK(nearest("rnu", {"run"}) == "run");                   // two swapped
  CHECK(nearest("batch", valid) == "");
  CHECK(nearest("x", {}) == "");
}

TEST_CASE("of names equally near, the first is suggested") { CHECK(nearest("mat", {"cat", "bat"}) == "cat"); }

TEST_CASE("one_of joins names with commas and a final or") {
  CHECK(one_of({}) == "");
  CHECK(one_of({"a"}) == "a");
  CHECK(one_of({"a", "b"}) == "a or b");
  CHECK(one_of({"a", "b", "c"}) == "a, b or c");
}

TEST_CASE("CHECK names the place, the sentence and the condition, in every build type") {
  CHECK_NOTHROW(require_positive(1));
  const std::string text = refusal_of<InternalError>([&] { require_positive(0); });
  CHECK(text == std::string(__FILE__) + ":" + std::to_string(kLine) + ": x must be positive (x > 0)");
}

}  // namespace simsgd::test::base_errors
