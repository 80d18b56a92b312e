// Top-k S-SGD: every worker sends its k largest entries to all, and applies the sum of all that were sent.
//   a_i = r_i + g_i;  V_i = the k entries of a_i largest in magnitude;  r_i <- a_i - V_i
//   x <- x - eta U(1/P sum_j V_j),  U the optimizer, on dense vectors; all replicas stay equal
// Aji, Heafield, EMNLP 2017, arXiv:1704.05021; as the baseline of Shi et al., ICDCS 2019, arXiv:1901.04359.
// Bytes: an all-gather of k entries each, (P-1) k. Every worker adds all k P entries into a dense vector.
#include "algorithms/cost_notes.hpp"
#include "algorithms/plugin.hpp"
#include "algorithms/sparse/sparsification.hpp"
#include "sim/base/check.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd::algorithms {

namespace {

// The sum of sparse vectors as a dense one; scalars: how many distinct indices they have.
Tensor sum_all(Executor& executor, const std::vector<Tensor>& contributions, std::size_t size, double scale) {
  if (!contributions.front()) return {};
  return executor.submit(contributions, [size, scale = static_cast<float>(scale)](TensorData& out, auto in) {
    out.values.assign(size, 0.0f);
    std::vector<bool> touched(size, false);
    std::size_t distinct = 0;
    for (const TensorData* sparse : in) {
      for (std::size_t i = 0; i < sparse->values.size(); ++i) {
        const auto index = static_cast<std::size_t>(sparse->indices[i]);
        out.values[index] += sparse->values[i];
        distinct += touched[index] ? 0U : 1U;
        touched[index] = true;
      }
    }
    for (float& value : out.values) value *= scale;
    out.scalars = {static_cast<double>(distinct)};
  });
}

Tensor without(Executor& executor, const Tensor& accumulated, const Tensor& selected) {
  if (!accumulated) return {};
  return executor.submit({accumulated, selected}, [](TensorData& out, auto in) {
    out.values = in[0]->values;
    for (const std::int32_t index : in[1]->indices) out.values[static_cast<std::size_t>(index)] = 0;
  });
}

class TopKSgd final : public Algorithm {
 public:
  TopKSgd(SparsificationSettings settings, const std::string& schedule, int workers)
      : settings_(std::move(settings)) {
    const SchedulePlugin* plugin = find_schedule(CollectiveOp::all_gather, schedule);
    CHECK(plugin != nullptr, "the schema offers only schedules that there are");
    for (std::size_t phase = 0; phase < settings_.phases.size(); ++phase) {
      ScheduleRequest request;
      request.ranks = workers;
      request.bytes = workers * settings_.message_entries(phase) * settings_.bytes_per_entry;
      schedules_.push_back(std::make_shared<const Schedule>(plugin->make(request)));
    }
  }

  void run(Worker& worker) const override {
    Sparsifier sparsifier(worker, settings_);
    StepAverages distinct;
    while (worker.next_step()) {
      const Sparsifier::Choice choice = sparsifier.choose(worker.compute().gradient());
      const Tensor mean = exchange(worker, choice.selected);
      worker.compute().spend(
          Activity::host,
          worker.size() * settings_.message_entries(settings_.phase_at(worker.step())) * settings_.add_s);
      sparsifier.set_residual(without(worker.executor(), choice.accumulated, choice.selected));
      worker.replica().apply(mean);
      if (worker.rank() == 0) distinct.add(worker.executor(), mean);
    }
    const std::vector<double> means = distinct.means(worker.executor());
    if (!means.empty())
      worker.record().table({"merges", {"round", "distinct_indices_mean"}, {{1.0, means.front()}}});
  }

  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context,
                              {{"residual", context.vector_bytes()},
                               {"chosen entries", settings_.message_entries(0) * settings_.bytes_per_entry}});
  }

 private:
  Tensor exchange(Worker& worker, const Tensor& selected) const {
    const std::size_t phase = settings_.phase_at(worker.step());
    CustomCollective collective;
    collective.messages = schedules_[phase];
    collective.bytes = settings_.message_entries(phase) * settings_.bytes_per_entry;
    collective.tensors = 0;
    collective.contribution = selected;
    if (selected)
      collective.effect = [size = worker.replica().size()](Executor& executor,
                                                           const std::vector<Tensor>& contributions) {
        return std::vector<Tensor>{
            sum_all(executor, contributions, size, 1.0 / static_cast<double>(contributions.size()))};
      };
    return worker.collectives().run(std::move(collective));
  }

  SparsificationSettings settings_;
  std::vector<std::shared_ptr<const Schedule>> schedules_;  // of each phase; shared with the operations
};

std::vector<std::string> all_gather_schedules() {
  std::vector<std::string> names;
  for (const SchedulePlugin& plugin : schedule_plugins())
    if (plugin.op == CollectiveOp::all_gather) names.push_back(plugin.info.name);
  return names;
}

struct TopKSgdOptions : SparsificationOptions {
  std::string all_gather = "bruck";

  void fields(Fields& f) {
    SparsificationOptions::fields(f);
    f.choice("all_gather", all_gather, all_gather_schedules(),
             "The all-gather takes this schedule; bruck takes the time of recursive doubling");
  }
};

MadeAlgorithm make_topk_sgd(const TopKSgdOptions& options, const AlgorithmContext& context) {
  if (context.cluster != nullptr)
    note_cluster_cost(context, context.cluster->host.scatter_add_s, "adding gathered entries takes no time",
                      "host.scatter_add");
  return std::make_unique<TopKSgd>(sparsification_of(options, context), options.all_gather, context.workers);
}

}  // namespace

std::vector<AlgorithmPlugin> topk_sgd() {
  return {
      {{.name = "topk_sgd",
        .summary = "sparsified SGD: the k largest entries of every worker are gathered and added everywhere",
        .citation = "Aji, Heafield, EMNLP 2017, arXiv:1704.05021"},
       "an all-gather of k entries of each worker: (P-1) k",
       {.sends = {Traffic::gradient}, .activities = {Activity::selection}},
       make_topk_sgd}};
}

}  // namespace simsgd::algorithms
