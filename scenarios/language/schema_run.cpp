// Schema of how a run is simulated, ended, recorded and compared: "network", "failures", "stop", "target",
// "record", "expected", and of a study's "axes" and "seeds".
#include "scenarios/language/axes.hpp"
#include "scenarios/language/schema_parts.hpp"
#include "sim/base/distribution_json.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::schema {

namespace {

Json schedule_of(Collective::Op op) {
  std::vector<std::string> names;
  for (const SchedulePlugin& each : schedule_plugins())
    if (each.op == op) names.push_back(each.info.name);
  return with_default(choice("Schedule of " + op_name(op), names), default_schedule(op));
}

Json pointer_text() { return text("JSON pointer to what varies, such as \"/cluster/workers\""); }

Json with_pointer(const std::string& description, const std::string& key, Json values) {
  return object(description, {{"pointer", pointer_text()}, {key, std::move(values)}}, {"pointer", key});
}

std::vector<Json> simple_axes() {
  const Json bound = {{"type", {"number", "string"}}, {"description", "A number, or text with a unit"}};
  Json values = list("The values, one after another", {{"description", "Any value"}});
  values["minItems"] = 1;
  return {with_pointer("A list of values", "values", std::move(values)),
          with_pointer("Equal ratios", "log_range",
                       object("Equal ratios between two bounds, both included; whole numbers stay whole",
                              {{"from", bound},
                               {"to", bound},
                               {"points", at_most(integer("How many values", 2), kMostPoints)}},
                              {"from", "to", "points"})),
          with_pointer("Equal steps", "range",
                       object("Equal steps from one bound to the other, which is included where it is hit",
                              {{"from", bound}, {"to", bound}, {"step", bound}}, {"from", "to", "step"}))};
}

// What a network section says of links that differ from the cluster's.
Json slow_links() {
  Json nodes = list("The cables between these nodes and the network, both directions",
                    integer("Number of a node, from 0", 0));
  nodes["minItems"] = 1;
  Json links = list("Links by name, one direction each, as results list them", text("Name of a link"));
  links["minItems"] = 1;
  Json entry = object(
      "Changes of some links; without \"nodes\" and \"links\" of all",
      {{"nodes", std::move(nodes)},
       {"links", std::move(links)},
       {"bandwidth_factor", with_default(above(number("Share of the bandwidth that is left"), 0), 1)},
       {"extra_latency",
        with_default(at_least(quantity("time", "Latency that is added, for each such link crossed"), 0), 0)},
       {"jitter_factor",
        at_least(number("Sets how many times the jitter counts on messages that cross them: the greatest of "
                        "their path; 1 where nothing sets it"),
                 0)}});
  return with_default(list("Links that differ from what the cluster says, in order", std::move(entry)),
                      Json::array());
}

}  // namespace

Json network() {
  Json properties = {
      {"fidelity", with_default(choice("How collectives are costed; auto: the fastest way that is exact here",
                                       {"auto", "closed", "steps", "flows", "messages"}),
                                "auto")},
      {"precision",
       with_default(choice("Format of numbers in messages; sums are fp32", {"fp32", "fp16", "bf16"}),
                    "fp32")},
      {"jitter",
       with_default(nested_distribution_schema(DrawUnit::seconds, "Extra latency of each message"), 0)},
      {"slow_links", slow_links()}};
  for (const Collective::Op op :
       {Collective::Op::all_reduce, Collective::Op::reduce_scatter, Collective::Op::all_gather,
        Collective::Op::broadcast, Collective::Op::reduce, Collective::Op::barrier})
    properties[op_name(op)] = schedule_of(op);
  return with_default(object("How communication is simulated", std::move(properties)), Json::object());
}

