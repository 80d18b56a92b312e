#include "scenarios/language/point_loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/language/communication.hpp"
#include "scenarios/language/job_notes.hpp"
#include "scenarios/language/sections.hpp"
#include "scenarios/language/workload_section.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"

namespace simsgd {

PointLoader::PointLoader(const Study& study, KnownData* known)
    : study_(study),
      loader_(*study.files, study.file == shown_name("-") ? "-" : study.file, true),
      builder_(known) {}

const Scenario& PointLoader::load(const StudyPoint& point) {
  std::vector<Assignment> all = study_.overrides;
  for (Assignment& each : settings_of(point)) all.push_back(std::move(each));
  has_job_ = false;
  const Loading& loaded = loader_.load(all);
  if (!loaded.errors.empty()) finished(loaded);  // throws them
  return loaded.scenario;
}

const Job& PointLoader::job() {
  if (has_job_) return builder_.job();
  ErrorList errors;
  builder_.build(loader_.loaded().scenario, errors, loader_.sections());
  errors.throw_if_any();
  has_job_ = true;
  return builder_.job();
}

std::string PointLoader::text_with(const Texts& others) {
  std::string all;
  all.reserve(32 << 10);  // a workload of 160 tensors takes 24 kB
  for (const auto& member : loader_.loaded().scenario.resolved.items()) {
    const std::string& name = member.key();
    all.append(all.empty() ? "{\"" : ",\"").append(name).append("\":");
    if (const auto other = others.find(name); other != others.end()) {
      all += other->second;
      continue;
    }
    Text& text = texts_[name];
    const auto& section = loader_.sections().at(name);
    if (text.section != section || name == "optimizer" || name == "expected")
      text = {section, member.value().dump()};
    all += text.json;
  }
  return all + "}";
}

std::string PointLoader::text() { return text_with({}); }

std::string PointLoader::completed_text() {
  const Json& resolved = loader_.loaded().scenario.resolved;
  const Sections& now = loader_.sections();
  if (completed_.empty() || completed_.at("cluster") != now.at("cluster") ||
      completed_.at("network") != now.at("network")) {
    Json cluster = resolved["cluster"], network = resolved["network"];
    complete_machines(cluster, network);
    completed_texts_ = {{"cluster", cluster.dump()}, {"network", network.dump()}};
  }
  completed_ = now;
  Json learner = resolved["learner"], algorithm = resolved["algorithm"];
  complete_learner(learner, builder_.job());
  complete_algorithm(algorithm, loader_.loaded().scenario, builder_.job());
  completed_texts_["learner"] = learner.dump();
  completed_texts_["algorithm"] = algorithm.dump();
  return text_with(completed_texts_);
}

namespace {

constexpr std::size_t kMostPlans = 64;  // methods may send other sizes in every run

void check_learning(const Reader& reader, const Learner* learner) {
  if (learner == nullptr && reader.usable("/workload") && reader.value("/workload") == "self")
    reader.error("/workload", "belongs to a learner, which this scenario lacks",
                 "Add \"learner\", or use a workload file");
  if (!reader.usable("/target") || reader.value("/target").is_null()) return;
  if (learner == nullptr)
    reader.error("/target", "asks for a loss or an accuracy, and only a learner has one",
                 "Add \"learner\", or remove it");
  else if (!learner->has_test() && reader.value("/target/metric") != "train_loss")
    reader.error("/target/metric", "needs test data, but the data set has none", "Use train_loss");
  else if (reader.value("/target/stop") == true && reader.value("/target/metric") != "train_loss" &&
           reader.usable("/record") && reader.value("/record/evaluate_every") == 0)
    reader.error("/target/stop", "asks to stop at a level that is measured only at the end",
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
  return std::ranges::any_of(names, [this](const char* name) { return before_.at(name) != now_->at(name); });
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
  const bool same = !differs({"cluster", "network"}) && !(differs({"seed"}) && is_placed_by_seed(reader));
  if (!now_->empty() && (!same || job_.known_plans->size() > kMostPlans))
    job_.known_plans = std::make_shared<KnownPlans>();
  if (same) return;
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
  const bool other_island = (with_islands_ || job_.cluster.island) &&
                            differs({"cluster", "network"});  // its exchange is part of the times
  if (!learner_is_new_ && !other_device && !other_island && !differs({"workload"}) &&
      job_.network.precision == precision_)
    return;
  const WorkloadSetting setting{.device = machines ? &job_.cluster.device : nullptr,
                                .learner = job_.learner.get(),
                                .precision = job_.network.precision};
  timing_notes_.clear();
  if (auto workload = build_workload(reader, setting, timing_notes_)) {
    job_.workload = std::move(*workload);
    build_island(reader, job_, timing_notes_);
  }
  with_islands_ = job_.cluster.island.has_value();
  if (machines) device_ = reader.value("/cluster/device");
  precision_ = job_.network.precision;
}

/// The graph and the algorithm, once everything that they may look at is there.
void JobBuilder::build_method(const Reader& reader) {
  if (!reader.usable("/cluster/workers") || !reader.usable("/algorithm") || job_.workload.layers.empty())
    return;
  const int workers = reader.value("/cluster/workers").get<int>();
  if (differs({"algorithm", "cluster", "seed"})) {
    auto graph = build_graph(reader, workers);
    if (!graph) return;
    job_.graph = std::move(*graph);
  }
  build_algorithm(reader, workers, job_);
  if (job_.workers() == 0) return;
  check_parts(reader, job_.workload);
  if (auto note = note_on_host_costs(job_.cluster)) add_note(job_.notes, std::move(*note));
  // A fit to operations finds latencies as parts of the operations, and leaves those of the links at 0.
  if (!reader.value("/cluster").contains("calibration"))
    if (auto note = note_on_latency(job_.cluster)) add_note(job_.notes, std::move(*note));
}

void JobBuilder::build_all(const Reader& reader) {
  build_settings(reader);
  if (differs({"cluster"})) check_workers(reader);
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

Job build_job(const Scenario& scenario, ErrorList& errors, KnownData* known) {
  return std::move(JobBuilder(known).build(scenario, errors));
}

Json completed(const Scenario& scenario, const Job& job) {
  Json all = scenario.resolved;
  complete_machines(all["cluster"], all["network"]);
  complete_learner(all["learner"], job);
  complete_algorithm(all["algorithm"], scenario, job);
  return all;
}

Job make_job(const Scenario& scenario, KnownData* known) {
  ErrorList errors;
  Job job = build_job(scenario, errors, known);
  errors.throw_if_any();
  return job;
}

Job make_job(const Scenario& scenario) { return make_job(scenario, nullptr); }

Loading load_around_cluster(const std::string& path, std::optional<int> workers, const Overrides& overrides) {
  JsonFiles files;
  const std::string file = scenario_path(path);
  const Json& json = files.read(file);
  const bool scenario = json.is_object() && json.contains("cluster");
  std::vector<Assignment> all;
  if (!scenario) all.push_back({"/cluster/use", file, {"--cluster", ""}});
  if (workers || !scenario)
    all.push_back({"/cluster/workers", workers.value_or(kBenchWorkers), {"--workers", ""}});
  for (Assignment& each : assignments(overrides)) all.push_back(std::move(each));
  if (scenario) return load(files, file, all, true);
  files.put("--cluster", Json::object());
  return load(files, "--cluster", all, false);
}

namespace {

/// What is missing or wrong in other sections is not an error here.
ClusterFile cluster_of(const Scenario& scenario, ErrorList& errors) {
  const Reader reader(scenario, errors);
  std::optional<Machines> machines = build_cluster(reader);
  CollectivePolicies collectives = build_policies(reader, machines ? machines->stack : std::nullopt);
  errors.throw_if_any("/cluster");
  errors.throw_if_any("/network");
  return {std::move(machines->cluster), std::move(collectives)};
}

}  // namespace

ClusterFile make_cluster(const Scenario& scenario) {
  ErrorList errors;
  return cluster_of(scenario, errors);
}

ClusterFile load_cluster(const std::string& path, std::optional<int> workers, const Overrides& overrides) {
  Loading loading = load_around_cluster(path, workers, overrides);
  return cluster_of(loading.scenario, loading.errors);
}

}  // namespace simsgd
