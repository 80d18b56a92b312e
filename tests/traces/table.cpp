// Our own table: written, and read back the same.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/traces/imports.hpp"
#include "traces/import.hpp"
#include "traces/measurements.hpp"

namespace simsgd::test::traces_table {

using namespace traces;

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

}  // namespace simsgd::test::traces_table
