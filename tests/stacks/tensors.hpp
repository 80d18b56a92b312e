// Tensors that two workers hand over one after another, and when the last of them is through.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "tests/stacks/support.hpp"

namespace simsgd::test::stacks {

/// Tensors of several ranks: when each rank has computed each of them, one after another, and their sizes.
struct Tensors {
  std::vector<std::vector<double>> computed_s;  // by rank and tensor: how long it takes
  std::vector<double> bytes;
};

inline Tensors random_tensors(std::mt19937& random) {
  std::uniform_real_distribution<double> time(0, 4e-3), size(1e3, 2e6);
  Tensors all;
  const std::size_t count = 1 + random() % 9;
  for (std::size_t k = 0; k < count; ++k) all.bytes.push_back(std::floor(size(random)));
  for (int rank = 0; rank < 2; ++rank)
    for (std::size_t k = 0; k < count; ++k) {
      all.computed_s.resize(2);
      all.computed_s[static_cast<std::size_t>(rank)].push_back(random() % 4 == 0 ? 0 : time(random));
    }
  return all;
}

// When the last of them is through on all workers.
inline double simulated_s(const Json& stack, const Tensors& tensors, Fidelity fidelity) {
  Job job = scripted_job(star(2, kAlpha_s, kBps), [&](Worker& worker) {
    while (worker.next_step()) {
      std::vector<Handle<Tensor>> handles;
      for (std::size_t k = 0; k < tensors.bytes.size(); ++k) {
        const auto rank = static_cast<std::size_t>(worker.rank());
        worker.compute().spend(Activity::compute, tensors.computed_s[rank][k]);
        handles.push_back(worker.collectives().start(sum_of_bytes(tensors.bytes[k])));
      }
      for (const Handle<Tensor>& handle : handles) worker.wait(handle);
    }
  });
  job.network.fidelity = fidelity;
  use_stack(job, stack);
  return simulate_job(job).end_s;
}

}  // namespace simsgd::test::stacks