Json failures() {
  const auto time = [](const std::string& description) {
    return with_default(at_least(quantity("time", description), 0), 0);
  };
  Json crash = object("A crash",
                      {{"worker", integer("Rank of the worker", 0)},
                       {"time", above(quantity("time", "When; without effect while the worker is down"), 0)}},
                      {"worker", "time"});
  return with_default(
      object(
          "Crashes of workers, which restart and go on from their last checkpoint; how is the algorithm's",
          {{"mean_time_between",
            above(quantity("time", "Mean time between failures of one worker, exponential; absent: none"),
                  0)},
           {"restart", time("From a crash until the worker computes again")},
           {"checkpoint_every", with_default(big_integer("Steps between two checkpoints of a worker", 1), 1)},
           {"checkpoint", time("That writing a checkpoint stops the worker")},
           {"crashes", with_default(list("Crashes at given times", std::move(crash)), Json::array())}}),
      Json::object());
}

Json stop() {
  Json schema = object(
      "When the run ends: at the first of these. Workers that need each other complete the steps that "
      "anybody has "
      "begun; others (ad_psgd, eager_sgd) are stopped at that instant",
      {{"steps",
        big_integer("After this many steps of every worker; of every worker on average where they do not "
                    "need each other",
                    1)},
       {"time", above(quantity("time", "No worker begins a step at or after this simulated time"), 0)},
       {"samples", above(number("After this many samples of the workload, of all workers together"), 0)},
       {"epochs",
        above(number("After this many passes of all workers together over the learner's training set"), 0)}});
  schema["minProperties"] = 1;
  return schema;
}

Json target() {
  Json form = object(
      "A level to reach; gives time_to_target_s",
      {{"metric", choice("What is to reach it", {"train_loss", "test_loss", "test_accuracy"})},
       {"value", number("At most this loss, or at least this accuracy (0.86 is 86 %)")},
       {"window", with_default(big_integer("The mean over so many steps (train_loss) or evaluations "
                                           "must reach it",
                                           1),
                               1)},
       {"stop", with_default(flag("Whether the run ends at the instant at which it is reached"), false)}},
      {"metric", "value"});
  return with_default(either("A level that the run is asked to reach, or null",
                             {{{"type", "null"}, {"description", "null: none"}}, std::move(form)}),
                      nullptr);
}

Json record() {
  return with_default(
      object(
          "What is recorded on the way",
          {{"evaluate_every",
            with_default(
                either("Between evaluations of all workers' models on the test set",
                       {big_integer("Steps of every worker, counted as in \"stop\"; 0: only at the end", 0),
                        text("Simulated time with its unit, such as \"10 s\"")}),
                0)},
           {"timeline_events",
            with_default(big_integer("Most events in the timeline; 0: no timeline", 0), 100000)}}),
      Json::object());
}

Json expected() {
  std::vector<std::string> names;
  for (const Metric& metric : metrics()) names.push_back(metric.name);
  Json when = {
      {"type", "object"},
      {"description", "Only where these pointers have these values, such as {\"/cluster/workers\": 8}"}};
  return with_default(
      list("Measured values to compare the simulation with",
           object("A measured value",
                  {{"metric", choice("Name of a metric", names)},
                   {"value", number("As measured, in SI")},
                   {"tolerance", at_least(number("Greatest relative deviation that still agrees"), 0)},
                   {"source", text("Who measured it, and where it is printed")},
                   {"when", std::move(when)}},
                  {"metric", "value", "tolerance", "source"})),
      Json::array());
}

Json axes() {
  std::vector<Json> forms = simple_axes();
  Json zipped = list("Axes of equal length that vary together", either("An axis", forms));
  zipped["minItems"] = 1;
  forms.push_back(object("Axes that vary together", {{"zip", std::move(zipped)}}, {"zip"}));
  return list("What a study varies; the points are all combinations, the last axis fastest",
              either("An axis", forms));
}

Json seeds() {
  Json numbers = list("The seeds", big_integer("A seed", 0));
  numbers["minItems"] = 1;
  numbers["uniqueItems"] = true;
  return either("Seeds of a study: each point runs with each of them",
                {at_most(integer("How many: 1, 2, ...", 1), kMostPoints), std::move(numbers)});
}

}  // namespace simsgd::schema
