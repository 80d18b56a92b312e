// gTop-k S-SGD: all workers apply the same k entries, found by a tree of top operators.
//   a_i = r_i + g_i;  V_i = the k entries of a_i largest in magnitude, I_i their indices
//   (V, I) = gTopKAllReduce(V_1, ..., V_P);  r_i <- a_i without the entries of I_i that count as sent
//   x <- x - eta U(V / P),  U the optimizer, on dense vectors; all replicas stay equal
// Shi, Wang, Zhao, Tang, Wang, Huang, Chu, "A Distributed Synchronous SGD Algorithm with Global Top-k
// Sparsification for Low Bandwidth Networks", ICDCS 2019, algorithms 1 to 4, arXiv:1901.04359. Rounds, other
// P than 2^n and what counts as sent: sparse_exchange.hpp. Top-k is over the whole model; nothing
// overlaps with the backward pass. Bytes: one message of k entries per rank and round.
#include "algorithms/plugin.hpp"
#include "algorithms/sparse/sparse_exchange.hpp"
#include "algorithms/sparse/sparsification.hpp"

namespace simsgd::algorithms {

namespace {

class GTopK final : public Algorithm {
 public:
  GTopK(SparsificationSettings settings, MergeScheduleRequest request)
      : settings_(std::move(settings)), request_(request) {
    for (std::size_t phase = 0; phase < settings_.phases.size(); ++phase) {
      request.entries = settings_.message_entries(phase);
      schedules_.push_back(std::make_shared<const Schedule>(merge_schedule(request)));
    }
  }

  void run(Worker& worker) const override {
    Sparsifier sparsifier(worker, settings_);
    StepAverages distinct;
    while (worker.next_step()) {
      const Sparsifier::Choice choice = sparsifier.choose(worker.compute().gradient());
      const Tensor merged = merge(worker, choice.selected, sparsifier.entries());
      sparsifier.set_residual(residual_after_merge(worker.executor(), choice.accumulated, choice.selected,
                                                   merged, request_, worker.rank()));
      worker.replica().apply(
          to_dense(worker.executor(), merged, worker.replica().size(), 1.0 / worker.size()));
      if (worker.rank() == 0)
        distinct.add(worker.executor(), distinct_by_round(worker.executor(), merged, worker.size()));
    }
    note(worker, distinct.means(worker.executor()));
  }

  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context,
                              {{"residual", context.vector_bytes()},
                               {"chosen entries", settings_.message_entries(0) * settings_.bytes_per_entry}});
  }

 private:
  Tensor merge(Worker& worker, const Tensor& selected, std::size_t k) const {
    const std::size_t phase = settings_.phase_at(worker.step());
    CustomCollective collective;
    collective.messages = schedules_[phase];
    collective.bytes = settings_.message_entries(phase) * settings_.bytes_per_entry;
    collective.tensors = 0;
    collective.contribution = selected;
    if (selected) {
      collective.merging = merging_of(request_, k);
      collective.effect = [k](Executor& executor, const std::vector<Tensor>& contributions) {
        return std::vector<Tensor>{merge_all(executor, contributions, k)};
      };
    }
    return worker.collectives().run(std::move(collective));
  }

  static void note(Worker& worker, const std::vector<double>& distinct) {
    if (distinct.empty()) return;
    RecordTable table{"merges", {"round", "distinct_indices_mean"}, {}};
    for (std::size_t round = 0; round < distinct.size(); ++round)
      table.rows.push_back({static_cast<double>(round + 1), distinct[round]});
    worker.record().table(table);
  }

  SparsificationSettings settings_;
  MergeScheduleRequest request_;                            // of the last phase
  std::vector<std::shared_ptr<const Schedule>> schedules_;  // of each phase; shared with the operations
};

struct GTopKOptions : SparsificationOptions {
  MergeVariant variant = MergeVariant::tree;
  PutBack put_back = PutBack::paper;

  void fields(Fields& f) {
    SparsificationOptions::fields(f);
    f.choice(
        "variant", variant,
        {{"tree", MergeVariant::tree}, {"recursive_doubling", MergeVariant::recursive_doubling}},
        "How entries are merged: in a tree to rank 0 and then broadcast (tree, as published), or by exchanges at doubling distances");
    f.choice(
        "put_back", put_back, {{"paper", PutBack::paper}, {"exact", PutBack::exact}},
        "Which entries go back to the residual: those whose index is not in the result (paper: a value that was dropped on the way is lost if its index arrived with another), or those whose value is not in it (exact)");
  }
};

MadeAlgorithm make_gtopk(const GTopKOptions& options, const AlgorithmContext& context) {
  const SparsificationSettings settings = sparsification_of(options, context);
  if (context.cluster != nullptr && context.workers > 1)
    note_cluster_cost(context, context.cluster->host.merge_s, "merging chosen entries takes no time",
                      "host.merge");
  return std::make_unique<GTopK>(
      settings, MergeScheduleRequest{.workers = context.workers,
                                     .variant = options.variant,
                                     .put_back = options.put_back,
                                     .entries = settings.message_entries(settings.phases.size() - 1),
                                     .bytes_per_entry = settings.bytes_per_entry,
                                     .merge_s = settings.merge_s});
}

}  // namespace

std::vector<AlgorithmPlugin> gtopk() {
  return {
      {{.name = "gtopk",
        .summary = "sparsified SGD: log2 P rounds of merging leave the same k entries everywhere",
        .citation = "Shi et al., ICDCS 2019, arXiv:1901.04359"},
       "a message of k entries for each merge, and the result: 2 log2 P k on the longest path of the tree",
       {.sends = {Traffic::gradient},
        .activities = {Activity::selection},
        .codecs = AlgorithmUses::Codecs::none},
       make_gtopk}};
}

}  // namespace simsgd::algorithms
