// `simsgd results`: what studies gave, as tables with their uncertainty.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "analysis/faces/figures.hpp"
#include "analysis/questions/tables.hpp"
#include "analysis/runs/results.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "results/atomic_file.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

constexpr const char* kResults =
    "Results of simsgd sweep run -o; or of one run: its directory, its document, or - for standard input";

/// What the verbs have in common.
struct ResultsCommand {
  std::string file, format = "text", study;
  std::vector<std::string> where;
  std::string point;
  questions::SeedTableQuestion table;
  std::string statistic = "mean", interval = "student";
  questions::BaselineQuestion comparison;
  questions::WinnersQuestion winners;
  std::string simulated;
  std::vector<std::string> inputs;
  std::string output;

  TableFormat table_format() const {
    static const std::map<std::string, TableFormat> formats = {
        {"text", TableFormat::text}, {"md", TableFormat::md},   {"latex", TableFormat::latex},
        {"html", TableFormat::html}, {"csv", TableFormat::csv}, {"json", TableFormat::json}};
    return formats.at(format);
  }
  bool curves() const { return format == "wandb" || format == "tensorboard"; }
  frame::FrameQuestion question() const { return {file, study, where}; }
  frame::CellQuestion cell() const {
    using frame::CellQuestion;
    return {statistic == "median" ? CellQuestion::Statistic::median : CellQuestion::Statistic::mean,
            interval == "bootstrap" ? CellQuestion::Method::bootstrap : CellQuestion::Method::student};
  }
};
using Shared = std::shared_ptr<ResultsCommand>;

void add_file(CLI::App& verb, const Shared& command) {
  verb.add_option("F.db", command->file, kResults)->required();
  verb.add_option("--format", command->format,
                  "text, md, latex, html, csv or json; csv and json have SI numbers")
      ->type_name("FORMAT")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "md", "latex", "html", "csv", "json"}));
}

void add_selection(CLI::App& verb, const Shared& command) {
  simsgd::add_selection(verb, command->study, command->where);
}

void add_measures(CLI::App& verb, std::vector<std::string>& measures) {
  verb.add_option(
          "--metric", measures,
          "A metric; the value of a curve at a time, as test_accuracy@60s; or its mean, as consensus_distance@mean. Separate several by commas")
      ->type_name("METRIC")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->required();
}

/// What `ask` makes of the frame that was asked for, and of what is wrong with the question so far.
template <class Ask>
Table asked_of(const ResultsCommand& command, Ask ask) {
  const StoredResults results(command.file);
  std::vector<InputError> errors;
  const frame::Frame frame = frame::frame_of(results, command.question(), errors);
  return ask(frame, std::move(errors));
}

/// A table of points has nothing else that may be wrong.
Table points_of(const ResultsCommand& command) {
  return asked_of(command, [&](const frame::Frame& frame, std::vector<InputError> errors) {
    if (!errors.empty()) throw ConfigError(std::move(errors));
    return command.point.empty() ? questions::points_table(frame)
                                 : questions::point_table(frame, command.point);
  });
}

void print_table(const Table& table, TableFormat format) {
  fmt::print("{}",
             format == TableFormat::text ? table_text(table, terminal_width()) : formatted(table, format));
}

template <class Make>
void answer(CLI::App& verb, const Shared& command, Make make) {
  verb.callback([command, make] { print_table(make(*command), command->table_format()); });
}

void add_studies(CLI::App& results) {
  const auto command = std::make_shared<ResultsCommand>();
  CLI::App* verb =
      results.add_subcommand("list", "List the studies of a file: points, done and failed, axes, metrics");
  add_file(*verb, command);
  verb->footer("Example:\n  simsgd results list results.db");
  answer(*verb, command, [](const ResultsCommand& asked) {
    return questions::studies_table(StoredResults(asked.file), asked.file);
  });
}

void add_point(CLI::App& results) {
  const auto command = std::make_shared<ResultsCommand>();
  CLI::App* verb =
      results.add_subcommand("show", "Print all metrics of a point; without POINT, the points of a study");
  add_file(*verb, command);
  verb->add_option("POINT", command->point, "Number of the point, as in simsgd sweep plan");
  add_selection(*verb, command);
  verb->footer(
      "Examples:\n  simsgd results show results.db 2\n  simsgd results show results.db --study scaling");
  answer(*verb, command, points_of);
}

