// simsgd advise: which algorithm, with which settings, on how many workers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/advice/advice.hpp"
#include "analysis/advice/candidates.hpp"
#include "cli/progress.hpp"
#include "cli/verbs.hpp"
#include "results/text_table.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;

struct AdviseVerb {
  std::string scenario, target = "time";
  OverrideOptions overrides;
  CandidateSettings candidates;
  double budget = 100;
  int jobs = 0;
  std::size_t top = 10;
  bool json = false, verify = false;
};

const std::map<std::string, AdviceTarget> kTargets = {{"time", AdviceTarget::time},
                                                      {"cost", AdviceTarget::cost},
                                                      {"energy", AdviceTarget::energy},
                                                      {"throughput", AdviceTarget::throughput}};

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string behind(double share) { return fmt::format("{:+.1f} %", 100 * share); }

OrderedJson to_json(const RankedCandidate& each) {
  OrderedJson settings = OrderedJson::object(), interval;
  for (const Assignment& set : settings_of(each.point))
    settings[set.pointer] = OrderedJson::parse(set.value.dump());
  if (each.score.interval) interval = {each.score.interval->low, each.score.interval->high};
  return {{"label", each.point.label}, {"set", std::move(settings)},
          {"value", each.score.value}, {"interval", interval},
          {"seeds", each.scores},      {"behind", each.behind},
          {"tie", each.tie},           {"deterministic", each.deterministic},
          {"reason", each.reason}};
}

OrderedJson to_json(const std::vector<ImpossibleCandidate>& all) {
  OrderedJson list = OrderedJson::array();
  for (const ImpossibleCandidate& each : all) list.push_back({{"label", each.label}, {"why", each.why}});
  return list;
}

OrderedJson to_json(const Advice& advice) {
  OrderedJson ranked = OrderedJson::array(), rounds = OrderedJson::array();
  for (const RankedCandidate& each : advice.ranked) ranked.push_back(to_json(each));
  for (const PrunedRound& each : advice.rounds)
    rounds.push_back({{"share_of_steps", each.share},
                      {"ran", each.ran},
                      {"kept", each.kept},
                      {"nearest_pruned", each.nearest},
                      {"nearest_behind", each.nearest_behind}});
  return {{"measure", advice.meaning},
          {"unit", advice.unit},
          {"candidates", advice.candidates},
          {"spent_full_runs", advice.spent},
          {"ranked", std::move(ranked)},
          {"rounds", std::move(rounds)},
          {"impossible", to_json(advice.impossible)},
          {"failed", to_json(advice.failed)},
          {"notes", advice.notes}};
}

std::string ranking(const Advice& advice, std::size_t top) {
  TextTable table;
  table.rows = {{"", "", advice.unit, "95 %", "seeds", "behind", "", "where the time of a step goes"}, {"-"}};
  table.left = 2;
  for (std::size_t i = 0; i < std::min(top, advice.ranked.size()); ++i) {
    const RankedCandidate& each = advice.ranked[i];
    table.rows.push_back({std::to_string(i + 1), printable(each.point.label), number(each.score.value),
                          each.score.interval ? fmt::format("± {}", number(each.score.interval->half_width()))
                          : each.deterministic ? "deterministic"
                                               : "-",
                          std::to_string(each.scores.size()), i == 0 ? "-" : behind(each.behind),
                          i == 0     ? "best"
                          : each.tie ? "tie"
                                     : "",
                          each.reason});
  }
  return table.text();
}

void print_reasons(const char* what, const std::vector<ImpossibleCandidate>& all) {
  if (all.empty()) return;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const ImpossibleCandidate& each : all) by_reason[each.why].push_back(each.label);
  fmt::print("\n{} of the candidates {}:\n", all.size(), what);
  for (const auto& [why, labels] : by_reason)
    fmt::print("  {}{}: {}\n", printable(labels.front()),
               labels.size() > 1 ? fmt::format(" and {} more", labels.size() - 1) : "", printable(why));
}

/// What `simsgd run` has to be told for it.
std::string command_of(const std::string& scenario, const RankedCandidate& best) {
  std::string text = "simsgd run " + scenario;
  for (const Assignment& set : settings_of(best.point))
    text += fmt::format(" --set '{}={}'", set.pointer, set.value.dump());
  return text;
}

