// simsgd advise: which algorithm, with which settings, on how many workers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/faces/table.hpp"
#include "analysis/questions/advice.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

struct AdviseVerb {
  std::string scenario, target = "time";
  OverrideOptions overrides;
  CandidateSettings candidates;
  double budget = 100;
  std::string deadline;
  std::optional<double> most_usd;
  int jobs = 0;
  std::size_t top = 10;
  bool json = false, verify = false, each = false;
};

const std::map<std::string, AdviceTarget> kTargets = {{"time", AdviceTarget::time},
                                                      {"cost", AdviceTarget::cost},
                                                      {"energy", AdviceTarget::energy},
                                                      {"throughput", AdviceTarget::throughput}};

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string behind(double share) { return fmt::format("{:+.1f} %", 100 * share); }

const char* word_of(const RankedCandidate& each) {
  using statistics::Verdict;
  return each.verdict == Verdict::tie ? "tie" : each.verdict == Verdict::undecided ? "undecided" : "";
}

OrderedJson to_json(const Candidate& candidate, const RankedCandidate& each) {
  OrderedJson settings = OrderedJson::object(), interval;
  for (const Assignment& set : settings_of({"", candidate.chosen}))
    settings[set.pointer] = OrderedJson::parse(set.value.dump());
  if (each.score.interval) interval = {each.score.interval->low, each.score.interval->high};
  OrderedJson made = {{"label", each.label},       {"set", std::move(settings)},
                      {"value", each.score.value}, {"interval", interval},
                      {"seeds", each.scores},      {"under", each.under},
                      {"behind", each.behind},     {"tie", each.may_be_best()},
                      {"verdict", word_of(each)},  {"deterministic", each.deterministic},
                      {"reason", each.reason},     {"time_s", each.time_s}};
  if (each.cost_usd) made["cost_usd"] = *each.cost_usd;
  return made;
}

OrderedJson to_json(const std::vector<ImpossibleCandidate>& all) {
  OrderedJson list = OrderedJson::array();
  for (const ImpossibleCandidate& each : all) list.push_back({{"label", each.label}, {"why", each.why}});
  return list;
}

OrderedJson to_json(const Candidates& candidates, const Advice& advice) {
  OrderedJson ranked = OrderedJson::array(), rounds = OrderedJson::array();
  for (const RankedCandidate& each : advice.ranked)
    ranked.push_back(to_json(candidates.all[each.candidate], each));
  for (const PrunedRound& each : advice.rounds)
    rounds.push_back({{"share_of_steps", each.share},
                      {"ran", each.ran},
                      {"kept", each.kept},
                      {"nearest_pruned", each.nearest},
                      {"nearest_behind", each.nearest_behind}});
  return {{"measure", advice.meaning},
          {"unit", advice.unit},
          {"circumstances", advice.circumstances},
          {"candidates", advice.candidates},
          {"spent_full_runs", advice.spent},
          {"ranked", std::move(ranked)},
          {"rounds", std::move(rounds)},
          {"impossible", to_json(advice.impossible)},
          {"failed", to_json(advice.failed)},
          {"beyond_limits", to_json(advice.beyond)},
          {"notes", advice.notes}};
}

/// A study may vary nothing that is chosen.
std::string shown(const std::string& label) { return label.empty() ? "as it is" : printable(label); }

/// What each is worth under each circumstance.
std::string under_each(const Advice& advice, std::size_t top) {
  Table table;
  table.header = {"", "under", advice.unit, "behind the best there"};
  table.align = "ll";
  for (std::size_t c = 0; c < advice.circumstances.size(); ++c) {
    const auto cost = [&](const RankedCandidate& each) {
      return advice.more_is_better ? 1 / each.under[c] : each.under[c];
    };
    double least = cost(advice.ranked.front());
    for (const RankedCandidate& each : advice.ranked) least = std::min(least, cost(each));
    for (std::size_t i = 0; i < std::min(top, advice.ranked.size()); ++i) {
      const RankedCandidate& each = advice.ranked[i];
      table.rows.push_back({std::to_string(i + 1), printable(advice.circumstances[c]), number(each.under[c]),
                            cost(each) > least ? behind(cost(each) / least - 1) : "-"});
    }
  }
  return text_rows(table);
}

