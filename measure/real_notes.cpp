#include "measure/real_notes.hpp"

#include <fmt/format.h>

#include "scenarios/language/scenario.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

std::vector<Note> notes_on_real_run(const Scenario& scenario, const Job& job, const RealRun& how) {
  const bool emulates = how.emulates;
  std::vector<Note> notes;
  const auto note = [&notes](std::string text) { add_note(notes, {"real-run", std::move(text)}); };
  if (how.scenario_schedules)
    note(
        "The network is the one between the ranks. Collectives go by the scenario's schedules, message by message: the messages carry the values, and sums come out of them in the schedule's order.");
  else
    note(
        "The network is the one between the ranks, and MPI chooses the schedules; the scenario's network, host costs and schedules only serve predictions. Bytes sent are those of a schedule that sends least. Exchanges between neighbours, and what else a method has a schedule of its own for, go by that, message by message.");
  const bool other_workload = scenario.resolved.at("workload") != "self";
  if (!job.learner)
    note(
        "There is no learner: the workload's compute times are slept through, and messages carry zeros of the workload's sizes.");
  else if (emulates)
    note(fmt::format(
        "Computing is emulated: values are the learner's ({} parameters), times and message sizes those of {}. Messages are filled up to the workload's sizes, and longer where the values need it.",
        job.learner->parameters(), job.workload.name));
  else if (other_workload)
    note(fmt::format("Times and message sizes are the learner's ({} parameters in fp32), not those of {}.",
                     job.learner->parameters(), job.workload.name));
  if (job.learner && !emulates && (!job.cluster.node_speed.empty() || other_workload))
    note("Computing takes the time it takes here: speeds of nodes and compute factors are not applied.");
  if (job.learner && job.network.precision != Precision::fp32)
    note("Values are rounded to the scenario's precision, and travel in fp32.");
  if (!job.stragglers.empty()) note("Stragglers' delays are slept through.");
  return notes;
}

void require_roles(const Scenario& scenario, const Job& job) {
  if (job.algorithm->needs_others() || !job.target.stop) return;
  const std::string name = scenario.resolved.at("algorithm").at("name").get<std::string>();
  throw ConfigError(
      {.file = scenario.file,
       .pointer = "/target/stop",
       .problem = fmt::format(
           "cannot end a real run of {}: its workers never meet, so nobody knows at which instant the target is reached",
           name),
       .found = "true",
       .remedy =
           "Give /stop a time or steps, and set /target/stop to false: time_to_target_s is then known at the end"});
}

}  // namespace simsgd
