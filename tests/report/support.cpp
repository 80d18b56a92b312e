#include "tests/report/support.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include "scenarios/language/axis_values.hpp"

namespace simsgd::test {

ResultPoint made_point(const std::vector<std::pair<std::string, nlohmann::ordered_json>>& coordinates,
                       std::int64_t seed, const std::map<std::string, double>& metrics) {
  ResultPoint point;
  for (const auto& [pointer, value] : coordinates) {
    const std::string label = value.is_string() ? value.get<std::string>() : value.dump();
    point.coordinates.push_back({axis_label(pointer), pointer, label, value});
    point.key += label + "/";
  }
  point.key += std::to_string(seed);
  point.label = point.key;
  point.seed = seed;
  point.status = RunStatus::ok;
  point.metrics = metrics;
  return point;
}

frame::RunDetails no_details() {
  return {[](const std::string&) { return nlohmann::ordered_json::object(); },
          [](const std::string&, const std::string&) { return std::vector<CurvePoint>(); },
          [](const std::string&) { return std::vector<ResultLink>(); },
          [] { return std::map<std::string, std::vector<std::string>>(); }};
}

faces::Chart chart_of(const ResultStudy& study, const std::string& name, const frame::RunDetails& details) {
  const faces::Report made = faces::make_report({study}, details, "made.db", {name});
  CAPTURE(name);
  REQUIRE(made.studies.at(0).charts.size() == 1);
  return made.studies[0].charts[0];
}

std::string left_out_of(const ResultStudy& study, const std::string& name) {
  const faces::Report made = faces::make_report({study}, no_details(), "made.db", {name});
  return made.studies.at(0).left_out.empty() ? "" : made.studies[0].left_out[0].why;
}

namespace {

std::vector<faces::Cell> cells(const faces::Chart& chart, const std::string& field) {
  std::vector<faces::Cell> found;
  for (std::size_t c = 0; c < chart.columns.size(); ++c)
    if (chart.columns[c].field == field)
      for (const auto& row : chart.rows) found.push_back(row.at(c));
  return found;
}

}  // namespace

std::vector<double> numbers(const faces::Chart& chart, const std::string& field) {
  std::vector<double> values;
  for (const faces::Cell& cell : cells(chart, field))
    values.push_back(std::holds_alternative<double>(cell) ? std::get<double>(cell) : std::nan(""));
  return values;
}

std::vector<std::string> texts(const faces::Chart& chart, const std::string& field) {
  std::vector<std::string> values;
  for (const faces::Cell& cell : cells(chart, field))
    values.push_back(std::holds_alternative<std::string>(cell) ? std::get<std::string>(cell) : "-");
  return values;
}

std::string script_of(const std::string& page, const std::string& id) {
  const std::size_t tag = page.find("id=\"" + id + "\">"), from = page.find('>', tag) + 1;
  REQUIRE(tag != std::string::npos);
  const std::string text = page.substr(from, page.find('<', from) - from);
  std::string packed;
  std::uint32_t bits = 0, count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    packed += static_cast<char>(bits >> count & 255);
  }
  std::string plain;
  plain.resize(100'000'000);
  z_stream stream = {};
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  plain.resize(stream.total_out);
  inflateEnd(&stream);
  return plain;
}

}  // namespace simsgd::test
