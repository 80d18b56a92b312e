// Parts of the shipped methods, for methods in Python: what would take them pages, or has to run on other
// threads.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/buckets.hpp"
#include "algorithms/kfac/kfac_setup.hpp"
#include "algorithms/sparse/sparse_exchange.hpp"
#include "algorithms/sparse/sparsification.hpp"
#include "algorithms/wait_avoiding/wait_avoiding.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/worker.hpp"

namespace simsgd::python {

/// The messages of a collective of a method's own.
struct OwnMessages {
  std::vector<std::vector<long long>> stages;  ///< rank i sends to stage[i]; -1: to nobody
  double bytes = 0;                            ///< of each
  bool together = false;                       ///< none begins before all ranks have come
  /// By stage, whether what comes is merged with what the receiver holds, or takes its place. Empty: nothing
  /// is merged, and all messages are sent at once.
  std::vector<long long> merges = {};
  double merge_s = 0;

  auto operator<=>(const OwnMessages&) const = default;
};

/// What a method keeps of its context, which ends before the run, and what it says of itself.
struct Parts {
  Cluster cluster;
  bool has_cluster = false;
  std::string file{};                                 ///< of the method, for what is told of its messages
  bool posts = false;                                 ///< its text does
  FactorLayout factors{};                             ///< of the learner
  std::optional<std::vector<Traffic>> sends{};        ///< and nothing else
  std::optional<std::vector<Activity>> activities{};  ///< beside those of every method
  /// By density and what is put back: one object for all ranks.
  mutable std::map<std::pair<double, std::string>, std::shared_ptr<const Schedule>> merges{};
  /// The same of messages of the method's own.
  mutable std::map<OwnMessages, std::shared_ptr<const Schedule>> messages{};
};

/// What every member gets when its vector goes along `schedule` and is merged on the way: what a real run's
/// messages do (Merging), for all at once.
std::vector<Tensor> merged_along(Executor& executor, const Schedule& schedule, const Merging& merging,
                                 std::vector<Tensor> held);

/// All that layers see in a backward pass: of each its inputs and the gradients of its outputs, and before
/// both how many rows and columns they have.
std::shared_ptr<const LayerStatistics> layer_taps();

/// K-FAC's numbers and costs for a method in Python (algorithms/kfac has the formulas): running averages of
/// the factors, inverses, preconditioned gradients, whole or of single layers. Who computes and sends what,
/// and when, is the method's.
class KfacPart {
 public:
  /// `layout` is that of the learner's layers, `cluster` may be null.
  KfacPart(Worker& worker, const FactorLayout& layout, const Cluster* cluster, const KfacMath& math);

  /// By factor of the workload: numbers, seconds of it and of its inverse; last those of preconditioning.
  std::vector<std::vector<double>> costs() const;
  /// Of the learner's layers: dimensions of A and G, and where their packed upper triangles begin.
  std::vector<std::vector<double>> layers() const;

  /// `factors`: what GradientOptions::statistics gives, or a mean of it.
  void average(const Tensor& factors);
  /// Of all layers from the averages; returns what depends on all of them, packed as `factors`.
  Tensor invert();
  /// Inverses that came from elsewhere, packed likewise.
  void set_inverses(const Tensor& inverses);
  Tensor precondition(const Tensor& gradient);

 private:
  std::vector<FactorPair> cut(const Tensor& factors);

  Worker& worker_;
  const FactorLayout& layout_;
  KfacMath math_;
  KfacLayers timed_;
  KfacCosts costs_;
  std::vector<FactorPair> factors_, inverses_;  // by layer of the learner
};

/// The parts of one worker.
class ShippedParts {
 public:
  ShippedParts(Worker& worker, const Parts& parts) : worker_(worker), parts_(parts) {}

  /// Throws RunError where the stages do not fit the group.
  std::shared_ptr<const Schedule> messages(const OwnMessages& asked) const;
  double kernel_s(const std::string& kernel, double a, double b, double c) const;

  /// One of `count` parts of consecutive layers: its parameters (of the workload).
  std::vector<double> fragment(long long index, long long count);
  Tensor own_part(long long index, long long count);
  void set_own_part(long long index, long long count, const Tensor& part);

  /// gTop-k: a number for what follows.
  long long sparsifier(double density, const std::string& put_back);
  Sparsifier::Choice choose(long long sparsifier, const Tensor& gradient);
  Tensor merge(long long sparsifier, const Tensor& selected);
  void keep(long long sparsifier, const Tensor& accumulated, const Tensor& selected, const Tensor& merged);
  Tensor dense(long long sparsifier, const Tensor& merged);
  void note_merges(long long sparsifier);

  long long kfac(const KfacMath& math);
  KfacPart& kfac(long long number) { return *kfac_.at(static_cast<std::size_t>(number)); }

  std::deque<std::unique_ptr<WaitAvoiding>> services;

 private:
  struct Sparse;
  const Bucket& bucket(long long index, long long count);
  Sparse& sparse(long long number);

  Worker& worker_;
  const Parts& parts_;
  std::vector<std::vector<Bucket>> fragments_;  // by their count
  std::deque<std::unique_ptr<KfacPart>> kfac_;
  std::deque<std::shared_ptr<Sparse>> sparse_;  // shared with nobody; complete in parts.cpp alone
};

}  // namespace simsgd::python
