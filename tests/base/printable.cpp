#include "sim/base/printable.hpp"

#include <doctest/doctest.h>

namespace simsgd::test::base_printable {

TEST_CASE("control characters are written out, and everything else stays") {
  CHECK(printable("plain, \xC3\xA9 and \xE2\x82\xAC") == "plain, \xC3\xA9 and \xE2\x82\xAC");
  CHECK(printable("a\x1b[31mred\nline\x7f") == "a\\u001b[31mred\\nline\\u007f");
  CHECK(printable("\xC2\x9B[2J") == "\\u009b[2J");              // the control sequence introducer of 8 bits
  CHECK(printable("\x9B[2J\xE2\x82") == "\\x9b[2J\\xe2\\x82");  // no UTF-8
  CHECK(printable_lines("one\ntwo\t") == "one\ntwo\\u0009");
}

TEST_CASE("a cell of a CSV file is quoted, printable, and no formula") {
  CHECK(csv_cell("plain text") == "plain text");
  CHECK(csv_cell("a,\"b\"") == "\"a,\"\"b\"\"\"");
  CHECK(csv_cell("red\x1b[31m\nline") == "red\\u001b[31m\\nline");
  CHECK(csv_cell("=1+2") == "'=1+2");
  CHECK(csv_cell("@SUM(A1)") == "'@SUM(A1)");
  for (const char* plain : {"-1.5", "+2", "-", "-1e-3"}) CHECK(csv_cell(plain) == plain);
}

}  // namespace simsgd::test::base_printable