void add_table(CLI::App& results) {
  const auto command = std::make_shared<ResultsCommand>();
  CLI::App* verb =
      results.add_subcommand("table", "Print a metric over the axes of a study: mean or median over seeds");
  add_file(*verb, command);
  verb->add_option("--rows", command->table.rows,
                   "Axes of the rows (default: all that vary); \"workers\" for cluster/workers")
      ->type_name("AXES")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--columns", command->table.columns, "Axes of the columns")
      ->type_name("AXES")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_measures(*verb, command->table.measures);
  verb->add_option("--reaches", command->table.reaches,
                   "In place of the metric, the first value of the --columns axis at which it reaches this "
                   "(SI; several with commas)")
      ->type_name("VALUES")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--statistic", command->statistic, "Statistic over the seeds: mean or median")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember({"mean", "median"}));
  verb->add_option("--interval", command->interval,
                   "Interval of a mean: student, or bootstrap (from 30 seeds)")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember({"student", "bootstrap"}));
  add_selection(*verb, command);
  verb->footer(
      "Examples:\n  simsgd results table s.db --rows severity,share --columns algorithm --metric time_to_target_s\n"
      "  simsgd results table s.db --rows workers --metric throughput_samples_per_s,wait_s --format csv\n"
      "  simsgd results table s.db --rows algorithm --columns workers --metric scaling_efficiency --reaches 0.9");
  answer(*verb, command, [](const ResultsCommand& asked) {
    return asked_of(asked, [&](const frame::Frame& frame, std::vector<InputError> errors) {
      questions::SeedTableQuestion question = asked.table;
      question.cell = asked.cell();
      return questions::seed_table(frame, question, std::move(errors));
    });
  });
}

void add_winners(CLI::App& results) {
  const auto command = std::make_shared<ResultsCommand>();
  CLI::App* verb = results.add_subcommand(
      "winners", "Print the best choice under each circumstance, by how much, and how sure that is");
  add_file(*verb, command);
  verb->add_option("--metric", command->winners.measure,
                   "The metric to compare choices by (default: time to target, else throughput)")
      ->type_name("METRIC");
  add_selection(*verb, command);
  verb->footer("Example:\n  simsgd results winners s.db --metric time_to_target_s");
  answer(*verb, command, [](const ResultsCommand& asked) {
    return asked_of(asked, [&](const frame::Frame& frame, std::vector<InputError> errors) {
      return questions::winners_table(frame, asked.winners, std::move(errors));
    });
  });
}

void add_compare(CLI::App& results) {
  const auto command = std::make_shared<ResultsCommand>();
  CLI::App* verb = results.add_subcommand(
      "compare",
      "Compare the values of an axis with one of them, seed by seed, with a verdict; or a real run with its simulation");
  add_file(*verb, command);
  verb->add_option(
      "SIMULATED", command->simulated,
      "To compare two runs: F.db is then a real run (simsgd-measure run -o) and this a simulated one (simsgd run -o), as directories or documents. Two simulated or two real runs work too");
  verb->add_option("--by", command->comparison.by, "The axis whose values are compared")->type_name("AXIS");
  verb->add_option("--baseline", command->comparison.baseline, "The value that the others are compared with")
      ->type_name("VALUE");
  add_measures(*verb, command->comparison.measures);
  verb->get_option("--metric")->required(false);
  add_selection(*verb, command);
  verb->footer(
      "Examples:\n  simsgd results compare s.db --by algorithm --baseline allreduce_sgd --metric time_to_target_s\n"
      "  simsgd results compare s.db --by workers --baseline 4 --metric throughput_samples_per_s\n"
      "  simsgd results compare real/ simulated/");
  verb->callback([command, verb] {
    if (!command->simulated.empty()) {
      for (const char* other : {"--by", "--baseline", "--metric", "--study", "--where"})
        if (verb->get_option(other)->count() > 0) throw CLI::ExcludesError(other, "SIMULATED");
      print_table(questions::run_comparison(command->file, command->simulated), command->table_format());
      return;
    }
    for (const char* needed : {"--by", "--baseline", "--metric"})
      if (verb->get_option(needed)->count() == 0) throw CLI::RequiredError(needed);
    const Table table = asked_of(*command, [&](const frame::Frame& frame, std::vector<InputError> errors) {
      return questions::baseline_table(frame, command->comparison, std::move(errors));
    });
    print_table(table, command->table_format());
  });
}

/// To -o, or to standard output.
void put_out(const ResultsCommand& command, const std::string& text) {
  if (command.output.empty())
    fmt::print("{}", text);
  else
    write_file_atomically(command.output, text);
}

/// How many results have no intervals.
std::size_t export_documents(const ResultsCommand& command) {
  if (command.output.empty()) {
    const std::size_t without = export_results(command.file, std::cout);
    std::cout.flush();
    return without;
  }
  std::ostringstream lines;
  const std::size_t without = export_results(command.file, lines);
  put_out(command, lines.str());
  return without;
}

