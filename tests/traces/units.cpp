// Units of headers and maps, names of operations, and words of lines.
#include <doctest/doctest.h>

#include "traces/imported_file.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::test::traces_units {

TEST_CASE("a quantity's name ends with its unit") {
  CHECK(dimension_of_quantity("time_s") == Dimension::time_s);
  CHECK(dimension_of_quantity("throughput_samples_per_s") == Dimension::number);
  CHECK(dimension_of_quantity("bytes_sent_per_worker_per_step") == Dimension::number);
  CHECK(dimension_of_quantity("bandwidth_Bps") == Dimension::rate_Bps);
  CHECK(dimension_of_quantity("memory_bytes") == Dimension::bytes);
  CHECK(dimension_of_quantity("loss") == Dimension::number);
}

TEST_CASE("units of a dimension, and no others") {
  double scale = 0;
  CHECK(unit_scale("us", Dimension::time_s, scale));
  CHECK(scale == 1e-6);
  CHECK(unit_scale("Gbps", Dimension::rate_Bps, scale));
  CHECK(scale == 1.25e8);
  CHECK(unit_scale("samples/s", Dimension::number, scale));
  CHECK(scale == 1);
  CHECK(unit_scale("%", Dimension::number, scale));
  CHECK(scale == 0.01);
  for (const char* unit : {"", "GB", "1", "5 us", "furlongs", "/s"}) {
    CAPTURE(unit);
    CHECK_FALSE(unit_scale(unit, Dimension::time_s, scale));
  }
  CHECK_FALSE(unit_scale("us", Dimension::number, scale));
  CHECK_FALSE(unit_scale("/s", Dimension::number, scale));
}

TEST_CASE("a decimal number of a smaller unit becomes the nearest double of the larger") {
  CHECK(in_si(332.4, 1e-6) == 332.4e-6);
  CHECK(332.4 * 1e-6 != 332.4e-6);
  CHECK(in_si(92790, 1e-9) == 92790e-9);
  CHECK(in_si(3, 1024) == 3072);
  CHECK(in_si(50, 0.01) == 0.5);
  CHECK(in_si(2, 60) == 120);
}

TEST_CASE("operations by the names that others use") {
  CHECK(operation_from("AllReduce") == "all_reduce");
  CHECK(operation_from("./build/all_reduce_perf") == "all_reduce");
  CHECK(operation_from("alltoall_perf") == "all_to_all");
  CHECK(operation_from("Reduce_scatter") == "reduce_scatter");
  CHECK(operation_from("ncclDevKernel").empty());
  CHECK(operation_from("").empty());
}

TEST_CASE("numbers are whole words, finite, in decimals") {
  double number = 0;
  int count = 0;
  CHECK(read_number("1e3", number));
  CHECK(number == 1000);
  for (const char* text : {"", " 1", "1 ", "nan", "inf", "1e999", "0x10", "1,5", "+1"}) {
    CAPTURE(text);
    CHECK_FALSE(read_number(text, number));
  }
  CHECK(read_count("8", 1, count));
  CHECK_FALSE(read_count("0", 1, count));
  CHECK_FALSE(read_count("2.5", 1, count));
  CHECK_FALSE(read_count("2147483648", 1, count));
}

TEST_CASE("only what mpirun and srun write before a line is taken from it") {
  CHECK(without_process("[1,0]<stdout>:# x") == "# x");
  CHECK(without_process("[1,0]<stdin>:# x") == "[1,0]<stdin>:# x");
  CHECK(without_process("[1,0") == "[1,0");
  CHECK(without_process("12: # x") == "# x");
  CHECK(without_process("   8   2 float") == "   8   2 float");
  CHECK(without_process("") == "");
}

}  // namespace simsgd::test::traces_units
