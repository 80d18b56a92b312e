// What averaging between neighbours does to the models: by hand, what it keeps, and what is refused.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "algorithms/gossip/push_sum.hpp"
#include "algorithms/mixing.hpp"
#include "tests/algorithms/gossip_support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::algorithms_gossip {

namespace {

/// The models after one step of learning and `more` steps of averaging alone.
std::vector<double> averaged(int workers, const Method& method, std::uint64_t more, bool late = false) {
  return settled_models([&] {
    Job job = gossip_job(workers, method, 1 + more);
    stop_learning(job);
    if (late) be_late(job);
    return job;
  });
}

/// x_i <- w_ii x_i + sum_j w_ij x_j
std::vector<double> mixed(const std::vector<double>& models, const LogicalGraph& graph,
                          const MixingWeights& weights) {
  const std::size_t size = models.size() / static_cast<std::size_t>(graph.workers);
  std::vector<double> result(models.size(), 0.0);
  for (std::size_t i = 0; i < graph.neighbours.size(); ++i)
    for (std::size_t entry = 0; entry < size; ++entry) {
      double& value = result[i * size + entry];
      value = weights.own[i] * models[i * size + entry];
      for (std::size_t k = 0; k < graph.neighbours[i].size(); ++k)
        value +=
            weights.neighbour[i][k] * models[static_cast<std::size_t>(graph.neighbours[i][k]) * size + entry];
    }
  return result;
}

}  // namespace

TEST_CASE("D-PSGD: a round is the product of the mixing matrix and the models") {
  for (const char* name : {"ring", "matcha8", "hypercube"}) {
    const LogicalGraph graph = graph_of(name, 8);
    CAPTURE(name);
    const std::vector<double> before = averaged(8, {"d_psgd", Json::object(), name}, 0);
    CHECK(spread_of(before, 8) > 1e-3);
    CHECK(worst_difference(averaged(8, {"d_psgd", Json::object(), name}, 1),
                           mixed(before, graph, metropolis_weights(graph))) < 1e-6);
    CHECK(worst_difference(averaged(8, {"d_psgd", {{"weights", "laplacian"}}, name}, 1),
                           mixed(before, graph, laplacian_weights(graph, best_laplacian_alpha(graph)))) <
          1e-6);
    CHECK(worst_difference(averaged(8, {"d_psgd", {{"weights", "laplacian"}, {"alpha", 0.1}}, name}, 1),
                           mixed(before, graph, laplacian_weights(graph, 0.1))) < 1e-6);
  }
}

TEST_CASE(
    "D-PSGD: the gradient of a step is that of the model before its mixing, and is subtracted after it") {
  // f(x) = (x - 1)^2 / 2 from 0, learning rate 1/2: all models are equal, mixing changes nothing, and each
  // step halves the distance: 1/2, 3/4, 7/8.
  for (const double steps : {1.0, 2.0, 3.0}) {
    const std::vector<double> models = settled_models([&] {
      Job job = paced_job({1, 1, 1}, static_cast<std::uint64_t>(steps));
      add_parabola(job, 0.5);
      use_method(job, {"d_psgd"});
      return job;
    });
    for (const double model : models) CHECK(model == doctest::Approx(1 - std::pow(0.5, steps)).epsilon(1e-6));
  }
}

TEST_CASE("on a complete graph with equal weights D-PSGD reaches the mean in one round") {
  CHECK(spread_of(averaged(7, {"d_psgd", Json::object(), "complete"}, 1), 7) < 1e-6);
}

TEST_CASE("SGP over a period of log2 P rounds with one neighbour each reaches the mean") {
  // Halving with the worker at distance 1, 2, 4: after three rounds every model has 1/8 of each.
  CHECK(spread_of(averaged(8, {"sgp"}, 1), 8) > 1e-4);  // the first round is that of the learning step
  CHECK(spread_of(averaged(8, {"sgp"}, 2), 8) < 1e-6);
}

TEST_CASE(
    "AD-PSGD: a passive worker that computes averages at once, and the active one does not wait for it") {
  // Two workers, 1 s and 3.5 s per step: until 14.1 s (messages take a little) the active one has done 14
  // steps.
  Job job = paced_job({1, 3.5}, 1000);
  job.stop.time_s = 14.1;
  use_method(job, {"ad_psgd"});
  std::vector<double> steps;
  for (const WorkerRecord& worker : simulate_job(job).workers)
    steps.push_back(static_cast<double>(worker.steps));
  CHECK(steps == std::vector<double>{14, 4});
}

