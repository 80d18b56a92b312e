// What every K-FAC algorithm is set up with: the parameters that they share, their schema, and what follows
// from the job.
#pragma once

#include <cstdint>

#include "algorithms/buckets.hpp"
#include "algorithms/kfac/kfac_costs.hpp"
#include "algorithms/kfac/kfac_layers.hpp"
#include "algorithms/kfac/kfac_math.hpp"
#include "algorithms/registry.hpp"

namespace simsgd {

struct KfacSetup {
  KfacMath math;
  std::uint64_t factor_interval = 1, inverse_interval = 1;  ///< steps between two updates
  double fusion_elements = 0;  ///< factors are sent together until a message holds so many
  Buckets buckets;             ///< of the gradient
  KfacLayers layers;
  LearnedLayers learned;
  KfacCosts costs;
};

/// Schema of the parameters that KfacSetup reads: damping, ema, kl_clip, intervals, and those of the
/// gradient's buckets.
Json kfac_schema();
/// Of the threshold at which factors are sent together (not read where one worker trains alone).
Json factor_threshold_schema();

/// Throws ParameterError for what cannot be used.
KfacSetup make_kfac_setup(const Parameters& parameters, const AlgorithmContext& context);

}  // namespace simsgd
