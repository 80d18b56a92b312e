// What every K-FAC algorithm is set up with: the options that they share, and what follows from the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/buckets.hpp"
#include "algorithms/kfac/kfac_math.hpp"
#include "algorithms/plugin.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/learn/learner.hpp"
#include "sim/workload.hpp"

namespace simsgd {

// The layers that K-FAC has factors for: in the workload, where their dimensions cost time, and in the
// learner, where their values are. A learner's layer travels with one of the workload's: with the layer of
// the same place, as a share of all.

/// A factor of the workload: A or G of one of its layers.
struct WorkloadFactor {
  int layer = 0;  ///< of Workload::layers
  bool is_a = true;
  int dim = 0;
  double positions = 1;                        ///< output height x width of the layer
  std::string name = {};                       ///< "A conv1"
  std::string computing = {}, inverting = {};  ///< in timelines: "factor A conv1", "inverse A conv1"

  double elements() const { return 0.5 * dim * (dim + 1.0); }  ///< of its upper triangle
};

/// The workload's layers with factors, in forward order. Layer k of them has the factors 2k (A) and 2k + 1
/// (G).
struct KfacLayers {
  std::vector<WorkloadFactor> factors;
  std::vector<std::size_t> ready_at;  ///< of each layer, the last of its places in Workload::tensors

  std::size_t count() const { return factors.size() / 2; }
  const WorkloadFactor& a(std::size_t k) const { return factors[2 * k]; }
  const WorkloadFactor& g(std::size_t k) const { return factors[2 * k + 1]; }
};
/// Linear and convolutional layers whose first tensor is a matrix, rows x columns: G has `rows` rows, A as
/// many as `columns`, and one more where a bias, a vector of `rows` numbers, stands beside it.
KfacLayers kfac_layers(const Workload& workload);

/// The learner's layers with factors, and with which of the workload's each of them travels.
struct LearnedLayers {
  FactorLayout layout;                       ///< empty without a learner
  std::vector<std::vector<std::size_t>> of;  ///< by layer of the workload: layers of `layout`
};
/// `count` layers of the workload; `learner` may be null.
LearnedLayers learned_layers(const Learner* learner, std::size_t count);

// What K-FAC computes, as kernels of a device (sim/cluster/kernels.hpp) at nominal speed:
//   factor of dimension n   gemm n x n x B HW, and gemm.gather; B samples, HW positions
//   inverse of dimension n  invert n
//   preconditioning         gemm g x a x g and g x a x a of each layer
// Sources of the numbers: the device file. Test: tests/algorithms/kfac_systems.cpp.

/// The product that a factor is made by; and the two of each layer that precondition its gradient D, g x a:
/// G^-1 D A^-1.
GemmSize factor_product(double samples, const WorkloadFactor& factor);
std::vector<GemmSize> precondition_products(const KfacLayers& layers);

double factor_time_s(const Device& device, double samples, const WorkloadFactor& factor);

struct KfacCosts {
  std::vector<double> factor_s;   ///< by factor of the workload
  std::vector<double> inverse_s;  ///< likewise
  double precondition_s = 0;      ///< of all layers
  std::vector<double> speed;      ///< by rank; empty: all 1

  /// How many times as long as these the rank takes.
  double slower(int rank) const { return speed.empty() ? 1 : 1 / speed[static_cast<std::size_t>(rank)]; }
};

/// All 0 without a cluster. Throws ParameterError where the device says nothing that a time could be had
/// from.
KfacCosts kfac_costs(const Cluster* cluster, const Workload& workload, const KfacLayers& layers);

struct KfacSetup {
  KfacMath math;
  std::uint64_t factor_interval = 1, inverse_interval = 1;  ///< steps between two updates
  double fusion_elements = 0;  ///< factors are sent together until a message holds so many
  Buckets buckets;             ///< of the gradient
  KfacLayers layers;
  LearnedLayers learned;
  /// Shared with the numeric plane.
  std::shared_ptr<const LayerStatistics> statistics = std::make_shared<FactorStatistics>();
  KfacCosts costs;
};

struct KfacOptions {
  KfacMath math;
  RawValue ema;  ///< "released", or the weight of the old factor
  std::uint64_t factor_interval = 1, inverse_interval = 1;
  GradientFusion fusion;
  double factor_threshold_bytes = 64.0 * 1024 * 1024;  ///< means nothing where one worker trains alone

  KfacOptions();
  void fields(Fields& f);
  void complete(const AlgorithmContext& context) { fusion.complete(context); }
};

/// Of several workers.
struct DistributedKfacOptions : KfacOptions {
  void fields(Fields& f);
};

/// Throws ParameterError for what cannot be used.
KfacSetup make_kfac_setup(const KfacOptions& options, const AlgorithmContext& context);

}  // namespace simsgd
