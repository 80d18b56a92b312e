// The sections "learner" and "optimizer": the small model that really trains, and how a gradient changes it.
#include <nlohmann/json.hpp>

#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/registry.hpp"
#include "sim/learn/optimizers/registry.hpp"

namespace simsgd {

namespace {

using PartitionPlugin = Plugin<PartitionSpec>;

struct DirichletOptions {
  PartitionSpec spec{PartitionSpec::Kind::dirichlet};

  void fields(Fields& f) { f.number("alpha", spec.alpha, "Concentration; smaller is more skewed").above(0); }
};

const std::vector<PartitionPlugin>& partition_plugins() {
  static const std::vector<PartitionPlugin> table = {
      {{"iid", "Every worker draws from all samples, without overlap", ""}, +[] { return PartitionSpec{}; }},
      {{"dirichlet", "Label skew: each worker's mixture of classes is drawn from a Dirichlet distribution",
        "Hsu, Qi, Brown, 2019, arXiv:1909.06335"},
       +[](const DirichletOptions& options) { return options.spec; }},
  };
  return table;
}

struct LearnerSection {
  RawValue model, data;
  RawValue partition{Json{{"name", "iid"}}};
  int batch = 1;

  void fields(Fields& f) {
    f.plugin("model", model, model_plugins(), "The small model that learns").required();
    f.plugin("data", data, data_plugins(), "The data set that it learns from").required();
    f.plugin("partition", partition, partition_plugins(),
             "How the training samples are spread over the workers");
    f.whole("batch", batch, "The model learns from this many samples per worker and step")
        .required()
        .at_least(1);
  }
};

std::optional<DataSets> load_data(const Reader& reader, const RawValue& data, KnownData* known) {
  const std::string at = "/learner/data", file = reader.origin_file(at);
  if (known != nullptr && known->data && known->section == data.json() && known->file == file)
    return known->data;
  auto made = reader.attempt(at, [&] {
    return find_plugin(data_plugins(), data.name(), "data set")
        .make(data.json(),
              {reader.seed(), [&](const std::string& name) { return reader.resolve(at, name); }});
  });
  if (known != nullptr && made) *known = {data.json(), file, made};
  return made;
}

}  // namespace

Json schema::learner() {
  LearnerSection section;
  return with_default(either("The small model that really trains; null simulates time only",
                             {{{"type", "null"}, {"description", "null: time only"}},
                              of(section, "The small model that really trains")}),
                      nullptr);
}

void complete_learner(Json& learner, const Job& job) {
  if (job.learner == nullptr) return;
  const auto section = options_of<LearnerSection>(learner);
  find_plugin(model_plugins(), section.model.name(), "model")
      .complete(learner["model"], job.learner->train_set());
  find_plugin(data_plugins(), section.data.name(), "data set")
      .complete(learner["data"], {.seed = job.seed, .resolve = {}});
}

std::optional<std::unique_ptr<const Learner>> build_learner(const Reader& reader, int workers,
                                                            KnownData* known) {
  using Built = std::unique_ptr<const Learner>;
  if (!reader.usable("/learner") || !reader.usable("/seed")) return std::nullopt;
  if (reader.value("/learner").is_null()) return Built{};
  const auto section = reader.section<LearnerSection>("/learner");
  if (!check_data_size(reader)) return std::nullopt;
  const auto data = load_data(reader, section.data, known);
  if (!data) return std::nullopt;
  auto model = reader.attempt("/learner/model", [&]() -> std::shared_ptr<const Model<float>> {
    return find_plugin(model_plugins(), section.model.name(), "model")
        .make(section.model.json(), *data->train);
  });
  if (!model) return std::nullopt;
  auto learner = reader.attempt("/learner", [&]() -> Built {
    return std::make_unique<const Learner>(
        LearnerSpec{.model = std::move(*model),
                    .train = data->train,
                    .test = data->test,
                    .partition = find_plugin(partition_plugins(), section.partition.name(), "partition")
                                     .make(section.partition.json()),
                    .workers = workers,
                    .batch = section.batch,
                    .seed = reader.seed()});
  });
  if (learner) check_learner_size(reader, **learner, workers);
  return learner;
}

Json schema::optimizer() {
  return with_default(plugin("The optimizer says how a gradient changes the model", optimizer_plugins()),
                      {{"name", optimizer_plugins().front().info.name}});
}

void complete_optimizer(Json& json, const Json& stop) {
  Json& schedule = json["schedule"];
  if (schedule["name"] == "cosine" && !schedule.contains("total_steps") && stop.is_object() &&
      stop.contains("steps"))
    schedule["total_steps"] = stop["steps"];
}

OptimizerSpec build_optimizer(const Reader& reader) {
  const OptimizerSpec spec = make_optimizer(reader.value("/optimizer"));
  if (spec.learning_rate.kind == LearningRate::Kind::cosine && spec.learning_rate.total_steps == 0)
    reader.error("/optimizer/schedule",
                 "needs \"total_steps\", because /stop/steps does not say how long the run is",
                 "Add \"total_steps\"");
  return spec;
}

}  // namespace simsgd
