// Learner, graph, optimizer, stragglers, network settings, stop rule and target.
#include <fmt/format.h>

#include "scenarios/language/build.hpp"
#include "sim/base/distribution_json.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/stragglers/registry.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/models/registry.hpp"
#include "topologies/graph_registry.hpp"

namespace simsgd {

namespace {

/// The plug-in that an object names; the schema has seen to it that there is one.
template <class Plugin>
const Plugin& plugin_of(const std::vector<Plugin>& plugins, const Parameters& object) {
  for (const Plugin& plugin : plugins)
    if (plugin.info.name == object.text("name")) return plugin;
  Parameters::reject("name", "is not known", "Choose one of `simsgd list`");
}

PartitionSpec read_partition(const Parameters& partition) {
  if (partition.text("name") == "iid") return {};
  return {PartitionSpec::Kind::dirichlet, partition.number("alpha")};
}

LearningRate read_learning_rate(const Parameters& optimizer) {
  const Parameters schedule = optimizer.object("schedule");
  LearningRate rate;
  rate.base = optimizer.number("learning_rate");
  rate.warmup_steps = static_cast<std::uint64_t>(schedule.integer("warmup_steps"));
  rate.warmup_from = schedule.number("warmup_from");
  if (schedule.text("name") == "step") {
    rate.kind = LearningRate::Kind::step;
    rate.milestones = schedule.json()["milestones"].get<std::vector<std::uint64_t>>();
    rate.gamma = schedule.number("gamma");
  } else if (schedule.text("name") == "cosine") {
    rate.kind = LearningRate::Kind::cosine;
    rate.total_steps = static_cast<std::uint64_t>(schedule.integer("total_steps", 0));
    rate.floor = schedule.number("floor");
  }
  return rate;
}

DataSets load_data(const Reader& reader, const Parameters& source) {
  const auto resolve = [&reader](const std::string& name) { return reader.resolve("/learner/data", name); };
  return plugin_of(data_plugins(), source).load(source, reader.seed(), resolve);
}

template <class Value>
Value named(const std::string& name, const std::vector<std::pair<const char*, Value>>& table) {
  for (const auto& [each, value] : table)
    if (name == each) return value;
  Parameters::reject("", "is not known", "");
}

}  // namespace

std::optional<std::unique_ptr<const Learner>> build_learner(const Reader& reader, int workers, Known* known) {
  using Built = std::unique_ptr<const Learner>;
  if (!reader.usable("/learner") || !reader.usable("/seed")) return std::nullopt;
  if (reader.value("/learner").is_null()) return Built{};
  const Parameters section = reader.parameters("/learner");
  if (!check_data_size(reader)) return std::nullopt;
  const std::string at = "/learner/data";
  const auto data = remembered(
      reader, at, known == nullptr ? nullptr : &known->data, reader.origin_file(at),
      [&] { return reader.attempt(at, [&] { return load_data(reader, section.object("data")); }); });
  if (!data) return std::nullopt;
  auto model = reader.attempt("/learner/model", [&]() -> std::shared_ptr<const Model<float>> {
    const Parameters parameters = section.object("model");
    return plugin_of(model_plugins(), parameters).make(parameters, *data->train);
  });
  if (!model) return std::nullopt;
  auto learner = reader.attempt("/learner", [&]() -> Built {
    return std::make_unique<const Learner>(
        LearnerSpec{.model = std::move(*model),
                    .train = data->train,
                    .test = data->test,
                    .partition = read_partition(section.object("partition")),
                    .workers = workers,
                    .batch = static_cast<int>(section.integer("batch")),
                    .seed = reader.seed()});
  });
  if (learner) check_learner_size(reader, **learner, workers);
  return learner;
}

std::optional<LogicalGraph> build_graph(const Reader& reader, int workers) {
  const std::string pointer = "/algorithm/graph";
  if (!reader.has(pointer)) return LogicalGraph{};
  if (!reader.usable(pointer) || !reader.usable("/seed")) return std::nullopt;
  return reader.attempt(pointer, [&] {
    return make_graph(
        {.workers = workers,
         .seed = reader.seed(),
         .parameters = reader.parameters(pointer),
         .find_file = [&](const std::string& name) { return reader.resolve(pointer, name).string(); }});
  });
}

OptimizerSpec build_optimizer(const Reader& reader) {
  const Parameters section = reader.parameters("/optimizer");
  OptimizerSpec spec;
  spec.learning_rate = read_learning_rate(section);
  spec.momentum = section.number("momentum");
  spec.nesterov = section.flag("nesterov", false);
  spec.weight_decay = section.number("weight_decay");
  if (spec.learning_rate.kind == LearningRate::Kind::cosine && spec.learning_rate.total_steps == 0)
    reader.error("/optimizer/schedule",
                 "needs \"total_steps\", because /stop/steps does not say how long the run is",
                 "Add \"total_steps\"");
  return spec;
}

std::optional<Stragglers> build_stragglers(const Reader& reader, int workers, const Cluster* cluster) {
  if (!reader.usable("/stragglers") || !reader.usable("/seed")) return std::nullopt;
  Stragglers stragglers;
  StragglerSetup setup{.workers = workers, .node_of_rank = {}, .seed = reader.seed()};
  for (int rank = 0; cluster != nullptr && rank < workers; ++rank)
    setup.node_of_rank.push_back(cluster->node_of_rank(rank));
  bool right = true;
  for (std::size_t i = 0; i < reader.value("/stragglers").size(); ++i) {
    const std::string pointer = child("/stragglers", i);
    setup.index = static_cast<std::uint32_t>(i);
    setup.resolve = [&reader, pointer](const std::string& name) { return reader.resolve(pointer, name); };
    auto made = reader.attempt(pointer, [&] { return make_straggler(reader.parameters(pointer), setup); });
    right = right && made.has_value();
    if (made) stragglers.add(std::move(*made));
  }
  if (!right) return std::nullopt;
  return stragglers;
}

std::optional<NetworkSettings> build_network(const Reader& reader) {
  if (!reader.usable("/network")) return std::nullopt;
  const Parameters section = reader.parameters("/network");
  NetworkSettings settings;
  settings.fidelity = named<Fidelity>(section.text("fidelity"), {{"auto", Fidelity::automatic},
                                                                 {"closed", Fidelity::closed},
                                                                 {"steps", Fidelity::steps},
                                                                 {"flows", Fidelity::flows},
                                                                 {"messages", Fidelity::messages}});
  settings.precision =
      named<Precision>(section.text("precision"),
                       {{"fp32", Precision::fp32}, {"fp16", Precision::fp16}, {"bf16", Precision::bf16}});
  for (const Collective::Op op :
       {Collective::Op::all_reduce, Collective::Op::reduce_scatter, Collective::Op::all_gather,
        Collective::Op::broadcast, Collective::Op::reduce, Collective::Op::barrier})
    settings.schedule[op] = section.text(op_name(op));
  const auto jitter =
      reader.attempt("/network", [&] { return nested_distribution(section, "jitter", DrawUnit::seconds); });
  if (!jitter) return std::nullopt;
  settings.jitter = *jitter;
  return settings;
}

StopRule build_stop(const Reader& reader) {
  const Parameters section = reader.parameters("/stop");
  StopRule stop;
  if (section.has("steps")) stop.steps = static_cast<std::uint64_t>(section.integer("steps"));
  stop.time_s = section.quantity("time", Dimension::time_s, stop.time_s);
  stop.samples = section.number("samples", stop.samples);
  return stop;
}

void build_epochs(const Reader& reader, Job& job) {
  if (!reader.usable("/stop") || !reader.value("/stop").contains("epochs")) return;
  if (job.learner == nullptr) {
    if (reader.usable("/learner"))
      reader.error("/stop/epochs", "counts passes over a training set, and there is no learner",
                   "Use \"steps\", \"samples\" or \"time\"");
    return;
  }
  // A step takes `batch` samples of the learner, and stands for a batch of the workload.
  const double steps = reader.parameters("/stop").number("epochs") *
                       static_cast<double>(job.learner->train_samples()) / job.learner->batch();
  job.stop.samples = std::min(job.stop.samples, steps * job.workload.batch);
}

RecordSettings build_record(const Reader& reader) {
  const Parameters section = reader.parameters("/record");
  RecordSettings record;
  record.timeline_events = static_cast<std::uint64_t>(section.integer("timeline_events"));
  if (!reader.value("/record/evaluate_every").is_string()) {
    record.evaluate_every = static_cast<std::uint64_t>(section.integer("evaluate_every"));
    return record;
  }
  const ParsedQuantity time = parse_quantity(section.text("evaluate_every"), Dimension::time_s);
  if (time.ok && time.value > 0)
    record.evaluate_every_s = time.value;
  else
    reader.error("/record/evaluate_every", time.ok ? "is no time above 0" : time.problem,
                 "Use a number of steps, or a time such as \"10 s\"");
  return record;
}

Target build_target(const Reader& reader) {
  if (reader.value("/target").is_null()) return {};
  const Parameters section = reader.parameters("/target");
  const auto metric =
      named<Target::Metric>(section.text("metric"), {{"train_loss", Target::Metric::train_loss},
                                                     {"test_loss", Target::Metric::test_loss},
                                                     {"test_accuracy", Target::Metric::test_accuracy}});
  return {metric, section.number("value"), section.flag("stop", false),
          static_cast<std::uint64_t>(section.integer("window", 1))};
}

}  // namespace simsgd
