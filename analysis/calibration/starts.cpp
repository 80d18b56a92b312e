// Where a fit of runs begins. Each place costs a simulation of every measurement, so they are looked at, not
// descended from. Sobol, USSR Comput. Math. Math. Phys. 7(4), 1967, doi:10.1016/0041-5553(67)90144-9: few
// points of his sequence leave no large part of the bounds without one.
#include <boost/random/sobol.hpp>
#include <boost/random/uniform_01.hpp>
#include <cmath>
#include <limits>

#include "analysis/calibration/fit.hpp"

namespace simsgd {

std::vector<double> best_of_starts(const Predictor& predictor, const Points& points, const ModelSpec& model,
                                   const WeightedPoints& what, const Patch& tables,
                                   const FitSettings& settings) {
  boost::random::sobol sequence(model.parameters.size());
  std::vector<std::vector<double>> places;
  std::vector<Patch> patches;
  for (int start = 0; start < settings.starts; ++start) {
    std::vector<double> x, values;
    for (const ParameterSpec& parameter : model.parameters) {
      const double low = scale_of(parameter, parameter.low), high = scale_of(parameter, parameter.high);
      x.push_back(low + boost::random::uniform_01<double>()(sequence) * (high - low));
      values.push_back(value_at(parameter, x.back()));
    }
    patches.push_back(patch_of(model, values, tables));
    places.push_back(std::move(x));
  }
  if (places.size() == 1) return places.front();
  const std::vector<std::vector<double>> predicted = predictor.predict(patches, what.which);
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double square = mean_square(points, what, predicted[i], settings.outlier);
    if (!(square < least)) continue;  // nor where it is not a number
    least = square;
    best = i;
  }
  return places[best];
}

}  // namespace simsgd
