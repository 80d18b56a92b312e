// Figures for papers: of each chart STUDY-CHART.svg as the page shows it first, its specification (.vl.json)
// and all its numbers (.csv); on demand also a PDF and a PNG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/faces/vega.hpp"
#include "analysis/frame/frame.hpp"
#include "analysis/questions/study_report.hpp"

namespace simsgd::faces {

// What pages and figures are drawn with: vega, vega-lite and vega-embed, and Node, which npm has put into a
// folder (./setup.sh web). Looked for in $SIMSGD_WEB, beside the build (build/web), and in the install
// (PREFIX/share/simsgd/web).

/// JavaScript of the first three, in the order in which they need each other. Throws ConfigError, with the
/// way to get them, where they are missing.
std::string web_libraries();

struct Vl2svg {
  std::filesystem::path node, script;
};
/// Throws ConfigError as above.
Vl2svg find_vl2svg();

/// How a figure is drawn.
struct FigureSettings {
  double width = 560;            ///< px, of charts that have no width of their own
  std::optional<double> height;  ///< px, likewise; none: the chart's
  std::string font;              ///< family; empty: the page's
  bool dark = false;             ///< for dark pages
};
/// The specification by itself: with rows and the theme's colours. For figures.
Spec standalone(const Chart& chart, const std::vector<std::vector<Cell>>& rows,
                const FigureSettings& settings);

/// "STUDY-CHART" of letters, digits, - and _; the n-th of several studies of one name has its number.
std::string figure_name(const Report& report, std::size_t study, const Chart& chart);

/// rsvg-convert of librsvg, which makes the formats of --pdf and --png of SVG; empty where there are none.
/// Throws ConfigError where PATH has none.
struct SvgConverter {
  std::filesystem::path program;
  std::vector<std::string> formats;  ///< "pdf", "png"
};
SvgConverter find_svg_converter(std::vector<std::string> formats);

/// A specification drawn as SVG, and that in the one format of `converter`. Throw RunError.
std::string drawn_svg(const Vl2svg& vl2svg, const std::string& specification);
std::string converted(const SvgConverter& converter, const std::string& svg);

/// JSON: of each chart its study with its id, name, title, caption and Vega-Lite specification with its
/// numbers.
std::string specifications(const Report& report, const FigureSettings& settings);

/// Makes the folder. Each file appears whole or not at all. Throws RunError.
void write_figures(const Report& report, const Vl2svg& vl2svg, const SvgConverter& converter,
                   const FigureSettings& settings, const std::filesystem::path& directory);

// Curves against simulated seconds for programs that show training: event files of TensorBoard, and JSON
// lines as the history of Weights & Biases has them. Without their libraries.

/// A run, and its curves that have values, by name.
struct LoggedRun {
  std::size_t point = 0;  ///< its number, from 1
  std::string label;
  std::vector<std::pair<std::string, std::vector<CurvePoint>>> curves;
};
/// Those of a frame that ended well.
std::vector<LoggedRun> logged_runs(const frame::Frame& frame);

/// An object a line and instant, in the order of time: "_step" from 0, "simulated_time_s", and each curve
/// that has a value then. Of several runs each line says its "run" first.
std::string history_lines(const std::vector<LoggedRun>& runs);

/// DIR/events.out.tfevents.0.simsgd of one run; of several DIR/POINT-LABEL/... of each. Each file appears
/// whole or not at all. Returns their paths. Throws RunError.
std::vector<std::filesystem::path> write_event_files(const std::vector<LoggedRun>& runs,
                                                     const std::filesystem::path& directory);

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4), masked as TFRecords have it.
std::uint32_t masked_crc32c(const std::string& data);

}  // namespace simsgd::faces
