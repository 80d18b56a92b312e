#include "algorithms/sparse/gathered_topk.hpp"

#include "algorithms/plugin.hpp"

namespace simsgd {

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

}  // namespace

GatheredTopK::GatheredTopK(SparsificationSettings settings, const std::string& all_gather, int workers,
                           std::optional<EntrySelection> selection)
    : settings_(std::move(settings)), selection_(std::move(selection)) {
  for (std::size_t phase = 0; phase < settings_.phases.size(); ++phase)
    schedules_.push_back(std::make_shared<const Schedule>(all_gather_of(
        all_gather, workers, workers * settings_.message_entries(phase) * settings_.bytes_per_entry)));
}

void GatheredTopK::run(Worker& worker) const {
  Sparsifier sparsifier(worker, settings_, selection_ ? &*selection_ : nullptr);
  StepAverages distinct, chosen;
  while (worker.next_step()) {
    const Sparsifier::Choice choice = sparsifier.choose(worker.compute().gradient());
    const Tensor mean = exchange(worker, choice.selected);
    worker.compute().spend(
        Activity::host,
        worker.size() * settings_.message_entries(settings_.phase_at(worker.step())) * settings_.add_s);
    sparsifier.set_residual(without(worker.executor(), choice.accumulated, choice.selected));
    worker.replica().apply(mean);
    if (worker.rank() != 0) continue;
    distinct.add(worker.executor(), mean);
    if (selection_)
      chosen.add(worker.executor(), share_chosen(worker.executor(), choice.selected, sparsifier.entries()));
  }
  const std::vector<double> means = distinct.means(worker.executor());
  if (!means.empty())
    worker.record().table({"merges", {"round", "distinct_indices_mean"}, {{1.0, means.front()}}});
  if (const auto shares = chosen.means(worker.executor()); !shares.empty())
    worker.record().number("chosen_over_k", shares.front());
}

std::vector<MemoryPart> GatheredTopK::memory(const MemoryContext& context) const {
  return replica_memory_and(context,
                            {{"residual", context.vector_bytes()},
                             {"chosen entries", settings_.message_entries(0) * settings_.bytes_per_entry}});
}

Tensor GatheredTopK::exchange(Worker& worker, const Tensor& selected) const {
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

void note_adding(const AlgorithmContext& context) {
  if (context.cluster != nullptr)
    note_cluster_cost(context, context.cluster->host.scatter_add_s, "adding gathered entries takes no time",
                      "host.scatter_add");
}

}  // namespace simsgd
