#include "analysis/faces/notebook.hpp"

#include <fmt/format.h>

#include "analysis/faces/page.hpp"
#include "analysis/faces/report_text.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::faces {

namespace {

constexpr std::size_t kMostRows = 50;  // of a table

/// One chart among others: what is said once for all of them is taken out, and its choices get a name of
/// their own.
Spec part_of_many(Spec spec, std::size_t number) {
  const Spec data = spec.at("data");
  for (const char* each : {"$schema", "config", "autosize", "params", "data"}) spec.erase(each);
  std::string text = spec.dump();
  const std::string picked = "\"picked\"", own = fmt::format("\"picked_{}\"", number);
  for (std::size_t at = 0; (at = text.find(picked, at)) != std::string::npos; at += own.size())
    text.replace(at, picked.size(), own);
  spec = Spec::parse(text);
  spec["data"] = data;
  return spec;
}

Spec together(const std::vector<Spec>& specs) {
  if (specs.size() == 1) return specs.front();
  Spec all = {{"$schema", specs.front().at("$schema")},
              {"config", specs.front().at("config")},
              {"params", specs.front().at("params")},
              {"resolve", {{"scale", {{"color", "independent"}, {"shape", "independent"}}}}},
              {"vconcat", Spec::array()}};
  for (std::size_t i = 0; i < specs.size(); ++i) all["vconcat"].push_back(part_of_many(specs[i], i + 1));
  return all;
}

/// Adds the best picture that can be drawn here; what is missing is told by nobody.
void add_picture(const Spec& spec, Spec& bundle) {
  try {
    const std::string svg = drawn_svg(find_vl2svg(), spec.dump());
    bundle["image/svg+xml"] = svg;
    bundle["image/png"] = base64(converted(find_svg_converter({"png"}), svg));
    bundle.erase("image/svg+xml");
  } catch (const ConfigError&) {
  }
}

}  // namespace

std::string notebook_bundle(const Report& report, const FigureSettings& settings) {
  std::vector<Spec> specs;
  std::string text, tables;
  for (const StudyReport& study : report.studies)
    for (const Chart& chart : study.charts) {
      Chart shown = chart;
      shown.rows = rows_shown_first(chart);
      specs.push_back(standalone(shown, shown.rows, settings));
      if (specs.size() > 1) specs.back()["title"] = chart.title;
      text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", chart.title, chart.caption);
      Table table = table_of(shown, kMostRows);
      table.title = chart.title;
      table.notes = {chart.caption};
      tables += formatted(table, TableFormat::html);
    }
  Spec bundle = Spec::object();
  if (!specs.empty()) {
    if (specs.size() > 1) specs.front()["title"] = report.studies.front().charts.front().title;
    const Spec all = together(specs);
    bundle["text/plain"] = text;
    for (const char* version : {"5", "6"})  // notebooks that know 5 draw 6
      bundle[fmt::format("application/vnd.vegalite.v{}+json", version)] = all;
    add_picture(all, bundle);
    if (!bundle.contains("image/png") && !bundle.contains("image/svg+xml")) bundle["text/html"] = tables;
  }
  return bundle.dump(-1, ' ', false, Spec::error_handler_t::replace) + "\n";
}

}  // namespace simsgd::faces
