// On data made by the simulator with known parameters and 3 % noise: parameters lie inside their 90 %
// intervals in 85 to 95 % of 200 trials.
#include <doctest/doctest.h>

#include "sim/base/quantiles.hpp"
#include "support.hpp"

namespace simsgd::test::calibration_coverage {

TEST_CASE("intervals of 90 % hold the truth in 85 to 95 % of 200 trials") {
  constexpr int kTrials = 200;
  const TrueRing truth;
  Json json = ring_spec();
  json["fit"]["where"] = {{"workers", {2, 4, 8}}};
  json.erase("tests");
  const SpecFolder folder(json, ring_rows(truth, 0, 1));
  const Spec spec = load_spec(folder.folder.path("spec.json"));
  std::vector<Measurement> measured = load_measurements(spec, folder.directory());
  // Where the search for the best fit begins does not matter here: at the truth it is soon over.
  const Fitted begin{{truth.launch_s, truth.latency_s, truth.bandwidth_Bps}, {}, 0, {}};
  int inside = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<MeasuredRow> rows = ring_rows(truth, 0.03, 1000 + static_cast<std::uint64_t>(trial));
    for (std::size_t i = 0; i < rows.size(); ++i) measured[i].value = rows[i].seconds;
    const Points points = make_points(spec, spec.models[0], measured);
    const Fitter fitter(spec, spec.models[0], points, {});
    const Fitted best = fitter.fit(fitter.weighted(fitter.fitted_points()), &begin);
    const Uncertainty uncertainty = draw_parameters(fitter, best, {});
    for (std::size_t j = 0; j < 3; ++j) {
      std::vector<double> drawn;
      for (const Draw& draw : uncertainty.draws) drawn.push_back(draw.fitted.values[j]);
      inside += quantile(drawn, 0.05) <= begin.values[j] && begin.values[j] <= quantile(drawn, 0.95) ? 1 : 0;
    }
  }
  CAPTURE(inside);
  CHECK(inside >= 0.85 * 3 * kTrials);
  CHECK(inside <= 0.95 * 3 * kTrials);
}

}  // namespace simsgd::test::calibration_coverage