std::string ranking(const Advice& advice, std::size_t top) {
  Table table;
  table.header = {"", "", advice.unit, "95 %", "seeds", "behind", "", "where the time of a step goes"};
  table.align = "ll";
  for (std::size_t i = 0; i < std::min(top, advice.ranked.size()); ++i) {
    const RankedCandidate& each = advice.ranked[i];
    table.rows.push_back({std::to_string(i + 1), shown(each.label), number(each.score.value),
                          each.score.interval ? fmt::format("± {}", number(each.score.interval->half_width()))
                          : each.deterministic ? "deterministic"
                                               : "-",
                          std::to_string(each.scores.size()), i == 0 ? "-" : behind(each.behind),
                          i == 0 ? "best" : word_of(each), each.reason});
  }
  return text_rows(table);
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
std::string command_of(const std::string& scenario, const Candidate& best) {
  std::string text = "simsgd run " + scenario;
  for (const Assignment& set : settings_of({"", best.chosen}))
    text += fmt::format(" --set '{}={}'", set.pointer, set.value.dump());
  return text;
}

void print_advice(const AdviseVerb& verb, const Candidates& candidates, const Advice& advice, bool study) {
  constexpr std::size_t kMostShown = 3;
  const std::size_t circumstances = advice.circumstances.size();
  fmt::print("{} candidates, compared by {}{}, at the cost of {} full runs.\n\n{}", advice.candidates,
             advice.meaning,
             circumstances > 1 ? fmt::format(", geometric mean over {} circumstances", circumstances)
             : advice.circumstances.front().empty() ? ""
                                                    : ", under " + printable(advice.circumstances.front()),
             number(advice.spent), ranking(advice, verb.top));
  if (circumstances > 1) fmt::print("\n{}", under_each(advice, std::min(verb.top, kMostShown)));
  const auto is = [](statistics::Verdict verdict) {
    return [verdict](const RankedCandidate& each) { return each.verdict == verdict; };
  };
  if (std::ranges::any_of(advice.ranked, is(statistics::Verdict::undecided)))
    fmt::print("\nundecided: they differ by less than the model's error (docs/statistics.md).\n");
  if (!advice.learns)
    fmt::print("\nThis ranking does not consider how well they learn: the scenario has no \"target\".\n");
  for (const PrunedRound& each : advice.rounds)
    if (each.kept < each.ran)
      fmt::print(
          "\nAfter {:.0f} % of the steps {} of {} were dropped; the closest of them, {}, was {:.1f} % behind.\n",
          100 * each.share, each.ran - each.kept, each.ran, printable(each.nearest),
          100 * each.nearest_behind);
  print_reasons("cannot run here", advice.impossible);
  print_reasons("failed", advice.failed);
  print_reasons("exceed the limits", advice.beyond);
  for (const std::string& note : advice.notes) fmt::print("\nnote: {}\n", printable(note));
  fmt::print("\nTo run the best: {}{}\n",
             printable(command_of(verb.scenario, candidates.all[advice.ranked.front().candidate])),
             study ? " --point 0" : "");
}

int check(const AdviseVerb& verb, const Study& study, const Candidates& all, const Advice& advice,
          const AdviceSettings& settings) {
  const AdviceCheck checked = check_advice(study, all, advice, settings);
  fmt::print(
      verb.json ? stderr : stdout,
      "\nChecked against all {} candidates in full ({} runs instead of {}): the advised one is {} with the first seed{}. {}\n",
      checked.ran, checked.ran * all.circumstances.size(), number(advice.spent),
      checked.rank == 1 ? "the best" : fmt::format("number {}", checked.rank),
      checked.rank == 1
          ? ""
          : fmt::format(", {:.1f} % behind {} over the seeds", 100 * checked.behind, shown(checked.best)),
      checked.best_or_tie ? "It is the best, or ties with the best." : "It is worse than the best.");
  return checked.best_or_tie ? 0 : 1;
}

AdviceSettings settings_of(const AdviseVerb& verb) {
  AdviceSettings settings;
  settings.target = kTargets.at(verb.target);
  settings.budget = verb.budget;
  settings.most_usd = verb.most_usd;
  if (!verb.deadline.empty())
    settings.deadline_s = quantity_option("--deadline", verb.deadline, Dimension::time_s, "is not a time",
                                          "Write one such as 2h or 30 min");
  settings.jobs = verb.jobs > 0 ? verb.jobs : available_threads();
  settings.threads = std::max(1, available_threads() / settings.jobs);
  settings.interrupted = interrupted;
  return settings;
}

int run_advise(const AdviseVerb& verb) {
  AdviceSettings settings = settings_of(verb);
  // Seeds of the study are not what is advised on: --seed says where those that advice runs begin.
  Overrides overrides = verb.overrides.overrides(), first_seed;
  std::swap(overrides.seed, first_seed.seed);
  Study study = expand_study(verb.scenario, overrides);
  for (const Assignment& each : assignments(first_seed)) study.overrides.push_back(each);
  const Candidates all = candidates(study, verb.candidates);
  catch_interrupts();
  const auto progress = std::make_shared<Progress>("Advising", 0);
  settings.progress = [progress](std::size_t done, std::size_t) { progress->at(done); };
  std::vector<Candidates> asked;
  if (verb.each)
    for (std::size_t c = 0; c < all.circumstances.size(); ++c) asked.push_back(all.under(c));
  else
    asked.push_back(all);
  settings.budget /= static_cast<double>(asked.size());
  OrderedJson documents = OrderedJson::array();
  int code = 0;
  for (const Candidates& some : asked) {
    const Advice advice = advise(study, some, settings);
    progress->finish();
    if (verb.json)
      documents.push_back(to_json(some, advice));
    else
      print_advice(verb, some, advice, !study.axes.empty());
    if (!verb.json && &some != &asked.back()) fmt::print("\n");
    if (verb.verify) code = std::max(code, check(verb, study, some, advice, settings));
  }
  if (verb.json) fmt::print("{}\n", (verb.each ? documents : documents[0]).dump());
  return code;
}

}  // namespace

