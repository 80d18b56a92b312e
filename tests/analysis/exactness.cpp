// Runs without chance, and what the model may be off by where two of them differ, by hand.
#include "analysis/tables/exactness.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::analysis_exactness {

using tables::is_deterministic;
using tables::off_by;

namespace {

ResultPoint point_of(const std::map<std::string, double>& metrics) {
  ResultPoint point;
  point.key = "key";
  point.metrics = metrics;
  return point;
}

tables::ScenarioOf always(const Json& resolved) {
  return [text = resolved.dump()](const std::string&) { return nlohmann::ordered_json::parse(text); };
}

bool is_fixed(const std::string& pointer, const Json& value) {
  Json scenario = small_scenario();
  scenario["learner"] = nullptr;
  if (!pointer.empty()) scenario[Json::json_pointer(pointer)] = value;
  const ResultPoint point = point_of({{"simulated_time_s", 1}});
  return is_deterministic(always(load(scenario).resolved), {&point});
}

}  // namespace

TEST_CASE("a single run is deterministic where nothing in its scenario is drawn") {
  CHECK(is_fixed("", {}));
  CHECK(!is_fixed("/learner", small_learner()));
  CHECK(!is_fixed("/stragglers", Json::array({{{"name", "exponential"}, {"mean", "1 ms"}}})));
  CHECK(!is_fixed("/network", {{"jitter", 0.1}}));
  CHECK(!is_fixed("/workload/compute_factor", {{"name", "lognormal"}, {"mean", 1}, {"sigma", 0.1}}));
  CHECK(!is_fixed("/algorithm", {{"name", "d_psgd"}}));
  CHECK(!is_fixed("/failures", {{"mean_time_between", "1 h"}}));
}

TEST_CASE("several runs are deterministic where all that they have is equal") {
  const ResultPoint one = point_of({{"compute_s", 0.1}, {"simulated_time_s", 1}}), same = one,
                    other = point_of({{"compute_s", 0.1}, {"simulated_time_s", 1.1}});
  const tables::ScenarioOf none = always(Json::object());
  CHECK(is_deterministic(none, {&one, &same}));
  CHECK(!is_deterministic(none, {&one, &other}));
  CHECK(!is_deterministic(none, {&one}));  // of which nothing is known
}

TEST_CASE("from data sheets: parts in which two steps differ, each against the difference") {
  // 1 s of communication less, 0.5 s of selecting more: 0.5 s in all. Of half of the published steps
  // communication took no less than 0.188 times what was predicted, modelled kernels no more than 1.743
  // times.
  const ResultPoint dense = point_of(
                        {{"compute_s", 0.1}, {"communication_exposed_s", 1}, {"iteration_time_mean_s", 1.1}}),
                    sparse =
                        point_of({{"compute_s", 0.1}, {"selection_s", 0.5}, {"iteration_time_mean_s", 0.6}});
  Json scenario = small_scenario();
  scenario["learner"] = nullptr;
  const tables::ScenarioOf scenario_of = always(load(scenario).resolved);
  CHECK(*off_by(scenario_of, "iteration_time_mean_s", {&dense}, {&sparse}) ==
        doctest::Approx(std::hypot(1 - 0.188, 0.5 * 0.743)).epsilon(1e-9));
  CHECK(*off_by(scenario_of, "events", {&dense}, {&sparse}) == 0);
  // What both have in common cancels.
  const ResultPoint less =
      point_of({{"compute_s", 0.1}, {"communication_exposed_s", 0.8}, {"iteration_time_mean_s", 0.9}});
  CHECK(*off_by(scenario_of, "iteration_time_mean_s", {&dense}, {&less}) ==
        doctest::Approx(0.2 * (1 - 0.188)).epsilon(1e-9));
  scenario = load(scenario).resolved;
  scenario["cluster"]["calibration"]["left_out"]["half"] = 0.1;
  CHECK(*off_by(always(scenario), "iteration_time_mean_s", {&dense}, {&less}) ==
        doctest::Approx(1.1 * std::expm1(0.1)).epsilon(1e-9));
  scenario["stragglers"] = {{{"name", "exponential"}}};
  CHECK(!off_by(always(scenario), "iteration_time_mean_s", {&dense}, {&less}));
}

}  // namespace simsgd::test::analysis_exactness
