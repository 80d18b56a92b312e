// Ok-Topk: a sparse all-reduce of k entries in which no worker sends more than 6 k numbers, whatever P.
//   a_i = r_i + g_i;  every T steps: h_i = the k-th largest magnitude of a_i
//   V_i = entries of a_i of magnitude h_i or more
//   split and reduce: worker j gets everybody's entries of the j-th region of the indices, and adds them up:
//   S every T steps: all regions of S are gathered, and h = the k-th largest magnitude of S balance and
//   gather: U = entries of S of magnitude h or more, gathered from all regions r_i <- a_i without the entries
//   of V_i whose index is in U;  x <- x - eta U(U / P) every R steps: regions are cut where workers have
//   equally many entries, by an all-reduce of P - 1 indices
// Li, Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning", PPoPP 2022, arXiv:2201.07598,
// algorithms 1 and 2; T and R as in the released code (github.com/Shigangli/Ok-Topk). Regions do not change
// values: here they are equally full, as they are to be. Messages are those of k entries, though between two
// thresholds the workers have somewhat more or less; `chosen_over_k` and `applied_over_k` tell how many.
// Where all regions are gathered, no two workers are assumed to have chosen the same index. Bytes per worker
// and step: 2 (P-1)/P k entries, a value and an index each. On real machines values are gathered from all
// workers and added up by each: the sums are the same, the bytes are not. After a crash a worker computes
// again what it lost; the others wait.
#include "algorithms/plugin.hpp"
#include "algorithms/sparse/gathered_topk.hpp"
#include "algorithms/sparse/sparse.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd::algorithms {

namespace {

struct OkTopKOptions : SparsificationOptions {
  std::uint64_t threshold_interval = 32, region_interval = 64;
  std::string all_gather = "bruck";

  void fields(Fields& f) {
    density_fields(f);
    f.whole("threshold_interval", threshold_interval,
            "T: steps after which the thresholds of the k largest are recomputed")
        .at_least(1);
    f.whole("region_interval", region_interval,
            "R: steps after which the regions of indices are chosen again")
        .at_least(1);
    message_fields(f);
    f.choice("all_gather", all_gather, all_gather_schedules(), "Schedule of the all-gather");
  }
};

bool is_due(std::uint64_t step, std::uint64_t interval) { return (step - 1) % interval == 0; }

/// Scalars: the threshold.
Tensor choose_from(Worker& worker, const Tensor& accumulated, const Tensor& before, std::size_t k,
                   std::uint64_t interval) {
  std::vector<Tensor> inputs = {accumulated};
  if (!is_due(worker.step(), interval)) inputs.push_back(before);
  return worker.executor().submit(std::move(inputs), [k](TensorData& out, auto in) {
    const float threshold =
        in.size() > 1 ? static_cast<float>(in[1]->scalars[0]) : top_k_threshold(in[0]->values, k);
    select_from(in[0]->values, threshold, out);
    out.scalars = {static_cast<double>(threshold)};
  });
}

/// U of a model of `size`; scalars: h. `before`: the result that had the h to use; empty: a new one.
Tensor reduced(Executor& executor, const std::vector<Tensor>& contributions, const Tensor& before,
               std::size_t k, std::size_t size) {
  std::vector<Tensor> inputs = contributions;
  if (before) inputs.push_back(before);
  return executor.submit(std::move(inputs), [k, size, kept = bool(before)](TensorData& out, auto in) {
    std::vector<float> sums(size, 0.0F);
    std::vector<bool> touched(size, false);
    for (std::size_t i = 0; i + (kept ? 1 : 0) < in.size(); ++i)
      for (std::size_t e = 0; e < in[i]->values.size(); ++e) {
        const auto index = static_cast<std::size_t>(in[i]->indices[e]);
        sums[index] += in[i]->values[e];
        touched[index] = true;
      }
    const float threshold = kept ? static_cast<float>(in.back()->scalars[0]) : top_k_threshold(sums, k);
    select_from(sums, threshold, out);
    if (threshold == 0) {  // of what nobody has sent nothing is applied
      TensorData sent;
      for (std::size_t e = 0; e < out.values.size(); ++e)
        if (touched[static_cast<std::size_t>(out.indices[e])]) {
          sent.values.push_back(out.values[e]);
          sent.indices.push_back(out.indices[e]);
        }
      out = std::move(sent);
    }
    out.scalars = {static_cast<double>(threshold)};
  });
}

/// A dense vector without the entries of `selected` whose index is in `applied`.
Tensor kept_back(Executor& executor, const Tensor& accumulated, const Tensor& selected,
                 const Tensor& applied) {
  if (!accumulated) return {};
  return executor.submit({accumulated, selected, applied}, [](TensorData& out, auto in) {
    out.values = in[0]->values;
    std::size_t a = 0;
    for (const std::int32_t index : in[1]->indices) {
      while (a < in[2]->indices.size() && in[2]->indices[a] < index) ++a;
      if (a < in[2]->indices.size() && in[2]->indices[a] == index)
        out.values[static_cast<std::size_t>(index)] = 0;
    }
  });
}

class OkTopK final : public Algorithm {
 public:
  OkTopK(const OkTopKOptions& options, SparsificationSettings settings, EntrySelection selection, int workers)
      : options_(options), settings_(std::move(settings)), selection_(std::move(selection)) {
    for (std::size_t phase = 0; phase < settings_.phases.size(); ++phase)
      for (const bool gathers_all : {false, true})
        schedules_.push_back(std::make_shared<const Schedule>(schedule(phase, gathers_all, workers)));
  }

