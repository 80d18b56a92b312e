#include "scenarios/language/job_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/language/job_notes.hpp"
#include "scenarios/language/sections.hpp"
#include "scenarios/language/workload_section.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"

namespace simsgd {

namespace {

void check_learning(const Reader& reader, const Learner* learner) {
  if (learner == nullptr && reader.usable("/workload") && reader.value("/workload") == "self")
    reader.error("/workload", "is the learner's, and there is no learner",
                 "Add \"learner\", or use a workload file");
  if (!reader.usable("/target") || reader.value("/target").is_null()) return;
  if (learner == nullptr)
    reader.error("/target", "asks for a level of learning, and there is no learner",
                 "Add \"learner\", or remove it");
  else if (!learner->has_test() && reader.value("/target/metric") != "train_loss")
    reader.error("/target/metric", "needs test data, and the data set has none", "Use train_loss");
  else if (reader.value("/target/stop") == true && reader.value("/target/metric") != "train_loss" &&
           reader.usable("/record") && reader.value("/record/evaluate_every") == 0)
    reader.error("/target/stop", "asks to stop at a level that is only measured at the end",
                 "Set /record/evaluate_every to the steps between evaluations, or a time such as \"10 s\"");
}

/// Parts that an algorithm makes of a batch are passes of their own.
void check_parts(const Reader& reader, const Workload& workload) {
  const Json& algorithm = reader.value("/algorithm");
  if (!workload.step_law || !algorithm.contains("micro_batches")) return;
  const auto parts = algorithm["micro_batches"].get<int>();
  const double samples = static_cast<double>(workload.batch) / workload.micro_batches / parts;
  if (workload.step_law->holds(samples)) return;
  reader.error("/algorithm/micro_batches",
               fmt::format("makes parts of {}, beyond the {} that step_cost/times were measured with",
                           samples_text(samples), range_text(*workload.step_law)),
               "Use fewer, a larger batch, or measure more");
}

bool is_placed_by_seed(const Reader& reader) {
  const Json& placement = reader.value("/cluster/placement");
  return placement.is_object() && !placement.contains("seed");
}

}  // namespace

bool JobBuilder::differs(std::initializer_list<const char*> names) const {
  if (before_.empty()) return true;
  return std::any_of(names.begin(), names.end(),
                     [this](const char* name) { return before_.at(name) != now_->at(name); });
}

/// What needs no other section.
void JobBuilder::build_settings(const Reader& reader) {
  job_.name = reader.value("/name").is_string() ? reader.value("/name").get<std::string>() : "";
  if (reader.usable("/seed")) job_.seed = reader.seed();
  learner_is_new_ = differs({"learner"}) || (job_.learner != nullptr && differs({"seed", "cluster"}));
  if (reader.usable("/optimizer") && (learner_is_new_ || differs({"optimizer", "stop"})))
    job_.optimizer = build_optimizer(reader);
  if (reader.usable("/stop")) job_.stop = build_stop(reader);
  if (reader.usable("/target") && differs({"target"})) job_.target = build_target(reader);
  if (reader.usable("/record") && differs({"record"})) job_.record = build_record(reader);
}

void JobBuilder::build_machines(const Reader& reader) {
  if (!differs({"cluster", "network"}) && !(differs({"seed"}) && is_placed_by_seed(reader))) return;
  auto machines = build_cluster(reader);
  if (auto network = build_network(reader, machines ? &*machines : nullptr))
    job_.network = std::move(*network);
  if (machines) job_.cluster = std::move(machines->cluster);
}

/// What depends on the number of workers.
void JobBuilder::build_training(const Reader& reader, int workers) {
  if (learner_is_new_) {
    if (auto learner = build_learner(reader, workers, known_)) {
      job_.learner = std::move(*learner);
      if (job_.learner)
        job_.optimizer.rule = rule_of_model(job_.optimizer.rule, job_.learner->model().layers());
      check_learning(reader, job_.learner.get());
    }
  } else {
    check_learning(reader, job_.learner.get());
  }
  if (differs({"stragglers", "seed", "cluster"})) {
    const Cluster* cluster = job_.workers() > 0 ? &job_.cluster : nullptr;
    if (auto stragglers = build_stragglers(reader, workers, cluster))
      job_.stragglers = std::move(*stragglers);
  }
  if (differs({"failures", "cluster"}))
    if (auto failures = build_failures(reader, workers)) job_.failures = std::move(*failures);
}

void JobBuilder::build_timing(const Reader& reader) {
  const bool machines = job_.workers() > 0;
  const bool other_device = differs({"cluster"}) && (!machines || reader.value("/cluster/device") != device_);
  if (!learner_is_new_ && !other_device && !differs({"workload"}) && job_.network.precision == precision_)
    return;
  const WorkloadSetting setting{.device = machines ? &job_.cluster.device : nullptr,
                                .learner = job_.learner.get(),
                                .precision = job_.network.precision};
  timing_notes_.clear();
  if (auto workload = build_workload(reader, setting, timing_notes_)) job_.workload = std::move(*workload);
  if (machines) device_ = reader.value("/cluster/device");
  precision_ = job_.network.precision;
}

/// The graph and the algorithm, once everything that they may look at is there.
void JobBuilder::build_method(const Reader& reader) {
  if (!reader.usable("/cluster") || !reader.usable("/algorithm") || job_.workload.layers.empty()) return;
  if (differs({"algorithm", "cluster", "seed"})) {
    auto graph = build_graph(reader, job_.workers());
    if (!graph) return;
    job_.graph = std::move(*graph);
  }
  build_algorithm(reader, job_);
  check_parts(reader, job_.workload);
  if (auto note = note_on_host_costs(job_.cluster)) add_note(job_.notes, std::move(*note));
  if (auto note = note_on_latency(job_.cluster)) add_note(job_.notes, std::move(*note));
}

void JobBuilder::build_all(const Reader& reader) {
  build_settings(reader);
  check_workers(reader);
  const bool counted = reader.usable("/cluster/workers");
  build_machines(reader);
  if (counted) build_training(reader, reader.value("/cluster/workers").get<int>());
  build_timing(reader);
  job_.notes = timing_notes_;
  build_epochs(reader, job_);
  check_durations(reader, job_);
  check_length(reader, job_);
  build_method(reader);
}

Job& JobBuilder::build(const Scenario& scenario, ErrorList& errors, const Sections& sections) {
  const Reader reader(scenario, errors);
  const auto begin_anew = [this] {
    before_.clear();
    job_ = {};
  };
  if (sections.empty()) begin_anew();
  now_ = &sections;
  const bool kept = !before_.empty();
  try {
    build_all(reader);
    if (kept && !errors.empty()) {  // what was kept may stand where nothing could be built
      begin_anew();
      errors = {};
      build_all(reader);
    }
  } catch (const ConfigError&) {  // more errors than anybody reads
    begin_anew();
    throw;
  }
  if (errors.empty()) note_job(reader, job_);
  before_ = errors.empty() ? sections : Sections();
  return job_;
}

}  // namespace simsgd
