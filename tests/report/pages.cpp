// Pages, text and figures: what they hold, that no label breaks out of them, how large they are.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include "analysis/faces/figures.hpp"
#include "analysis/faces/page.hpp"
#include "analysis/faces/report_text.hpp"
#include "results/atomic_file.hpp"
#include "sim/base/errors.hpp"
#include "tests/report/support.hpp"

namespace simsgd::test::report_pages {

using Json = nlohmann::ordered_json;

namespace {

const std::string kEvil = "</script><script>alert(1)</script> \"quoted\", it's & <b>";

ResultStudy evil_study() {
  std::vector<ResultPoint> points;
  for (const int workers : {2, 4})
    points.push_back(
        made_point({{"/algorithm", kEvil}, {"/cluster/workers", workers}}, 1,
                   {{"scaling_efficiency", 0.5}, {"compute_s", 0.1}, {"iteration_time_mean_s", 0.1}}));
  points.push_back(
      made_point({{"/algorithm", "a|b*c"}, {"/cluster/workers", 2}}, 1, {{"scaling_efficiency", 0.25}}));
  return {"id", kEvil, "made.json", {}, points};
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

// 10,000 timing-only runs at every combination of five axes.
ResultStudy many_runs() {
  std::vector<ResultPoint> points;
  const int algorithms = 8, severities = 5, shares = 5, densities = 10, seeds = 5;
  for (int a = 0; a < algorithms; ++a)
    for (int v = 0; v < severities; ++v)
      for (int s = 0; s < shares; ++s)
        for (int d = 0; d < densities; ++d)
          for (int seed = 1; seed <= seeds; ++seed) {
            const double x = std::sin(a * 12.9 + v * 78.2 + s * 37.7 + d * 3.1 + seed * 0.7),
                         time = 1.5 + x / 3;
            points.push_back(made_point({{"/algorithm", "algorithm " + std::to_string(a)},
                                         {"/stragglers/0/factor", 1 + 0.5 * v},
                                         {"/stragglers/0/count", 1 << s},
                                         {"/cluster/workers", 16 << (d % 5)},
                                         {"/network/fidelity", d / 5 ? "steps" : "flows"}},
                                        seed,
                                        {{"scaling_efficiency", 0.6 + x / 10},
                                         {"throughput_samples_per_s", 1000 / time},
                                         {"iteration_time_mean_s", time},
                                         {"iteration_time_p50_s", time},
                                         {"iteration_time_p95_s", time * 1.1},
                                         {"iteration_time_p5_s", time * 0.9},
                                         {"iteration_time_p25_s", time * 0.95},
                                         {"iteration_time_p75_s", time * 1.05},
                                         {"compute_s", 1.0},
                                         {"straggle_s", 0.1},
                                         {"communication_exposed_s", time - 1.3},
                                         {"wait_s", 0.2},
                                         {"simulated_time_s", 30.0}}));
          }
  return {"id", "ten thousand runs", "many.json", {}, points};
}

}  // namespace

TEST_CASE("no label is HTML, nor ends a script: in the page, its data, Markdown") {
  const faces::Report made = faces::make_report({evil_study()}, no_details(), "</title><b>'\"&.db");
  const std::string page = faces::html_page(made, {"var vega = 1;", false});
  CHECK(count_of(page, "</script") == 3);  // libraries, data, script of the page
  CHECK(count_of(page, "alert") == 0);
  CHECK(count_of(page, "<title>&lt;/title&gt;&lt;b&gt;&#39;&quot;&amp;.db - SimSGD</title>") == 1);
  CHECK(count_of(page, "http") == count_of(page, "http-equiv"));  // nothing to load
  CHECK(script_of(page, "libraries") == "var vega = 1;");
  const Json data = Json::parse(script_of(page, "report"));
  CHECK(data["studies"][0]["name"] == kEvil);
  CHECK(data["studies"][0]["axes"][0]["labels"][0] == kEvil);
  std::istringstream markdown(faces::report_markdown(made));
  bool shown = false;
  for (std::string line; std::getline(markdown, line);) {
    CAPTURE(line);
    if (!line.starts_with("    ")) CHECK(line.find('<') == std::string::npos);  // code is shown as it is
    shown = shown || line.find("a\\|b\\*c") != std::string::npos;
  }
  CHECK(shown);
}

TEST_CASE("a page's data are the charts' rows") {
  const faces::Report made = faces::make_report({evil_study()}, no_details(), "s.db");
  const Json data = faces::page_data(made);
  const Json& chart = data["studies"][0]["charts"][0];
  CHECK(chart["name"] == "speedup");
  CHECK(chart["command"] == "simsgd report s.db --chart speedup --figures figures");
  const Json& columns = chart["columns"];
  CHECK(columns[0]["texts"] == Json({kEvil, "a|b*c"}));
  CHECK(columns[0]["values"] == Json({0, 0, 1}));
  CHECK(columns[3]["field"] == "value");
  CHECK(columns[3]["values"] == Json({1.0, 2.0, 0.5}));
  CHECK(columns[4]["values"] == Json({nullptr, nullptr, nullptr}));
}

TEST_CASE("CSV: RFC 4180, one tidy table of all charts") {
  const faces::Report made =
      faces::make_report({evil_study()}, no_details(), "s.db", {"speedup", "efficiency"});
  const std::string quoted = "\"</script><script>alert(1)</script> \"\"quoted\"\", it's & <b>\"";
  const std::string speedup = formatted(faces::table_of(made.studies[0].charts[0]), TableFormat::csv);
  CHECK(speedup == "algorithm,cluster/workers,workers,speedup,speedup_low,speedup_high,seeds\n" + quoted +
                       ",2,2,1,,,1\n" + quoted + ",4,4,2,,,1\na|b*c,2,2,0.5,,,1\n");
  const std::string all = faces::report_csv(made);
  CHECK(all.starts_with(
      "study,chart,algorithm,cluster/workers,workers,speedup,speedup_low,speedup_high,seeds,efficiency,efficiency_low,efficiency_high\n"));
  CHECK(count_of(all, "\n") == 1 + 3 + 3);
  CHECK(count_of(all, quoted + ",efficiency," + quoted + ",2,2,,,,1,0.5,,\n") == 1);
}

TEST_CASE("a figure is whole in itself: rows, colours, a width; its name is one of a file") {
  const faces::Report made =
      faces::make_report({evil_study(), evil_study()}, no_details(), "s.db", {"speedup"});
  const faces::Chart& chart = made.studies[0].charts[0];
  const Json spec = faces::standalone(chart, faces::rows_shown_first(chart), {500, {}, "", false});
  CHECK(count_of(spec.dump(), "var(--") == 0);
  CHECK(spec["width"] == 500);
  const Json other =
      faces::standalone(chart, faces::rows_shown_first(chart), {500, 200, "Latin Modern", true});
  CHECK(other["height"] == 200);
  CHECK(spec["config"]["background"] == "#ffffff");
  CHECK(other["config"]["background"] != "#ffffff");
  CHECK(other["config"]["font"] == "Latin Modern");
  REQUIRE(spec["data"]["values"].size() == 3);
  CHECK(spec["data"]["values"][2]["axis_0"] == "a|b*c");
  CHECK(faces::figure_name(made, 0, chart) == "script-script-alert-1-script-quoted-it-s-b-speedup");
  CHECK(faces::figure_name(made, 1, chart) == "script-script-alert-1-script-quoted-it-s-b-2-speedup");
}

TEST_CASE("colours of the series differ in both themes") {
  std::set<std::string> light, dark;
  for (const faces::PaletteColour& colour : faces::palette()) {
    light.insert(colour.light);
    dark.insert(colour.dark);
  }
  CHECK(light.size() == faces::palette().size());
  CHECK(dark.size() == faces::palette().size());
}

TEST_CASE("a page of 10,000 runs is below 3 MB") {
  std::string libraries;
  try {
    libraries = faces::web_libraries();
  } catch (const ConfigError&) {  // of their size, and no more compressible
    std::uint32_t state = 1;
    for (int i = 0; i < 840'000; ++i)
      libraries += static_cast<char>(32 + (state = state * 1664525 + 1013904223) / 47'000'000);
  }
  const ResultStudy study = many_runs();
  REQUIRE(study.points.size() == 10'000);
  const faces::Report made = faces::make_report({study}, no_details(), "many.db");
  CHECK(made.studies[0].charts.size() == 6);
  const std::string page = faces::html_page(made, {libraries, false});
  CHECK(page.size() < 3'000'000);
  MESSAGE("bytes: ", page.size());
  // tests/report/page_in_chromium.sh opens it.
  const std::filesystem::path folder = std::filesystem::path(SIMSGD_BINARY_DIR) / "report";
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / "runs_10k.html", page);
}

}  // namespace simsgd::test::report_pages