void print_advice(const AdviseVerb& verb, const Advice& advice, bool study) {
  fmt::print("{} candidates, compared by {}; {} full runs' cost.\n\n{}", advice.candidates, advice.meaning,
             number(advice.spent), ranking(advice, verb.top));
  if (!advice.learns)
    fmt::print(
        "\nNothing here says how well each of them learns: the scenario has no \"target\" to reach.\n");
  for (const PrunedRound& each : advice.rounds)
    if (each.kept < each.ran)
      fmt::print(
          "\nAfter {:.0f} % of the steps {} of {} were given up; the nearest of them, {}, was {} behind.\n",
          100 * each.share, each.ran - each.kept, each.ran, printable(each.nearest),
          behind(each.nearest_behind));
  print_reasons("are impossible here", advice.impossible);
  print_reasons("failed", advice.failed);
  for (const std::string& note : advice.notes) fmt::print("\nnote: {}\n", printable(note));
  fmt::print("\nThe best of them: {}{}\n", printable(command_of(verb.scenario, advice.ranked.front())),
             study ? " --point 0" : "");
}

int check(const AdviseVerb& verb, const Study& study, const std::vector<StudyPoint>& all,
          const Advice& advice, const AdviceSettings& settings) {
  const AdviceCheck checked = check_advice(study, all, advice, settings);
  fmt::print(
      verb.json ? stderr : stdout,
      "\nOf all {} in full, which cost {} runs against {}: the advised one is {} with the first seed{}. {}\n",
      checked.ran, checked.ran, number(advice.spent),
      checked.rank == 1 ? "the best" : fmt::format("number {}", checked.rank),
      checked.rank == 1 ? ""
                        : fmt::format(", {} behind {} over the seeds", behind(checked.behind),
                                      printable(checked.best.label)),
      checked.best_or_tie ? "It is the best or a tie with it." : "It is worse than the best.");
  return checked.best_or_tie ? 0 : 1;
}

int run_advise(const AdviseVerb& verb) {
  const Study study = expand_study(verb.scenario, verb.overrides.overrides());
  const std::vector<StudyPoint> all = candidates(study, verb.candidates);
  catch_interrupts();
  const auto progress = std::make_shared<Progress>("Advising", 0);
  AdviceSettings settings;
  settings.target = kTargets.at(verb.target);
  settings.budget = verb.budget;
  settings.jobs = verb.jobs > 0 ? verb.jobs : available_threads();
  settings.threads = std::max(1, available_threads() / settings.jobs);
  settings.interrupted = interrupted;
  settings.progress = [progress](std::size_t done, std::size_t) { progress->at(done); };
  const Advice advice = advise(study, all, settings);
  progress->finish();
  if (verb.json)
    fmt::print("{}\n", to_json(advice).dump());
  else
    print_advice(verb, advice, !study.axes.empty());
  return verb.verify ? check(verb, study, all, advice, settings) : 0;
}

}  // namespace

void add_advise(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("advise", "Find the best algorithm and settings for a scenario");
  auto settings = std::make_shared<AdviseVerb>();
  verb->add_option(
          "SCENARIO", settings->scenario,
          "A scenario, for which all algorithms are tried in their usual variants, or a study, whose points are the candidates")
      ->required();
  std::vector<std::string> targets;
  for (const auto& [name, target] : kTargets) targets.push_back(name);
  verb->add_option(
          "--target", settings->target,
          "What is to be best: time, cost or energy until the scenario's target is reached (per sample where it has none), or throughput")
      ->capture_default_str()
      ->check(CLI::IsMember(targets));
  verb->add_option("--budget", settings->budget,
                   "What it may cost, in full runs: a run of a tenth of the steps costs a tenth")
      ->type_name("RUNS")
      ->capture_default_str()
      ->check(CLI::Range(4.0, 1e6));
  verb->add_option("--algorithms", settings->candidates.algorithms,
                   "Only these, by name, separated by commas")
      ->type_name("NAMES")
      ->delimiter(',');
  verb->add_option("--workers", settings->candidates.workers,
                   "Each of these numbers of workers, separated by commas")
      ->type_name("NUMBERS")
      ->delimiter(',')
      ->check(CLI::Range(1, 30000));
  settings->overrides.add_to(*verb);
  verb->add_option("--jobs", settings->jobs,
                   "Runs at a time (default: all cores); the advice does not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  verb->add_option("--top", settings->top, "So many rows of the ranking")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  verb->add_flag(
      "--verify", settings->verify,
      "Also run every candidate in full, and tell where the advised one stands; exit 1 if it is neither the best nor a tie with it");
  verb->add_flag("--json", settings->json, "Print a document instead of tables");
  verb->footer(
      "Exit codes: 0 done; 1 every candidate failed, or --verify does not hold; 2 usage or input; 130 interrupted.\n"
      "Example:\n  simsgd advise scenarios/real_run.json --target throughput --algorithms allreduce_sgd,local_sgd --budget 20");
  verb->callback([settings, &exit_code] { exit_code.value = run_advise(*settings); });
}

}  // namespace simsgd
