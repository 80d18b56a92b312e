// Records of CSV, and what a file is read by.
#include <doctest/doctest.h>

#include "tests/traces/imports.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::test::traces_csv {

using namespace traces;

namespace {

using Records = std::vector<std::vector<std::string>>;

Records records(const std::string& text, char separator = ',', char comment = 0) {
  Input input("f", text);
  CsvReader reader(input, separator, comment);
  Records all;
  for (std::vector<std::string> fields; reader.record(fields);) all.push_back(fields);
  return all;
}

}  // namespace

TEST_CASE("records of RFC 4180: quotation marks, line ends in fields, CRLF, a byte order mark") {
  CHECK(records("\xEF\xBB\xBF"
                "a,b\r\n1,\"x, \"\"y\"\"\"\r\n\r\n\"two\nlines\",\n") ==
        Records{{"a", "b"}, {"1", "x, \"y\""}, {"two\nlines", ""}});
  CHECK(records("a;b;c\n", ';') == Records{{"a", "b", "c"}});
  CHECK(records("  a \t b\n# remark\nc\n", 0, '#') == Records{{"a", "b"}, {"c"}});
  CHECK(records("").empty());
  CHECK(records(",") == Records{{"", ""}});
  CHECK(records("\"never closed,1\n2,3\n") == Records{{"never closed,1\n2,3"}});
}

TEST_CASE("what is written as a field is read as it was") {
  std::string alphabet = ",\"\r\n ab;'\\";
  std::uint64_t state = 1;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string field;
    for (int i = 0; i < trial % 7; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      field += alphabet[(state >> 33U) % alphabet.size()];
    }
    // The end of a line inside of a field is "\n": "\r\n" there loses its "\r".
    for (std::size_t at = field.find("\r\n"); at != std::string::npos; at = field.find("\r\n"))
      field.erase(at, 1);
    std::string line = "x,";
    append_csv(line, field);
    CAPTURE(line);
    CHECK(records(line + ",y\n") == Records{{"x", field, "y"}});
  }
}

TEST_CASE("lines of a compressed file, across the chunks that it is read in; one that is cut tells") {
  const Files files;
  std::string text;
  for (int i = 0; i < 300000; ++i) text += "line " + std::to_string(i) + "\n";
  Input whole(files.compress("a.gz", text));
  std::string again;
  for (std::string_view line; whole.line(line);) again += std::string(line) + "\n";
  CHECK(again == text);
  CHECK(whole.line_number() == 300000);
  CHECK_FALSE(whole.cut());

  std::ifstream file(files.compress("b.gz", text), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Input half(files.write("c.gz", bytes.substr(0, bytes.size() / 2)));
  std::size_t count = 0;
  for (std::string_view line; half.line(line);) ++count;
  CHECK(count > 1000);
  CHECK(count < 300000);
  CHECK(half.cut());

  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  Input damaged(files.write("d.gz", bytes));
  CHECK_THROWS_AS(damaged.rest(), ConfigError);
}

TEST_CASE("the last line may lack its end, and that shows") {
  Input input("f", "a\r\nb");
  std::string_view line;
  CHECK(input.head() == "a\r\nb");
  REQUIRE(input.line(line));
  CHECK(line == "a");
  CHECK(input.line_ended());
  REQUIRE(input.line(line));
  CHECK(line == "b");
  CHECK_FALSE(input.line_ended());
  CHECK_FALSE(input.line(line));
}

}  // namespace simsgd::test::traces_csv
