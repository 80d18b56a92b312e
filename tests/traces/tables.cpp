// Records of CSV, and what a file is read by.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/traces/imports.hpp"
#include "traces/import.hpp"
#include "traces/imported_file.hpp"
#include "traces/measurements.hpp"
#include "traces/names.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::test::traces_tables {

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

// Our own table: written, and read back the same.

namespace {

std::string written(const std::vector<Measurement>& rows) {
  std::string text;
  write_measurement_table(rows, [&text](const std::string& piece) { text += piece; });
  return text;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same(const Measurement& a, const Measurement& b) {
  return a.quantity == b.quantity && a.operation == b.operation && a.workers == b.workers &&
         a.nodes == b.nodes && same(a.bytes, b.bytes) && same(a.value, b.value) &&
         same(a.deviation, b.deviation) && a.samples == b.samples && a.campaign == b.campaign &&
         a.labels == b.labels && a.source == b.source && a.line == b.line;
}

std::vector<Measurement> samples() {
  Measurement full;
  full.quantity = "time_s";
  full.operation = "all_reduce";
  full.workers = 8;
  full.nodes = 2;
  full.bytes = 17179869184.0;
  full.value = 0.1 + 0.2;  // 17 digits
  full.deviation = 5e-324;
  full.samples = 20;
  full.campaign = "monday, \"early\"";
  full.labels = {{"type", "float"}, {"note", " two\nlines "}};
  full.source = "a,b.log";
  full.line = 7;
  Measurement bare;
  bare.quantity = "loss";
  bare.value = -1.7976931348623157e308;
  bare.source = "x";
  bare.labels = {{"a", "1"}};
  return {full, bare};
}

}  // namespace

TEST_CASE("the table has a column for each field and label, and empty cells for what is not given") {
  CHECK(
      written(samples()) ==
      "quantity,operation,workers,nodes,bytes,value_SI,deviation_SI,samples,campaign,source,line,a,note,type\n"
      "time_s,all_reduce,8,2,17179869184,0.30000000000000004,5e-324,20,\"monday, \"\"early\"\"\",\"a,b.log\",7,,\" two\nlines \",float\n"
      "loss,,,,,-1.7976931348623157e+308,,1,,x,,1,,\n");
}

TEST_CASE("what is read of a table is what was written, rows in their order") {
  const std::vector<Measurement> rows = samples();
  const Measurements again = imported(written(rows));
  REQUIRE(again.rows.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(same(again.rows[i], rows[i]));
  }
  CHECK(written(again.rows) == written(rows));
  CHECK(again.reports.at(0).format == "measurements");
}

TEST_CASE("docs/import.md has every column as the code says it, every format, and every key of maps") {
  std::ifstream file(SIMSGD_SOURCE_DIR "/docs/import.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string table = "| column | unit | definition |\n|---|---|---|\n";
  for (const MeasurementColumn& column : measurement_columns())
    table += "| `" + std::string(column.name) + "` | " + column.unit + (*column.unit == 0 ? "| " : " | ") +
             column.definition + " |\n";
  CHECK(page.find(table) != std::string::npos);
  for (const ImportFormat& format : import_formats()) {
    CAPTURE(format.info.name);
    CHECK(page.find("`" + format.info.name + "`") != std::string::npos);
    nlohmann::json form;
    format.form(form);
    for (const auto& property : form["properties"].items()) {
      CAPTURE(property.key());
      CHECK((property.key() == "name" || page.find("`" + property.key() + "`") != std::string::npos));
    }
  }
}

// Units of headers and maps, names of operations, and words of lines.

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

}  // namespace simsgd::test::traces_tables