void add_advise(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("advise", "Find the best algorithm and settings for a scenario");
  auto settings = std::make_shared<AdviseVerb>();
  verb->add_option(
          "SCENARIO", settings->scenario,
          "A study, whose points are the candidates; or a scenario, for which all algorithms are tried in their usual variants")
      ->required();
  std::vector<std::string> targets;
  for (const auto& [name, target] : kTargets) targets.push_back(name);
  verb->add_option(
          "--target", settings->target,
          "What to optimise: time, cost or energy until the scenario's target is reached (per sample if it has none), or throughput")
      ->capture_default_str()
      ->check(CLI::IsMember(targets));
  verb->add_option("--budget", settings->budget,
                   "The search may cost this many full runs; a run of a tenth of the steps costs a tenth")
      ->type_name("RUNS")
      ->capture_default_str()
      ->check(CLI::Range(4.0, 1e6));
  verb->add_option(
          "--deadline", settings->deadline,
          "Only candidates that reach the target (without one: end the run) within this simulated time, under every circumstance")
      ->type_name("TIME");
  verb->add_option(
          "--max-cost", settings->most_usd,
          "Only candidates that cost at most this many USD until then; the cluster's devices need a price")
      ->type_name("USD")
      ->check(above_zero());
  verb->add_flag("--each", settings->each,
                 "Advise for each circumstance of the study separately, within the same budget");
  verb->add_option("--algorithms", settings->candidates.algorithms,
                   "Try only these algorithms: names, separated by commas")
      ->type_name("NAMES")
      ->delimiter(',');
  verb->add_option("--workers", settings->candidates.workers,
                   "Try each of these numbers of workers, separated by commas")
      ->type_name("NUMBERS")
      ->delimiter(',')
      ->check(above_zero());
  settings->overrides.add_to(*verb);
  verb->add_option("--jobs", settings->jobs,
                   "Runs in parallel (default: all cores); the advice does not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  verb->add_option("--top", settings->top, "Show this many rows of the ranking")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  verb->add_flag(
      "--verify", settings->verify,
      "Then run every candidate in full, and say how the advised one ranks; exit 1 if it is neither the best nor a tie with it");
  verb->add_flag("--json", settings->json, "Print a document instead of tables");
  verb->footer(
      "Exit codes: 0 done; 1 every candidate failed or exceeds the limits, or --verify fails; 2 usage or input; 130 interrupted.\n"
      "Example:\n  simsgd advise scenarios/real_run.json --target throughput --algorithms allreduce_sgd,local_sgd --budget 20");
  verb->callback([settings, &exit_code] { exit_code.value = run_advise(*settings); });
}

}  // namespace simsgd
