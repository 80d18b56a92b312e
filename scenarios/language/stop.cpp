// The sections "stop", "target" and "record": when a run ends, what it is to reach, what is recorded on the
// way.
#include <nlohmann/json.hpp>

#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"

namespace simsgd {

namespace {

struct StopSection {
  std::optional<std::uint64_t> steps;
  std::optional<double> time_s, samples, epochs;

  void fields(Fields& f) {
    f.whole(
         "steps", steps,
         "The run ends when all workers together have completed this many steps a worker; where they wait for each other, each does exactly this many")
        .at_least(1)
        .example("500");
    f.time("time", time_s, "The run ends at this simulated time").above(0);
    f.number(
         "samples", samples,
         "The run ends when completed steps of all workers together have used this many samples of the workload")
        .above(0);
    f.number(
         "epochs", epochs,
         "The run ends when completed steps of all workers together have passed this many times over the learner's training set")
        .above(0);
  }
};

/// Steps of every worker, or a simulated time with its unit.
Json interval_schema() {
  std::uint64_t steps = RecordSettings().evaluate_every;
  Fields f;
  f.whole("steps", steps, "Steps of every worker, counted as in \"stop\"; 0: only at the end");
  Json counted = f.schema("")["properties"]["steps"];
  counted.erase("default");
  return schema::either(
      "All workers' models are evaluated on the test set at this interval",
      {std::move(counted),
       {{"type", "string"}, {"description", "Simulated time with its unit, such as \"10 s\""}}});
}

struct RecordSection {
  RawValue evaluate_every{Json(RecordSettings().evaluate_every)};
  std::uint64_t timeline_events = 100000;

  void fields(Fields& f) {
    f.raw("evaluate_every", evaluate_every, interval_schema).example("\"10 s\"");
    f.whole("timeline_events", timeline_events,
            "The timeline has at most this many events; with 0 there is none");
  }
};

}  // namespace

Json schema::stop() {
  StopSection section;
  Json json = of(
      section,
      "When the run ends: as soon as one of these is reached, for every algorithm. A step or an exchange that is unfinished by then does not count, but its time does");
  json["minProperties"] = 1;
  return json;
}

StopRule build_stop(const Reader& reader) {
  const auto section = reader.section<StopSection>("/stop");
  StopRule stop;
  stop.steps = section.steps.value_or(stop.steps);
  stop.time_s = section.time_s.value_or(stop.time_s);
  stop.samples = section.samples.value_or(stop.samples);
  return stop;
}

void build_epochs(const Reader& reader, Job& job) {
  if (!reader.usable("/stop")) return;
  const std::optional<double> epochs = reader.section<StopSection>("/stop").epochs;
  if (!epochs) return;
  if (job.learner == nullptr) {
    if (reader.usable("/learner"))
      reader.error("/stop/epochs", "counts passes over a training set, and only a learner has one",
                   "Use \"steps\", \"samples\" or \"time\"");
    return;
  }
  // A step takes `batch` samples of the learner, and stands for a batch of the workload.
  const double steps = *epochs * static_cast<double>(job.learner->train_samples()) / job.learner->batch();
  job.stop.samples = std::min(job.stop.samples, steps * job.workload.batch);
}

Json schema::target() {
  Target section;
  return with_default(
      either("A loss or an accuracy to reach, which gives time_to_target_s; or null",
             {{{"type", "null"}, {"description", "null: none"}},
              of(section, "A loss or an accuracy to reach. The result's time_to_target_s says when")}),
      nullptr);
}

Target build_target(const Reader& reader) {
  if (reader.value("/target").is_null()) return {};
  return reader.section<Target>("/target");
}

Json schema::record() {
  RecordSection section;
  return with_default(of(section, "What is recorded during the run"), Json::object());
}

RecordSettings build_record(const Reader& reader) {
  const auto section = reader.section<RecordSection>("/record");
  RecordSettings record;
  record.timeline_events = section.timeline_events;
  const Json& every = section.evaluate_every.json();
  if (!every.is_string()) {
    record.evaluate_every = every.get<std::uint64_t>();
    return record;
  }
  const ParsedQuantity time = parse_quantity(every.get<std::string>(), Dimension::time_s);
  if (time.ok && time.value > 0)
    record.evaluate_every_s = time.value;
  else
    reader.error("/record/evaluate_every", time.ok ? "is not a time above 0" : time.problem,
                 "Use a number of steps, or a time such as \"10 s\"");
  return record;
}

}  // namespace simsgd
