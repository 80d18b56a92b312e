// simsgd book: every committed judgement against public measurements again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/book/book.hpp"
#include "analysis/faces/figures.hpp"
#include "analysis/faces/page.hpp"
#include "cli/verbs.hpp"
#include "results/atomic_file.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

struct BookVerb {
  std::string book = "book/book.json", data, output, figures, judged, readme, format = "text";
  std::vector<std::string> only;
  bool record = false, last = false;
  int jobs = 0;
};

/// The committed lines lie beside the book.
std::string judged_file(const BookVerb& verb) {
  if (!verb.judged.empty()) return verb.judged;
  return (std::filesystem::path(scenario_path(verb.book)).parent_path() / "judged.json").string();
}

book::JudgedBook judged_book(const BookVerb& verb) {
  const std::string file = judged_file(verb);
  book::Lines last;
  if (std::filesystem::exists(file)) last = book::read_lines(file);
  book::BookSettings settings;
  settings.calibration.data = verb.data;
  settings.calibration.jobs = verb.jobs > 0 ? verb.jobs : available_threads();
  settings.calibration.interrupted = interrupted;
  settings.calibration.progress = [](const std::string& stage, std::uint64_t simulations) {
    if (simulations == 0 && stage.starts_with("book: ")) fmt::print(stderr, "{} ...\n", stage.substr(6));
  };
  settings.date = today();
  settings.only = verb.last ? std::vector<std::string>{"\n"} : verb.only;  // no file has such a name
  const book::Book read = book::load_book(verb.book);
  return judge_book(read, settings, std::move(last));
}

/// Between two comments of the file.
void write_between_marks(const std::string& file, const std::string& text) {
  constexpr const char *kBegin = "<!-- simsgd book -->\n", *kEnd = "<!-- end of simsgd book -->";
  std::string page = read_file(file);
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw ConfigError({file, "", "has no place for the book's table", "",
                       std::string("Add two lines where the table belongs: ") + kBegin + kEnd});
  const std::size_t from = begin + std::string(kBegin).size();
  write_file_atomically(file, page.replace(from, end - from, text));
}

int show_book(const BookVerb& verb) {
  catch_interrupts();
  // What could be missing is looked for before anything runs.
  if (!verb.data.empty() && !std::filesystem::is_directory(verb.data))
    throw ConfigError(
        {"--data", "", "is not a directory", verb.data, "Give the directory that holds the measurements"});
  const std::string libraries = verb.output.empty() ? "" : faces::web_libraries();
  faces::Vl2svg vl2svg;
  if (!verb.figures.empty()) vl2svg = faces::find_vl2svg();
  const book::JudgedBook judged = judged_book(verb);
  const std::string command = "simsgd book --data ../shared/data";
  questions::Report page = book::book_report(judged, command);
  if (!verb.output.empty()) write_file_atomically(verb.output, faces::html_page(page, {libraries, false}));
  for (const bool dark : {false, true}) {
    if (verb.figures.empty()) break;
    page.studies.front().name = dark ? "accuracy-dark" : "accuracy";
    faces::FigureSettings figure;
    figure.width = 1000;
    figure.dark = dark;
    faces::write_figures(page, vl2svg, {}, figure, verb.figures);
  }
  if (verb.record) write_file_atomically(judged_file(verb), book::lines_json(judged.lines).dump(1) + "\n");
  if (!verb.readme.empty()) write_between_marks(verb.readme, book::book_by_machine(judged));
  fmt::print("{}", verb.format == "md"     ? book::book_markdown(judged, command + " --format md")
                   : verb.format == "json" ? book::book_json(judged).dump(2) + "\n"
                                           : book::book_text(judged));
  return 0;
}

}  // namespace

void add_book(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb =
      app.add_subcommand("book", "Measure how far off the predictions of all public measurements are");
  auto settings = std::make_shared<BookVerb>();
  verb->add_option("BOOK", settings->book, "File that lists the calibrations, and the judged part of each")
      ->capture_default_str();
  verb->add_option("--data", settings->data,
                   "Directory of the measurements; a set without them keeps its last line")
      ->type_name("DIR");
  verb->add_option("-o,--output", settings->output, "Write the page")->type_name("FILE");
  verb->add_option("--figures", settings->figures,
                   "Write the page's figure below DIR, for light and for dark pages")
      ->type_name("DIR");
  verb->add_option("--readme", settings->readme,
                   "Write a line for each machine into this file, between its comments \"simsgd book\"")
      ->type_name("FILE");
  verb->add_option("--format", settings->format, "Format of what is printed; md: docs/accuracy.md")
      ->check(CLI::IsMember({"text", "md", "json"}))
      ->capture_default_str();
  verb->add_option("--only", settings->only,
                   "Judge only specs whose file name contains this; show the last lines of the others")
      ->type_name("PART");
  verb->add_flag("--last", settings->last, "Show the last lines without judging anything");
  verb->add_option("--judged", settings->judged,
                   "File of the last lines (default: judged.json beside the book)")
      ->type_name("FILE");
  verb->add_flag("--record", settings->record, "Write the new lines into that file");
  verb->add_option("--jobs", settings->jobs,
                   "Simulations in parallel (default: all cores); results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  verb->footer("Examples:\n  simsgd book --last\n  simsgd book --data ../shared/data -o book.html");
  verb->callback([settings, &exit_code] { exit_code.value = show_book(*settings); });
}

}  // namespace simsgd
