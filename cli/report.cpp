// simsgd report: a store's studies as one page of charts, as text, as figures.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>

#include "analysis/faces/figures.hpp"
#include "analysis/faces/page.hpp"
#include "analysis/faces/report_text.hpp"
#include "analysis/questions/study_report.hpp"
#include "analysis/runs/results.hpp"
#include "cli/verbs.hpp"
#include "results/atomic_file.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

struct ReportVerb {
  frame::FrameQuestion asked;
  std::string output, figures, format = "html";
  std::vector<std::string> charts;
  faces::FigureSettings figure;
  bool pdf = false, png = false;
};

std::string text_of(const ReportVerb& verb, const faces::Report& made) {
  if (verb.format == "md") return faces::report_markdown(made);
  if (verb.format == "csv") return faces::report_csv(made);
  if (verb.format == "vega") return faces::specifications(made, verb.figure);
  if (verb.format == "notebook") return faces::notebook_bundle(made, verb.figure);
  return faces::html_page(made, {faces::web_libraries(), false});
}

/// Of the points that were asked for: of one study, or of all.
faces::Report made_report(const ReportVerb& verb) {
  const frame::FrameQuestion& asked = verb.asked;
  const StoredResults results(asked.file);
  if (asked.study.empty() && asked.where.empty())
    return faces::make_report(results.studies(), frame::details_of(results), asked.file, verb.charts);
  std::vector<InputError> errors;
  const std::vector<frame::Frame> frames = {frame::frame_of(results, asked, errors)};
  if (!errors.empty()) throw ConfigError(std::move(errors));
  faces::Report made = faces::make_report(frames, asked.file, verb.charts);
  if (!asked.study.empty()) made.selection = {"--study", asked.study};
  for (const std::string& filter : asked.where) {
    made.selection.emplace_back("--where");
    made.selection.push_back(filter);
  }
  return made;
}

// Whatever could be missing is looked for before anything is written.
int write_report(const ReportVerb& verb) {
  if (verb.format == "html" && verb.output.empty() && verb.figures.empty())
    throw ConfigError(
        {"simsgd report", "", "needs a file for its page", "",
         "Name it with -o R.html, or ask for --format md, csv, vega or notebook, which go to standard output"});
  const faces::Report made = made_report(verb);
  const bool page = verb.format != "html" || !verb.output.empty();
  const std::string text = page ? text_of(verb, made) : "";
  faces::Vl2svg vl2svg;
  if (!verb.figures.empty()) vl2svg = faces::find_vl2svg();
  std::vector<std::string> formats;
  if (verb.pdf) formats.emplace_back("pdf");
  if (verb.png) formats.emplace_back("png");
  const faces::SvgConverter converter = faces::find_svg_converter(formats);
  if (page && verb.output.empty()) fmt::print("{}", text);
  if (!verb.output.empty()) write_file_atomically(verb.output, text);
  if (!verb.figures.empty()) faces::write_figures(made, vl2svg, converter, verb.figure, verb.figures);
  std::size_t charts = 0;
  for (const faces::StudyReport& study : made.studies) charts += study.charts.size();
  if (!verb.output.empty())
    fmt::print(stderr, "{}: {} of {} {}, {} kB\n", printable(verb.output), counted(charts, "chart"),
               made.studies.size(), made.studies.size() == 1 ? "study" : "studies",
               (text.size() + 999) / 1000);
  if (!verb.figures.empty())
    fmt::print(stderr, "{}: {}\n", printable(verb.figures), counted(charts, "figure"));
  return 0;
}

}  // namespace

void add_report(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "report", "Draw the charts of a study, or of a run, on one page that needs no network");
  auto settings = std::make_shared<ReportVerb>();
  verb->add_option(
          "F.db", settings->asked.file,
          "Results of simsgd sweep run -o; or of one run: its directory, its document, or - for standard input")
      ->required();
  add_selection(*verb, settings->asked.study, settings->asked.where);
  verb->add_option("-o,--output", settings->output, "Write the page, or the text, to this file")
      ->type_name("FILE");
  verb->add_option(
          "--format", settings->format,
          "html: one page, drawn by its reader's browser; md, csv: the charts' tables; vega: their Vega-Lite specifications as JSON; notebook: Jupyter's MIME bundle, with a picture where one can be drawn; these need no Node")
      ->check(CLI::IsMember({"html", "md", "csv", "vega", "notebook"}))
      ->capture_default_str();
  CLI::Option* figures =
      verb->add_option(
              "--figures", settings->figures,
              "Write each chart below DIR: an SVG, its Vega-Lite specification, and its numbers as CSV")
          ->type_name("DIR");
  verb->add_option("--width", settings->figure.width, "Width of the figures")
      ->type_name("PIXELS")
      ->capture_default_str()
      ->check(CLI::Range(100.0, 10000.0))
      ->needs(figures);
  verb->add_option("--height", settings->figure.height, "Height of the figures (default: the chart's own)")
      ->type_name("PIXELS")
      ->check(CLI::Range(50.0, 10000.0))
      ->needs(figures);
  verb->add_option("--font", settings->figure.font, "Font of the figures, such as \"Times New Roman\"")
      ->type_name("NAME")
      ->needs(figures);
  verb->add_flag("--dark", settings->figure.dark, "Draw the figures for a dark page")->needs(figures);
  verb->add_flag("--pdf", settings->pdf,
                 "Also write each figure as PDF; needs rsvg-convert (Debian's librsvg2-bin)")
      ->needs(figures);
  verb->add_flag("--png", settings->png, "Also write each figure as PNG; needs rsvg-convert too")
      ->needs(figures);
  verb->add_option("--chart", settings->charts,
                   fmt::format("Only this chart (repeatable): {}", one_of(faces::chart_names())))
      ->type_name("NAME")
      ->allow_extra_args(false);
  verb->footer(
      "Exit codes: 0 done; 1 a file could not be written; 2 usage or input, or the drawing libraries are missing (./setup.sh web).\n"
      "Examples:\n  simsgd report results.db -o report.html --figures figures\n"
      "  simsgd report results.db --chart throughput --figures figures --where cluster=ethernet-1g\n"
      "  simsgd run scenario.json --json | simsgd report - --format md");
  verb->callback([settings, &exit_code] { exit_code.value = write_report(*settings); });
}

}  // namespace simsgd
