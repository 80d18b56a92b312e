// Sparsified training: every worker adds what it has not sent yet (its residual, error feedback) to its
// gradient, chooses k of the d entries of the whole model, and exchanges only these. What algorithms with
// different exchanges share: settings, the local half of a step with its costs, and what is reported.
//   k = max(1, floor(density d)), in the workload's messages and in the learner's vectors alike
// Stich, Cordonnier, Jaggi, NeurIPS 2018, arXiv:1809.07599 (memory); Shi et al., ICDCS 2019, arXiv:1901.04359
// (costs). The costs of a step: docs/model.md, "Sparse gradients".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/plugin.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/worker.hpp"

namespace simsgd {

/// How many entries are sent from some step on.
struct DensityPhase {
  std::uint64_t first_step = 1;
  double density = 1;
};

struct SparsificationSettings {
  std::vector<DensityPhase> phases;  ///< by ascending first step: a warm-up, then the density for good
  bool sampled = false;              ///< threshold from a sample instead of exact selection
  double sample = 0.01;              ///< share of the entries that is drawn for it
  double bytes_per_entry = 8;        ///< a value and its index, in messages
  // Costs, seconds: of the workload's d parameters on the cluster.
  double accumulate_s = 0;  ///< computing: gathering the gradient into one vector, adding the residual
  double crossing_s = 0;    ///< host: the dense vector to the host and back, and copies on the way
  double merge_s = 0;       ///< host: per received entry of a merge
  double add_s = 0;         ///< host: per gathered entry that is added into a dense vector
  std::vector<double> selection_s;  ///< on the device, by phase; empty without a cluster
  double workload_entries = 0;

  std::size_t phase_at(std::uint64_t step) const;
  /// Entries of the workload's vector in a message of that phase.
  double message_entries(std::size_t phase) const;
};

/// max(1, floor(density n)).
std::size_t entries_of(double density, std::size_t n);

/// Which entries of a dense vector are sent, and the device's time for it. Of a method that chooses otherwise
/// than SparsificationSettings say.
struct EntrySelection {
  /// About `k` entries of `accumulated`, which is not empty; `before`: what it chose in the step before,
  /// whose scalars are its own, or empty.
  std::function<Tensor(Worker&, const Tensor& accumulated, const Tensor& before, std::size_t k)> choose;
  std::function<double(std::uint64_t step)> seconds;
};

/// What all sparsified algorithms may be told.
struct SparsificationOptions {
  std::optional<double> density;
  std::optional<std::int64_t> k;
  bool sampled = false;
  double sample = 0.01;
  std::optional<double> bytes_per_entry;
  std::uint64_t warmup_steps = 0;
  std::optional<std::vector<double>> warmup_densities;

  void fields(Fields& f);
  void complete(const AlgorithmContext& context);

 protected:
  void density_fields(Fields& f);
  void message_fields(Fields& f);
};

/// Of completed options, with what the job and its cluster give. Throws ParameterError.
/// `selects`: chosen entries are the k largest, or above a sampled threshold.
SparsificationSettings sparsification_of(const SparsificationOptions& options,
                                         const AlgorithmContext& context, bool selects = true);

/// One worker's half of a step.
class Sparsifier {
 public:
  /// What it chose: the dense sum of residual and gradient, and its k entries. Empty without a learner.
  struct Choice {
    Tensor accumulated;
    Tensor selected;
  };

  /// `selection`: null for that of the settings.
  Sparsifier(Worker& worker, const SparsificationSettings& settings,
             const EntrySelection* selection = nullptr)
      : worker_(worker), settings_(settings), selection_(selection) {}

  /// Takes the time of it on the device, and that of the dense vector on its way through the host.
  Choice choose(const Tensor& gradient);
  /// Entries of the learner's vectors that are sent in this step.
  std::size_t entries() const;

  const Tensor& residual() const { return residual_; }
  void set_residual(Tensor residual) { residual_ = std::move(residual); }

 private:
  Tensor select(const Tensor& accumulated) const;

  Worker& worker_;
  const SparsificationSettings& settings_;
  const EntrySelection* selection_;
  Tensor residual_, before_;
};

/// `sparse` as a dense vector of `size` entries, times `scale`.
Tensor to_dense(Executor& executor, const Tensor& sparse, std::size_t size, double scale);

/// A dense vector without the entries of a sparse one.
Tensor without(Executor& executor, const Tensor& dense, const Tensor& sparse);

/// Scalars: entries of a sparse tensor, as a share of `k`.
Tensor share_chosen(Executor& executor, const Tensor& sparse, std::size_t k);

/// The all-gathers that an exchange may take, by name; one of them for k entries of each worker.
std::vector<std::string> all_gather_schedules();
Schedule all_gather_of(const std::string& name, int workers, double bytes);

/// A small table of numbers averaged over steps, noted at the end of a run. Values are looked at some steps
/// after they were submitted, so that numerics go on in the background.
class StepAverages {
 public:
  /// The scalars of `numbers` belong to one step.
  void add(Executor& executor, Tensor numbers);
  /// Mean of each scalar over the steps in which it was there.
  std::vector<double> means(Executor& executor);

 private:
  void look_at_oldest(Executor& executor);

  std::vector<Tensor> waiting_;
  std::vector<double> sums_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace simsgd