TEST_CASE("neighbour coupling waits for neighbours only, global coupling for everybody") {
  // Worker 0 of a ring of 8 takes 3.5 s a step. After two steps its delay has come as far as worker 2.
  const auto ends = [](const std::string& name, const char* coupling) {
    Job job = paced_job({3.5, 1, 1, 1, 1, 1, 1, 1}, 2);
    job.cluster.network = star(8, 0, 1e30);
    use_method(job, {name, {{"coupling", coupling}}});
    std::vector<double> all;
    for (const WorkerRecord& worker : simulate_job(job).workers) all.push_back(worker.end_s);
    return all;
  };
  const double expected[] = {7, 7, 4.5, 2, 2, 2, 4.5, 7};
  const std::vector<double> neighbour = ends("d_psgd", "neighbour");
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(neighbour[i] == doctest::Approx(expected[i]).epsilon(1e-9));
  }
  for (const char* name : {"d_psgd", "sgp"})
    for (const double end : ends(name, "global")) CHECK(end == doctest::Approx(7).epsilon(1e-9));
}

// Push-sum: what its rounds keep.

namespace {

struct Sums {
  double weights = 0, numerators = 0;
};

/// The sums over all workers after `rounds` rounds in which worker i begins with the number i + 1.
Sums sums_after(int workers, int neighbours, std::uint64_t rounds, Coupling coupling, bool late) {
  Sums sums;
  const auto push_sum = std::make_shared<std::unique_ptr<PushSumRounds>>();  // shared by the script's copies
  Job job = scripted_job(
      star(workers, 1e-3, 1e9),
      [&sums, push_sum](Worker& worker) {
        PushSumRounds::State state{
            worker.executor().constant({{static_cast<float>(worker.rank() + 1)}, {}, {}}),
            worker.executor().constant({{}, {}, {1.0}})};
        while (worker.next_step()) {
          const Tensor numerator = state.numerator;
          state = (*push_sum)->step(worker, worker.step(), state, [&](const Tensor&) { return numerator; });
        }
        sums.weights += worker.executor().get(state.weight).scalars[0];
        sums.numerators += static_cast<double>(worker.executor().get(state.numerator).values[0]);
      },
      1e6);
  job.workload.layers.front().backward_s = 1;
  job.stop.steps = rounds;
  if (late) be_late(job);
  *push_sum = std::make_unique<PushSumRounds>(PushSumRounds::Settings{
      .workers = workers,
      .neighbours = neighbours,
      .coupling = coupling,
      .buckets = make_buckets(job.workload, {.kind = FusionSettings::Kind::all, .threshold_bytes = 0})});
  simulate_job(job);
  return sums;
}

}  // namespace

TEST_CASE("the weights sum to P and the numerators to what they were, after any number of rounds") {
  for (const int workers : {2, 3, 5, 6, 8, 16}) {
    for (int neighbours = 1; neighbours <= std::min(3, push_sum_period(workers)); ++neighbours) {
      for (const std::uint64_t rounds : {1U, 2U, 7U}) {
        for (const bool late : {false, true}) {
          CAPTURE(workers);
          CAPTURE(neighbours);
          CAPTURE(rounds);
          const Sums sums =
              sums_after(workers, neighbours, rounds, late ? Coupling::neighbour : Coupling::global, late);
          CHECK(sums.weights == doctest::Approx(workers).epsilon(1e-12));
          CHECK(sums.numerators == doctest::Approx(0.5 * workers * (workers + 1)).epsilon(1e-6));
        }
      }
    }
  }
}

TEST_CASE("out-neighbours are at the powers of two, one further in each round") {
  const auto distances = [](int workers, int neighbours, std::uint64_t round) {
    return PushSumRounds({.workers = workers, .neighbours = neighbours, .buckets = {}}).distances(round);
  };
  CHECK(distances(16, 1, 1) == std::vector<int>{1});
  CHECK(distances(16, 1, 4) == std::vector<int>{8});
  CHECK(distances(16, 1, 5) == std::vector<int>{1});
  CHECK(distances(16, 2, 1) == std::vector<int>{1, 2});
  CHECK(distances(16, 2, 4) == std::vector<int>{8, 1});
  CHECK(distances(6, 3, 2) == std::vector<int>{2, 4, 1});
}

TEST_CASE("SGP: scaling the model on the host takes its time twice a step") {
  // A model of 1 MB at 1 ns per byte: 2 ms in each of 5 steps.
  const auto end_s = [](double scale_s_per_byte) {
    Job job = paced_job(std::vector<double>(4, 1.0), 5);
    job.workload.layers.front().tensors = {0.25e6};
    job.cluster.host.scale_s_per_byte = scale_s_per_byte;
    use_method(job, {"sgp"});
    const RunRecord record = simulate_job(job);
    return std::vector<double>{record.end_s, spent_s(record.workers[0], Activity::host)};
  };
  const std::vector<double> without = end_s(0), with = end_s(1e-9);
  CHECK(with[0] - without[0] == doctest::Approx(0.01).epsilon(1e-9));
  CHECK(with[1] - without[1] == doctest::Approx(0.01).epsilon(1e-9));
}

// How fast D-PSGD converges on a quadratic, against its spectral gap.

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

}  // namespace simsgd::test::algorithms_gossip
