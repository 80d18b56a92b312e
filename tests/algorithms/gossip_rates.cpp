// How fast D-PSGD converges on a quadratic, against its spectral gap.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/mixing.hpp"
#include "tests/algorithms/gossip_support.hpp"

namespace simsgd::test::algorithms_gossip_rates {

namespace {

constexpr double kRate = 0.05;

/// All workers minimise |x - 1|^2 / 2, without noise.
void add_quadratic(Job& job) {
  give_learner(job, {.data = "quadratic",
                     .model = "quadratic",
                     .data_parameters = {{"dimension", 20}, {"condition", 1}, {"samples", 64}, {"noise", 0}},
                     .learning_rate = kRate});
}

struct Distances {
  double from_mean = 0, of_mean = 0;  // of the models from their mean, of that from the optimum
};

/// After so many steps of D-PSGD from models that are drawn for each worker.
Distances distances(const std::string& graph, int workers, std::uint64_t steps) {
  const std::vector<double> models = final_models([&] {
    Job job = paced_job(std::vector<double>(static_cast<std::size_t>(workers), 1.0), steps);
    add_quadratic(job);
    use_method(job, {"d_psgd", Json::object(), graph});
    start_from_drawn_models(job);
    return job;
  });
  const std::vector<double> mean = mean_of(models, workers);
  Distances squares;
  for (std::size_t i = 0; i < models.size(); ++i)
    squares.from_mean += std::pow(models[i] - mean[i % mean.size()], 2);
  for (const double entry : mean) squares.of_mean += std::pow(entry - 1, 2);
  return {std::sqrt(squares.from_mean), std::sqrt(squares.of_mean)};
}

}  // namespace

TEST_CASE("on a quadratic D-PSGD converges at the rate that its spectral gap predicts") {
  // x(t+1) = W x(t) - eta (x(t) - 1): the error shrinks by W - eta I in each step. Of the mean that is 1 -
  // eta; across the graph (1 - gap) - eta, where the second eigenvalue of W is its largest in magnitude and
  // the other modes have died out.
  const struct {
    const char* graph;
    int workers;
    std::uint64_t step;
  } cases[] = {{"ring", 8, 15}, {"ring", 12, 25}, {"ring", 16, 40}, {"torus", 24, 25}};
  for (const auto& each : cases) {
    CAPTURE(each.graph);
    CAPTURE(each.workers);
    const LogicalGraph graph = graph_of(each.graph, each.workers);
    const double gap = spectral_gap(graph, metropolis_weights(graph));
    const Distances before = distances(each.graph, each.workers, each.step),
                    after = distances(each.graph, each.workers, each.step + 1);
    CHECK(after.from_mean / before.from_mean == doctest::Approx(1 - gap - kRate).epsilon(0.01));
    CHECK(after.of_mean / before.of_mean == doctest::Approx(1 - kRate).epsilon(0.001));
  }
}

TEST_CASE("the larger the spectral gap, the nearer the models after as many steps") {
  // Gaps of 16 workers with Metropolis weights: ring 0.051, torus 0.4, complete 1.
  const double ring = distances("ring", 16, 8).from_mean, torus = distances("torus", 16, 8).from_mean,
               complete = distances("complete", 16, 8).from_mean;
  CHECK(ring > 10 * torus);
  CHECK(torus > 10 * complete);
}

}  // namespace simsgd::test::algorithms_gossip_rates
