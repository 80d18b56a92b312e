// simsgd claims: what studies say of the claims that they test.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <memory>

#include "analysis/questions/claims.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

struct ClaimsVerb {
  std::vector<std::string> studies;
  std::string database, format = "text";
  OverrideOptions overrides;
  int jobs = 0;
};

/// As it is typed, for the page that it makes.
std::string command_of(const ClaimsVerb& verb) {
  std::string text = "simsgd claims";
  for (const std::string& each : verb.studies) text += " " + each;
  if (!verb.database.empty()) text += " -o " + verb.database;
  for (const std::string& each : verb.overrides.set) text += " --set '" + each + "'";
  return text + " --format " + verb.format;
}

int claims(const ClaimsVerb& verb) {
  catch_interrupts();
  // All files are looked at before anything runs.
  for (const std::string& study : verb.studies) load_claim(study, verb.overrides.overrides());
  SweepSettings settings;
  settings.jobs = verb.jobs > 0 ? verb.jobs : available_threads();
  settings.threads = std::max(1, available_threads() / settings.jobs);
  settings.database = verb.database;
  settings.interrupted = interrupted;
  std::vector<ClaimVerdict> verdicts;
  std::size_t failed = 0;
  for (const std::string& study : verb.studies) {
    SweepBar bar(isatty(STDERR_FILENO) != 0);
    const TestedClaim tested =
        test_claim(study, verb.overrides.overrides(), settings, [&](const SweepProgress& progress) {
          if (isatty(STDERR_FILENO) != 0) bar.show(progress);
        });
    bar.clear();
    failed += tested.failed;
    if (tested.failed > 0)
      fmt::print(stderr, "{}: {} of {} points failed, such as {}\n", printable(study), tested.failed,
                 tested.points, printable(tested.first_failure));
    verdicts.push_back(tested.verdict);
    fmt::print(stderr, "{}: {}, {}\n", verdicts.back().claim.id, verdict_text(verdicts.back()),
               counted(tested.points, "point"));
  }
  fmt::print("{}", verb.format == "md"     ? claims_markdown(verdicts, command_of(verb))
                   : verb.format == "json" ? claims_json(verdicts).dump(2) + "\n"
                                           : claims_text(verdicts));
  return failed > 0 ? 3 : 0;
}

}  // namespace

void add_claims(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "claims",
      "Run studies that test a claim, and say in which settings it is reproduced and what that depends on");
  auto settings = std::make_shared<ClaimsVerb>();
  verb->add_option("STUDIES", settings->studies,
                   "Studies with a \"claim\", such as those in scenarios/claims")
      ->required();
  verb->add_option("-o,--output", settings->database,
                   "Keep results in this SQLite file, and skip points that it has")
      ->type_name("F.db");
  verb->add_option("--jobs", settings->jobs,
                   "Points in parallel (default: all cores); results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  verb->add_option("--format", settings->format, "text, md: a page, or json: each setting too")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "md", "json"}));
  settings->overrides.add_to(*verb);
  verb->footer(
      "Exit codes: 0 done, whatever the verdicts; 2 usage or input; 3 some points failed; 130 interrupted.\n"
      "Example:\n  simsgd claims scenarios/claims/W5.json -o claims.db");
  verb->callback([settings, &exit_code] { exit_code.value = claims(*settings); });
}

}  // namespace simsgd