void export_curves(const ResultsCommand& command, const frame::Frame& frame) {
  frame::expect_results(frame);
  const std::vector<faces::LoggedRun> runs = faces::logged_runs(frame);
  if (command.format == "wandb") return put_out(command, faces::history_lines(runs));
  for (const auto& path : faces::write_event_files(runs, command.output)) fmt::print("{}\n", path.string());
}

void run_export(const ResultsCommand& command) {
  if (command.format == "tensorboard" && command.output.empty())
    throw ConfigError({"--format", "", "needs a folder for its event files", command.format,
                       "Name it with -o DIR, and give the same DIR to TensorBoard as --logdir"});
  std::size_t without = 0;
  if (command.format == "json") {
    without = export_documents(command);
  } else {
    const Table table = asked_of(command, [&](const frame::Frame& frame, std::vector<InputError> errors) {
      if (!errors.empty()) throw ConfigError(std::move(errors));
      if (command.curves()) {
        export_curves(command, frame);
        return Table{};
      }
      Table points = questions::points_table(frame);
      without = questions::add_intervals(frame, points);
      return points;
    });
    if (!command.curves()) put_out(command, formatted(table, command.table_format()));
  }
  if (without > 0)
    fmt::print(
        stderr,
        "{} {} without intervals: sweep run --draws 0 or an earlier simsgd made {}. simsgd sweep run STUDY --force -o {} gives them.\n",
        without, without == 1 ? "result is" : "results are", without == 1 ? "it" : "them", command.file);
}

void add_export(CLI::App& results) {
  const auto command = std::make_shared<ResultsCommand>();
  command->format = "json";
  CLI::App* verb = results.add_subcommand(
      "export", "Print all reproducible results of a file; the same results always give the same bytes");
  verb->add_option("F.db", command->file, kResults)->required();
  verb->add_option(
          "--format", command->format,
          "json: all studies, a JSON document a line; csv, md, latex, html, text: points and metrics of one study; its curves against simulated seconds: wandb, JSON lines as W&B's history has them, and tensorboard, event files below -o DIR")
      ->type_name("FORMAT")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "md", "latex", "html", "csv", "json", "wandb", "tensorboard"}));
  verb->add_option("-o,--output", command->output,
                   "Write to this file, or folder, instead of standard output")
      ->type_name("FILE");
  verb->add_option("--study", command->study, "Name or id of the study, in a file with several")
      ->type_name("NAME");
  verb->footer(
      "Examples:\n  simsgd results export results.db > results.jsonl\n"
      "  simsgd results export results.db --format csv > points.csv\n"
      "  simsgd results export results.db --format tensorboard -o logs");
  verb->callback([command] { run_export(*command); });
}

void add_merge(CLI::App& results) {
  const auto command = std::make_shared<ResultsCommand>();
  CLI::App* verb = results.add_subcommand("merge", "Join several files, or spool files of shards, into one");
  verb->add_option("F.db", command->inputs, "Files to merge; they are not changed")->required();
  verb->add_option("-o,--output", command->output, "File to merge them into")->type_name("F.db")->required();
  verb->footer("Example:\n  simsgd results merge a.db b.db -o all.db");
  verb->callback([command] {
    merge_stores({command->inputs.begin(), command->inputs.end()}, command->output);
  });
}

}  // namespace

void add_selection(CLI::App& verb, std::string& study, std::vector<std::string>& where) {
  verb.add_option("--study", study, "Name or id of the study, in a file with several")->type_name("NAME");
  verb.add_option(
          "--where", where,
          "Only points with this value (repeatable). Values of one axis are alternatives; all axes must match")
      ->type_name("AXIS=VALUE")
      ->allow_extra_args(false);
}

void add_results(CLI::App& app, ExitCode&) {
  CLI::App* results = app.add_subcommand(
      "results", "Print the results of studies: tables, comparisons and winners, with their uncertainty");
  results->require_subcommand(1);
  results->footer(
      "Examples:\n  simsgd results table s.db --rows workers --columns algorithm --metric throughput_samples_per_s\n"
      "  simsgd results compare s.db --by algorithm --baseline allreduce_sgd --metric time_to_target_s\n"
      "What the numbers mean: docs/statistics.md.");
  add_studies(*results);
  add_point(*results);
  add_table(*results);
  add_winners(*results);
  add_compare(*results);
  add_export(*results);
  add_merge(*results);
}

}  // namespace simsgd
