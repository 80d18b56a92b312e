// Tables by size from measurements: where one entry ends and the next begins by dynamic programming over the
// measured sizes, each entry a fit that is linear in its costs and allows none below 0, in relative errors;
// how many entries by cross-validation over sizes.
#pragma once

#include "analysis/calibration/fit.hpp"

namespace simsgd {

/// The model's tables, at their pointers.
Patch find_tables(const Predictor& predictor, const Points& points, const ModelSpec& model,
                  const WeightedPoints& what);

/// The same entries, their costs fitted again.
Patch refit_tables(const Predictor& predictor, const Points& points, const ModelSpec& model,
                   const WeightedPoints& what, const Patch& tables);

}  // namespace simsgd
