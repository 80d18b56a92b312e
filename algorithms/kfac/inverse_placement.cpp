#include "algorithms/kfac/inverse_placement.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace simsgd {

namespace {

/// `order` holds the factors that are sent.
void give_to_least_loaded(const std::vector<InverseTask>& tasks, int workers, InversePlacement& placement) {
  std::stable_sort(placement.order.begin(), placement.order.end(),
                   [&tasks](std::size_t a, std::size_t b) { return tasks[a].dim > tasks[b].dim; });
  std::vector<double> load(static_cast<std::size_t>(workers), 0.0);
  for (const std::size_t f : placement.order) {
    const auto least = std::min_element(load.begin(), load.end());
    placement.owner[f] = static_cast<int>(least - load.begin());
    *least += tasks[f].invert_s;
  }
}

template <class IsSent>
InversePlacement balanced(const std::vector<InverseTask>& tasks, int workers, IsSent is_sent) {
  InversePlacement placement = place_everywhere(tasks.size());
  for (std::size_t f = 0; f < tasks.size(); ++f)
    if (is_sent(tasks[f])) placement.order.push_back(f);
  give_to_least_loaded(tasks, workers, placement);
  return placement;
}

}  // namespace

InversePlacement place_everywhere(std::size_t factors) { return {std::vector<int>(factors, kEverybody), {}}; }

InversePlacement place_round_robin(std::size_t factors, int workers) {
  InversePlacement placement{std::vector<int>(factors), std::vector<std::size_t>(factors)};
  std::iota(placement.order.begin(), placement.order.end(), std::size_t{0});
  const bool more_workers = static_cast<std::size_t>(workers) > factors / 2;
  for (std::size_t f = 0; f < factors; ++f)
    placement.owner[f] = static_cast<int>((more_workers ? f : f / 2) % static_cast<std::size_t>(workers));
  return placement;
}

InversePlacement place_balanced(const std::vector<InverseTask>& tasks, int workers) {
  return balanced(tasks, workers, [](const InverseTask& task) { return task.invert_s >= task.broadcast_s; });
}

InversePlacement place_balanced_from(const std::vector<InverseTask>& tasks, int workers, int least_dim) {
  return balanced(tasks, workers, [least_dim](const InverseTask& task) { return task.dim >= least_dim; });
}

}  // namespace simsgd
