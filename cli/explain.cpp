// simsgd explain: why N GPUs are not N times one, and what would help, from a few numbers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>

#include "analysis/questions/scaling.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

struct ExplainVerb {
  ScalingQuestion question;
  std::string parameters, step;
  int gpus_per_node = 0;
  const CLI::Option* gpus_per_node_option = nullptr;
  bool json = false;
};

/// "7B" and "110M" are how networks are named: 7e9 and 110e6.
std::string without_suffix(const std::string& parameters) {
  for (const auto& [suffix, power] : {std::pair{'k', "e3"}, {'M', "e6"}, {'B', "e9"}, {'T', "e12"}})
    if (parameters.ends_with(suffix)) return parameters.substr(0, parameters.size() - 1) + power;
  return parameters;
}

/// 0, which is refused with all else that is wrong, where it is not one.
double quantity(const std::string& option, const std::string& text, Dimension dimension,
                std::vector<InputError>& errors) {
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  if (!parsed.ok)
    errors.push_back(
        {option, "", parsed.problem, text, "Write " + std::string(dimension_example(dimension))});
  return parsed.ok ? parsed.value : 0;
}

int explain_scaling(const ExplainVerb& verb) {
  ScalingQuestion question = verb.question;
  std::vector<InputError> errors;
  question.parameters = quantity("--parameters", without_suffix(verb.parameters), Dimension::number, errors);
  question.step_s = quantity("--step", verb.step, Dimension::time_s, errors);
  if (!errors.empty()) throw ConfigError(errors);
  question.framework = lower_case(question.framework);
  if (!question.network.ends_with(".json")) question.network = lower_case(question.network);  // 10GbE
  if (verb.gpus_per_node_option->count() > 0) question.gpus_per_node = verb.gpus_per_node;
  catch_interrupts();
  const auto progress = std::make_shared<Progress>("Simulating", 0);
  const ScalingAnswer made =
      answer(question, {.jobs = available_threads(),
                        .interrupted = interrupted,
                        .progress = [progress](std::size_t done) { progress->at(done); }});
  progress->finish();
  if (verb.json)
    fmt::print("{}\n", scaling_json(made).dump());
  else
    print_wrapped("{}", scaling_text(made, terminal_width()));
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "explain",
      "Explain why N GPUs are not N times one: parts of a step, the bandwidth it needs, what helps");
  auto settings = std::make_shared<ExplainVerb>();
  verb->add_option("--parameters", settings->parameters,
                   "Parameters of the network, such as 110e6, 110M or 7B")
      ->type_name("N")
      ->required();
  verb->add_option("--step", settings->step, "Time of a step on one GPU, such as 0.13s")
      ->type_name("TIME")
      ->required();
  verb->add_option("--gpus", settings->question.gpus, "GPUs that train together")->required();
  verb->add_option(
          "--network", settings->question.network,
          "Network of a node: 1gbe, 10gbe, 25gbe, ... (TCP), ib100, ib200, ... (RDMA), or a cluster file")
      ->required();
  verb->add_option("--framework", settings->question.framework,
                   one_of(scaling_frameworks()) + "; by default ddp, and a cluster file as it is");
  settings->gpus_per_node_option =
      verb->add_option("--gpus-per-node", settings->gpus_per_node,
                       "GPUs of a node (default: the cluster file's; 4, or 1 on 1gbe)")
          ->type_name("N");
  verb->add_flag("--json", settings->json, "Print a document, with the scenario that was simulated");
  verb->footer("Example:\n  simsgd explain --parameters 110e6 --step 0.13s --gpus 16 --network 10gbe");
  verb->callback([settings, &exit_code] { exit_code.value = explain_scaling(*settings); });
}

}  // namespace simsgd
