// What tests of methods with servers share: a simulation's step ends and losses, and a model's, compared.
#pragma once

#include "tests/algorithms/event_models.hpp"
#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test {

struct SimulatedSteps {
  StepEnds ends;  ///< by rank
  std::vector<double>
      losses;  ///< of each round: as many steps as there are workers, in the order of their ends
};

inline SimulatedSteps simulated_steps(const std::function<Job()>& make, std::size_t workers) {
  StepEndsObserver observer(workers);
  const RunRecord record = simulate_job(make(), 1, {&observer});
  return {observer.ends, losses_of(record)};
}

/// Until the first worker of the simulation ends: when steps end to 1e-9, and the mean loss of each round to
/// 1e-6; a round is everybody's step of a number where workers need each other (`together`). `model` fills in
/// when each worker's steps end, and computes the gradients whose losses `workers` keeps.
inline void check_steps(const SimulatedSteps& simulated, Workers& workers,
                        const std::function<StepEnds(double until_s)>& model, std::size_t least_steps,
                        bool together = false) {
  double until_s = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& ends : simulated.ends) until_s = std::min(until_s, ends.back());
  const StepEnds expected = model(until_s);
  std::vector<std::pair<double, double>> steps;  // when, or which; and the loss
  std::size_t slowest = SIZE_MAX;                // steps of whoever has done the least
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    CAPTURE(rank);
    const std::size_t both = std::min(expected[rank].size(), simulated.ends[rank].size());
    CHECK(both >= least_steps);
    slowest = std::min(slowest, both);
    double worst = 0;
    for (std::size_t k = 0; k < both; ++k) {
      worst = std::max(worst, std::abs(simulated.ends[rank][k] / expected[rank][k] - 1));
      if (expected[rank][k] <= until_s)
        steps.emplace_back(together ? static_cast<double>(k) : expected[rank][k], workers.losses(rank)[k]);
    }
    CHECK(worst < 1e-9);
  }
  std::sort(steps.begin(), steps.end());
  const std::size_t rounds =
      std::min(together ? slowest : steps.size() / workers.size(), simulated.losses.size());
  CHECK(rounds >= least_steps);
  double worst = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    double mean = 0;
    for (std::size_t k = 0; k < workers.size(); ++k)
      mean += steps[workers.size() * round + k].second / static_cast<double>(workers.size());
    worst = std::max(worst, std::abs(simulated.losses[round] - mean));
  }
  CHECK(worst < 1e-6);
}

}  // namespace simsgd::test
