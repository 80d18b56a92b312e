#include "analysis/faces/page.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "analysis/faces/report_text.hpp"
#include "analysis/faces/vega.hpp"
#include "sim/base/check.hpp"

namespace simsgd::faces {

namespace {

double short_number(double value) { return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr); }

Spec column_data(const Chart& chart, std::size_t c, const CommonUnit& shown) {
  const Column& column = chart.columns[c];
  Spec made = {
      {"field", column.field}, {"name", column.name}, {"title", column.title}, {"unit", column.unit}};
  if (!column.unit.empty())
    made["shown"] = {{"unit", shown.name}, {"size", shown.size}, {"decimals", shown.decimals}};
  Spec values = Spec::array(), texts = Spec::array();
  std::map<std::string, std::size_t> places;
  for (const std::vector<Cell>& row : chart.rows) {
    if (const std::string* text = std::get_if<std::string>(&row[c])) {
      const auto [found, fresh] = places.try_emplace(*text, texts.size());
      if (fresh) texts.push_back(*text);
      values.push_back(found->second);
    } else if (const double* number = std::get_if<double>(&row[c]); number && std::isfinite(*number)) {
      values.push_back(short_number(*number));
    } else {
      values.push_back(nullptr);
    }
  }
  if (!texts.empty()) made["texts"] = std::move(texts);
  made["values"] = std::move(values);
  return made;
}

Spec chart_data(const Report& report, const Chart& chart) {
  Spec columns = Spec::array();
  const std::vector<CommonUnit> units = units_of(chart);
  for (std::size_t c = 0; c < chart.columns.size(); ++c) columns.push_back(column_data(chart, c, units[c]));
  return {{"name", chart.name},
          {"title", chart.title},
          {"caption", chart.caption},
          {"description", chart.description},
          {"command", command_of(report, chart)},
          {"filters", chart.filters},
          {"columns", std::move(columns)},
          {"spec", vega(chart)}};
}

Spec headline_data(const StudyReport& study) {
  if (!study.headline) return nullptr;
  const Table& table = *study.headline;
  return {{"title", table.title}, {"header", table.header}, {"rows", table.rows}, {"notes", table.notes}};
}

std::string theme(bool dark) {
  std::string text;
  for (const PaletteColour& colour : palette())
    text += fmt::format("--{}:{};", colour.name, dark ? colour.dark : colour.light);
  return text;
}

}  // namespace

// Okabe and Ito, Color Universal Design, 2008, darker where white paper asks for it and lighter on black.
const std::vector<PaletteColour>& palette() {
  static const std::vector<PaletteColour> colours = {
      {"s1", "#0067a5", "#5ab4f0"},    {"s2", "#d55e00", "#f5803e"},   {"s3", "#008f6b", "#2cc49a"},
      {"s4", "#b8508c", "#e28fbe"},    {"s5", "#b07d00", "#e8b83a"},   {"s6", "#4a90c4", "#a6d4f2"},
      {"s7", "#6b4fa0", "#b39ddb"},    {"s8", "#6f6f6f", "#a8a8a8"},   {"ink", "#1c2430", "#e8ebef"},
      {"muted", "#5b6675", "#9aa5b3"}, {"rule", "#e3e7ec", "#2c343f"}, {"paper", "#ffffff", "#12161c"},
      {"bad", "#c0392b", "#ff7b6b"},
  };
  return colours;
}

