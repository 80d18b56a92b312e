// How fast D-PSGD converges on a quadratic, against its spectral gap.
#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/services/mixing.hpp"
#include "tests/algorithms/gossip_support.hpp"

using namespace simsgd;
using namespace simsgd::test;

namespace {

constexpr double kRate = 0.05;

/// Worker i minimises |x - c_i|^2 / 2, c_i the mean of 16 samples of its own, all of them in every step.
void add_quadratic(Job& job) {
  LearnerSpec spec;
  const int samples = 16 * job.workers();
  for (const DataPlugin& plugin : data_plugins())
    if (plugin.info.name == "quadratic")
      spec.train = plugin
                       .load(Parameters(Json{{"dimension", 40}, {"condition", 1}, {"samples", samples}}), 1,
                             [](const std::string& path) { return path; })
                       .train;
  for (const ModelPlugin& plugin : model_plugins())
    if (plugin.info.name == "quadratic") spec.model = plugin.make(Parameters(Json::object()), *spec.train);
  spec.workers = job.workers();
  spec.batch = 16;
  spec.seed = job.seed;
  job.learner = std::make_unique<Learner>(std::move(spec));
  job.optimizer.learning_rate.base = kRate;
}

std::vector<double> models_after(const std::string& graph, int workers, std::uint64_t steps) {
  return final_models([&] {
    Job job = paced_job(std::vector<double>(static_cast<std::size_t>(workers), 1.0), steps);
    add_quadratic(job);
    use_method(job, {"d_psgd", Json::object(), graph});
    return job;
  });
}

/// How far the models moved between two steps, apart from their mean; and their mean.
struct Moves {
  double apart = 0, mean = 0;
};
Moves moves(const std::vector<double>& before, const std::vector<double>& after, int workers) {
  std::vector<double> move;
  for (std::size_t i = 0; i < before.size(); ++i) move.push_back(after[i] - before[i]);
  const std::vector<double> mean = mean_of(move, workers);
  Moves result;
  for (std::size_t i = 0; i < move.size(); ++i) {
    result.apart += std::pow(move[i] - mean[i % mean.size()], 2);
    result.mean += std::pow(mean[i % mean.size()], 2);
  }
  return {std::sqrt(result.apart), std::sqrt(result.mean)};
}

}  // namespace

TEST_CASE("on a quadratic D-PSGD converges at the rate that its spectral gap predicts") {
  // x(t+1) = W x(t) - eta (x(t) - c): what is left to go shrinks by W - eta I in each step. Across the graph
  // that is (1 - gap) - eta at best where the second eigenvalue of W is its largest in magnitude, and for the
  // mean 1 - eta. By step 40 the other modes have died out, the last digits of floats have not come up.
  const struct {
    const char* graph;
    int workers;
    std::uint64_t step;
  } cases[] = {{"ring", 8, 20}, {"ring", 12, 40}, {"ring", 16, 60}, {"torus", 24, 25}};
  for (const auto& each : cases) {
    CAPTURE(each.graph);
    CAPTURE(each.workers);
    const LogicalGraph graph = graph_of(each.graph, each.workers);
    const double gap = spectral_gap(graph, metropolis_weights(graph));
    const auto first = models_after(each.graph, each.workers, each.step),
               second = models_after(each.graph, each.workers, each.step + 1),
               third = models_after(each.graph, each.workers, each.step + 2);
    const Moves before = moves(first, second, each.workers), after = moves(second, third, each.workers);
    CHECK(after.apart / before.apart == doctest::Approx(1 - gap - kRate).epsilon(0.01));
    CHECK(after.mean / before.mean == doctest::Approx(1 - kRate).epsilon(0.001));
  }
}

TEST_CASE("a larger spectral gap leaves the models nearer to each other") {
  // Fixed point of x = W x - eta (x - c): the distance across the graph is about eta / gap of the c_i's.
  const auto distance = [](const std::string& graph) { return spread_of(models_after(graph, 16, 150), 16); };
  const double ring = distance("ring"), torus = distance("torus"), complete = distance("complete");
  CHECK(ring > 1.5 * torus);
  CHECK(torus > 1.5 * complete);
}
