// Quantities: every unit, and what is said of a wrong one.
#include <doctest/doctest.h>

#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd::test::base_units {

namespace {

struct Example {
  std::string text;
  double value;
};

void check_all(Dimension dimension, const std::vector<Example>& examples) {
  for (const Example& example : examples) {
    CAPTURE(example.text);
    const ParsedQuantity parsed = parse_quantity(example.text, dimension);
    CHECK(parsed.ok);
    CHECK(parsed.value == doctest::Approx(example.value).epsilon(1e-15));
  }
}

std::string problem(std::string_view text, Dimension dimension) {
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  return parsed.ok ? "" : parsed.problem;
}

}  // namespace

TEST_CASE("every unit of time") {
  check_all(Dimension::time_s, {{"2 s", 2},
                                {"2 ms", 2e-3},
                                {"2 us", 2e-6},
                                {"2 \xC2\xB5s", 2e-6},
                                {"2 ns", 2e-9},
                                {"2 min", 120},
                                {"2 h", 7200},
                                {"0.5ms", 5e-4},
                                {"1e-3 s", 1e-3},
                                {"0.25", 0.25}});
}

TEST_CASE("every unit of bytes: k, M, G, T, P are powers of 1000, Ki, Mi, Gi, Ti of 1024") {
  check_all(Dimension::bytes, {{"3 B", 3},
                               {"3 kB", 3e3},
                               {"3 KB", 3e3},
                               {"3 MB", 3e6},
                               {"3 GB", 3e9},
                               {"3 TB", 3e12},
                               {"3 PB", 3e15},
                               {"3 KiB", 3072},
                               {"3 MiB", 3145728},
                               {"3 GiB", 3221225472.0},
                               {"3 TiB", 3298534883328.0},
                               {"1234", 1234}});
}

TEST_CASE("every unit of bandwidth: bits are eighths of bytes") {
  check_all(Dimension::rate_Bps, {{"8 B/s", 8},
                                  {"8 kB/s", 8e3},
                                  {"8 MB/s", 8e6},
                                  {"25 GB/s", 25e9},
                                  {"8 TB/s", 8e12},
                                  {"8 PB/s", 8e15},
                                  {"1 KiB/s", 1024},
                                  {"1 MiB/s", 1048576},
                                  {"1 GiB/s", 1073741824.0},
                                  {"1 TiB/s", 1099511627776.0},
                                  {"8 bps", 1},
                                  {"8 kbps", 1e3},
                                  {"8 Mbps", 1e6},
                                  {"10 Gbps", 1.25e9},
                                  {"8 Tbps", 1e12},
                                  {"8 Gb/s", 1e9},
                                  {"8 Gbit/s", 1e9},
                                  {"100Gbps", 12.5e9}});
}

TEST_CASE("every unit of operations, of their rate, and of power") {
  check_all(Dimension::flop, {{"4.1 GFLOP", 4.1e9},
                              {"2 FLOP", 2},
                              {"2 kFLOP", 2e3},
                              {"2 MFLOP", 2e6},
                              {"2 TFLOP", 2e12},
                              {"2 PFLOP", 2e15}});
  check_all(
      Dimension::rate_flops,
      {{"15.7 TFLOPS", 15.7e12}, {"2 GFLOP/s", 2e9}, {"2 GFLOPs", 2e9}, {"2 PFLOPS", 2e15}, {"2 FLOPS", 2}});
  check_all(Dimension::power_W, {{"300 W", 300}, {"0.3 kW", 300}, {"300 mW", 0.3}, {"300", 300}});
  check_all(Dimension::number, {{"0.5", 0.5}, {"-2e3", -2000}});
}

TEST_CASE("a unit of another dimension is refused by name") {
  CHECK(problem("5 GB", Dimension::time_s) == "has the unit \"GB\", which is not a unit of time");
  CHECK(problem("5 us", Dimension::bytes) == "has the unit \"us\", which is not a unit of bytes");
  CHECK(problem("5 GB", Dimension::rate_Bps) == "has the unit \"GB\", which is not a unit of bandwidth");
  CHECK(problem("5 TFLOPS", Dimension::flop) == "has the unit \"TFLOPS\", which is not a unit of flop");
  CHECK(problem("5 TFLOP", Dimension::rate_flops) == "has the unit \"TFLOP\", which is not a unit of flops");
  CHECK(problem("5 V", Dimension::power_W) == "has the unit \"V\", which is not a unit of power");
  CHECK(problem("5 gbps", Dimension::rate_Bps) == "has the unit \"gbps\", which is not a unit of bandwidth");
}

TEST_CASE("what is not a finite number is refused") {
  for (const char* text : {"", "fast", "us", "nan", "inf", "-inf s", "1e999", " "}) {
    CAPTURE(text);
    CHECK(problem(text, Dimension::time_s) == "is not a number with a unit");
  }
}

TEST_CASE("dimensions have names that lead back to them, and examples that parse") {
  for (const Dimension dimension : {Dimension::time_s, Dimension::bytes, Dimension::rate_Bps, Dimension::flop,
                                    Dimension::rate_flops, Dimension::power_W, Dimension::number}) {
    CAPTURE(dimension_name(dimension));
    Dimension found{};
    CHECK(dimension_from_name(dimension_name(dimension), found));
    CHECK(found == dimension);
    // The text between the first two quotation marks of an example is a quantity of the dimension.
    const std::string_view example = dimension_example(dimension);
    if (const std::size_t begin = example.find('"'); begin != std::string_view::npos) {
      const std::string_view quoted = example.substr(begin + 1, example.find('"', begin + 1) - begin - 1);
      CHECK(parse_quantity(quoted, dimension).ok);
    }
  }
  Dimension none{};
  CHECK(!dimension_from_name("length", none));
}

TEST_CASE("durations, sizes and numbers for people") {
  CHECK(human_time(0) == "0 s");
  CHECK(human_time(5e-9) == "5 ns");
  CHECK(human_time(1.5e-6) == "1.5 us");
  CHECK(human_time(0.0123) == "12.3 ms");
  CHECK(human_time(59.94) == "59.9 s");
  CHECK(human_time(7200) == "7,200 s");
  CHECK(human_time(720000) == "200 h");
  CHECK(human_bytes(12) == "12 B");
  CHECK(human_bytes(1536) == "1.54 kB");
  CHECK(human_bytes(102.4e6) == "102 MB");
  CHECK(human_bytes(16e9) == "16 GB");
  CHECK(human_bytes(2.5e12) == "2.5 TB");
  CHECK(human_number(12.34) == "12.3");
  CHECK(human_number(999) == "999");
  CHECK(human_number(12345) == "12,345");
  CHECK(human_number(47040016) == "47,040,016");
  CHECK(human_number(-1234567) == "-1,234,567");
}

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

}  // namespace simsgd::test::base_units
