#include "analysis/report/figures.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstring>

#include "analysis/report/report.hpp"
#include "analysis/report/spec.hpp"
#include "analysis/report/text.hpp"
#include "results/atomic_file.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::report {

namespace fs = std::filesystem;

namespace {

constexpr double kFigureWidth = 560;

std::string plain(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool safe = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
    if (safe || (!text.empty() && text.back() != '-')) text += safe ? c : '-';
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text.empty() ? "study" : text;
}

void draw(const Vl2svg& vl2svg, const fs::path& spec, const fs::path& svg) {
  std::string arguments[] = {vl2svg.node.string(), vl2svg.script.string(), spec.string(), svg.string()};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), arguments[3].data(),
                  nullptr};
  pid_t child = 0;
  if (const int failed = posix_spawn(&child, argv[0], nullptr, nullptr, argv, environ); failed != 0)
    throw RunError(fmt::format("Cannot start {}: {}", arguments[0], std::strerror(failed)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw RunError(fmt::format("vl2svg could not draw {}", spec.string()));
}

}  // namespace

std::string figure_name(const Report& report, std::size_t study, const Chart& chart) {
  const std::string name = plain(report.studies[study].name);
  int same = 1;
  for (std::size_t s = 0; s < study; ++s) same += plain(report.studies[s].name) == name;
  return fmt::format("{}{}-{}", name, same > 1 ? "-" + std::to_string(same) : "", chart.name);
}

void write_figures(const Report& report, const Vl2svg& vl2svg, const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) throw RunError(fmt::format("Cannot make {}: {}", directory.string(), failed.message()));
  for (std::size_t s = 0; s < report.studies.size(); ++s)
    for (const Chart& chart : report.studies[s].charts) {
      const std::string name = figure_name(report, s, chart);
      const fs::path spec = directory / (name + ".vl.json"), svg = directory / (name + ".svg"),
                     part = directory / (name + ".svg.part");
      write_file_atomically(directory / (name + ".csv"), chart_csv(chart));
      write_file_atomically(spec, standalone(chart, rows_shown_first(chart), kFigureWidth)
                                      .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
      try {
        draw(vl2svg, spec, part);
      } catch (const RunError&) {
        fs::remove(part, failed);
        throw;
      }
      fs::rename(part, svg, failed);
      if (failed) throw RunError(fmt::format("Cannot write {}: {}", svg.string(), failed.message()));
    }
}

}  // namespace simsgd::report