Spec chart_config() {
  const char* const font =
      "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  return {{"background", nullptr},
          {"font", font},
          {"view", {{"stroke", nullptr}}},
          {"axis",
           {{"labelColor", "var(--muted)"},
            {"titleColor", "var(--muted)"},
            {"titleFontWeight", 500},
            {"titleFontSize", 12},
            {"labelFontSize", 12},
            {"titlePadding", 10},
            {"labelPadding", 6},
            {"gridColor", "var(--rule)"},
            {"domainColor", "var(--rule)"},
            {"tickColor", "var(--rule)"},
            {"ticks", false},
            {"domain", false},
            {"labelLimit", 260}}},
          {"axisX", {{"grid", false}, {"domain", true}, {"ticks", true}}},
          {"axisQuantitative", {{"labelOverlap", true}, {"labelSeparation", 8}, {"tickCount", 7}}},
          {"legend",
           {{"labelColor", "var(--ink)"},
            {"titleColor", "var(--muted)"},
            {"titleFontWeight", 500},
            {"titleFontSize", 12},
            {"labelFontSize", 12},
            {"labelLimit", 260},
            {"symbolSize", 90},
            {"symbolOpacity", 1},
            {"orient", "top"},
            {"direction", "horizontal"},
            {"titleAnchor", "start"}}},
          {"text", {{"color", "var(--ink)"}, {"fontSize", 12}}},
          {"rule", {{"color", "var(--muted)"}}},
          {"line", {{"strokeWidth", 2}}}};
}

nlohmann::ordered_json page_data(const Report& report) {
  Spec studies = Spec::array();
  for (const StudyReport& study : report.studies) {
    Spec charts = Spec::array(), left_out = Spec::array(), axes = Spec::array();
    for (const Chart& chart : study.charts) charts.push_back(chart_data(report, chart));
    for (const LeftOutChart& each : study.left_out)
      left_out.push_back({{"title", each.title}, {"why", each.why}});
    for (const ChartAxis& axis : study.axes)
      axes.push_back({{"field", axis.field}, {"name", axis.name}, {"labels", axis.labels}});
    studies.push_back({{"name", study.name},
                       {"file", study.file},
                       {"points", study.points},
                       {"done", study.done},
                       {"failed", study.failed},
                       {"seeds", study.seeds},
                       {"errors", study.errors},
                       {"notes", study.notes},
                       {"axes", axes},
                       {"series", study.series},
                       {"headline", headline_data(study)},
                       {"charts", charts},
                       {"left_out", left_out}});
  }
  return {{"store", report.store}, {"config", chart_config()}, {"studies", studies}};
}

std::string html_page(const Report& report, const PageSettings& settings) {
  // Names may hold bytes that are not UTF-8: they are replaced, not thrown at.
  const std::string data =
      page_data(report).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  page += settings.live ? "; connect-src 'self'\">\n" : "\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n";
  page += "<title>" + html_text(report.store) + " - SimSGD</title>\n<style>\n";
  page += ":root{" + theme(false) + "}\n@media screen and (prefers-color-scheme:dark){:root{" + theme(true) +
          "}}\n";
  page += page_css() + settings.style +
          "</style>\n</head>\n<body>\n<main id=\"page\"><p class=\"loading\">Drawing…</p></main>\n";
  page +=
      "<noscript><p>The charts are drawn by JavaScript, which this browser does not run. simsgd report --format md gives the same numbers as text.</p></noscript>\n";
  page += "<script type=\"application/gzip\" id=\"libraries\">" + base64(gzip(settings.libraries)) +
          "</script>\n";
  page += "<script type=\"application/gzip\" id=\"report\">" + base64(gzip(data)) + "</script>\n";
  page += "<script>\n" + page_js() + settings.script + "</script>\n</body>\n</html>\n";
  return page;
}

std::string gzip(const std::string& data) {
  z_stream stream = {};
  constexpr int kGzipWindow = 15 + 16, kMemory = 8;
  int state = deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY);
  CHECK(state == Z_OK, "zlib has no memory");
  std::string packed(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  state = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  CHECK(state == Z_STREAM_END, "a page's data fit into zlib's own bound");
  return packed;
}

std::string base64(const std::string& data) {
  static const char* const kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(data.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return k < data.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(data[k])) : 0U;
    };
    const std::uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kDigits[bits >> 18 & 63];
    text += kDigits[bits >> 12 & 63];
    text += i + 1 < data.size() ? kDigits[bits >> 6 & 63] : '=';
    text += i + 2 < data.size() ? kDigits[bits & 63] : '=';
  }
  return text;
}

}  // namespace simsgd::faces