  void run(Worker& worker) const override {
    Executor& executor = worker.executor();
    Sparsifier sparsifier(worker, settings_, &selection_);
    StepAverages chosen, used;
    Tensor applied;
    while (worker.next_step()) {
      const Sparsifier::Choice choice = sparsifier.choose(worker.compute().gradient());
      if (is_due(worker.step(), options_.region_interval)) cut_regions(worker);
      applied = exchange(worker, choice.selected, applied, sparsifier.entries());
      worker.compute().spend(Activity::host, entries_here(worker) * settings_.add_s);
      sparsifier.set_residual(kept_back(executor, choice.accumulated, choice.selected, applied));
      worker.replica().apply(to_dense(executor, applied, worker.replica().size(), 1.0 / worker.size()));
      if (worker.rank() != 0) continue;
      chosen.add(executor, share_chosen(executor, choice.selected, sparsifier.entries()));
      used.add(executor, share_chosen(executor, applied, sparsifier.entries()));
    }
    note(worker, "chosen_over_k", chosen);
    note(worker, "applied_over_k", used);
  }

  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    const double entries = settings_.message_entries(0) * settings_.bytes_per_entry;
    return replica_memory_and(context, {{"residual", context.vector_bytes()},
                                        {"chosen entries, and those of a region", 2 * entries}});
  }

 private:
  /// A pairwise exchange of the regions' entries, which their receivers add up; then an all-gather.
  Schedule schedule(std::size_t phase, bool gathers_all, int workers) const {
    const double entries = settings_.message_entries(phase), bytes = entries * settings_.bytes_per_entry;
    ScheduleRequest request;
    request.ranks = workers;
    request.bytes = bytes;
    Schedule both = find_schedule(CollectiveOp::all_to_all, "pairwise")->make(request);
    for (Stage& stage : both.stages) {
      stage.receive_s = entries / workers * settings_.add_s;
      stage.carries = {};
    }
    for (Stage& stage :
         all_gather_of(options_.all_gather, workers, gathers_all ? workers * bytes : bytes).stages) {
      stage.carries = {};
      both.stages.push_back(std::move(stage));
    }
    both.name = "ok_topk";
    both.blocks = 1;
    return both;
  }

  double entries_here(const Worker& worker) const {
    return settings_.message_entries(settings_.phase_at(worker.step()));
  }

  static void cut_regions(Worker& worker) {
    AllReduce cuts;
    constexpr double kIndexBytes = 4;
    cuts.bytes = kIndexBytes * (worker.size() - 1);
    worker.collectives().run(std::move(cuts));
  }

  Tensor exchange(Worker& worker, const Tensor& selected, const Tensor& before, std::size_t k) const {
    const bool fresh = is_due(worker.step(), options_.threshold_interval);
    CustomCollective collective;
    collective.messages = schedules_[2 * settings_.phase_at(worker.step()) + (fresh ? 1 : 0)];
    collective.bytes = entries_here(worker) * settings_.bytes_per_entry;
    collective.tensors = 0;
    collective.contribution = selected;
    if (selected)
      collective.effect = [k, size = worker.replica().size(), before = fresh ? Tensor() : before](
                              Executor& executor, const std::vector<Tensor>& contributions) {
        return std::vector<Tensor>{reduced(executor, contributions, before, k, size)};
      };
    return worker.collectives().run(std::move(collective));
  }

  static void note(Worker& worker, const char* name, StepAverages& averages) {
    if (const auto means = averages.means(worker.executor()); !means.empty())
      worker.record().number(name, means.front());
  }

  OkTopKOptions options_;
  SparsificationSettings settings_;
  EntrySelection selection_;
  // Of each phase: that of most steps, and that in which all regions are gathered. Shared with the
  // operations.
  std::vector<std::shared_ptr<const Schedule>> schedules_;
};

MadeAlgorithm make_ok_topk(const OkTopKOptions& options, const AlgorithmContext& context) {
  note_adding(context);
  note_kernel(context, DeviceKernel::vector_pass);
  SparsificationSettings settings = sparsification_of(options, context);
  const double pass_s = context.cluster == nullptr
                            ? 0
                            : vector_pass_s(context.cluster->device,
                                            {.read = kBytesPerNumber * settings.workload_entries,
                                             .written = settings.message_entries(settings.phases.size() - 1) *
                                                        settings.bytes_per_entry});
  EntrySelection selection;
  selection.choose = [interval = options.threshold_interval](Worker& worker, const Tensor& accumulated,
                                                             const Tensor& before, std::size_t k) {
    return choose_from(worker, accumulated, before, k, interval);
  };
  selection.seconds = [settings, pass_s, interval = options.threshold_interval](std::uint64_t step) {
    if (!is_due(step, interval)) return pass_s;
    return settings.selection_s.empty() ? 0.0 : settings.selection_s[settings.phase_at(step)];
  };
  return std::make_unique<OkTopK>(options, std::move(settings), std::move(selection), context.workers);
}

}  // namespace

std::vector<AlgorithmPlugin> ok_topk() {
  return {
      {{.name = "ok_topk",
        .summary =
            "sparsified SGD: regions of the k largest entries are added up by one worker each, and the k largest sums gathered",
        .citation = "Li, Hoefler, PPoPP 2022, arXiv:2201.07598"},
       "a pairwise exchange and an all-gather of k entries: 2 (P-1)/P k",
       {.sends = {Traffic::gradient},
        .activities = {Activity::selection},
        .codecs = AlgorithmUses::Codecs::none},
       make_ok_topk}};
}

}  // namespace simsgd::algorithms
