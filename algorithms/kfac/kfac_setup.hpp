// What every K-FAC algorithm is set up with: the options that they share, and what follows from the job.
#pragma once

#include <cstdint>

#include "algorithms/buckets.hpp"
#include "algorithms/kfac/kfac_costs.hpp"
#include "algorithms/kfac/kfac_layers.hpp"
#include "algorithms/kfac/kfac_math.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd {

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
