#include "algorithms/kfac/inverse_round.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
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

namespace {

Broadcast broadcast_of(const WorkloadFactor& factor, double bytes_per_number) {
  Broadcast collective;
  collective.bytes = factor.elements() * bytes_per_number;
  collective.tensors = 0;  // an inverse is one tensor: no buffer is filled
  collective.traffic = Traffic::inverse;
  return collective;
}

}  // namespace

std::vector<InverseTask> inverse_tasks(Worker& worker, const KfacSetup& setup) {
  std::map<int, double> broadcast_s;  // by dimension
  std::vector<InverseTask> tasks;
  for (std::size_t f = 0; f < setup.layers.factors.size(); ++f) {
    const WorkloadFactor& factor = setup.layers.factors[f];
    const auto [predicted, fresh] = broadcast_s.try_emplace(factor.dim);
    if (fresh)
      predicted->second =
          worker.collectives().predict(broadcast_of(factor, worker.workload().bytes_per_parameter));
    tasks.push_back({factor.dim, setup.costs.inverse_s[f], predicted->second});
  }
  return tasks;
}

RecordTable placement_table(const InversePlacement& placement, const std::vector<InverseTask>& tasks,
                            const Workload& workload, const KfacLayers& layers) {
  RecordTable table{"inverse_placement",
                    {"layer", "factor", "dimension", "inverted by", "inversion, s", "broadcast, s"},
                    {}};
  const auto add = [&](std::size_t f) {
    const WorkloadFactor& factor = layers.factors[f];
    const int owner = placement.owner[f];
    table.rows.push_back({workload.layers[static_cast<std::size_t>(factor.layer)].name,
                          factor.is_a ? "A" : "G", static_cast<double>(factor.dim),
                          owner == kEverybody ? "everybody" : "rank " + std::to_string(owner),
                          tasks[f].invert_s, tasks[f].broadcast_s});
  };
  for (const std::size_t f : placement.order) add(f);
  for (std::size_t f = 0; f < layers.factors.size(); ++f)
    if (placement.owner[f] == kEverybody) add(f);
  return table;
}

std::vector<FactorPair> InverseRound::invert(const std::vector<FactorPair>& factors, bool overlap) {
  factors_ = &factors;
  if (!overlap) {
    invert_those_of(worker_.rank());
    invert_those_of(kEverybody);
  }
  for (const std::size_t f : placement_.order) {
    if (overlap && placement_.owner[f] == worker_.rank()) invert_one(f);
    broadcast(f);
  }
  if (overlap) invert_those_of(kEverybody);
  for (std::size_t i = 0; i < started_.size(); ++i) {
    worker_.wait(started_[i]);
    receive(placement_.order[i], started_[i].result());
  }
  return std::move(inverses_);
}

void InverseRound::invert_those_of(int owner) {
  for (std::size_t f = 0; f < placement_.owner.size(); ++f)
    if (placement_.owner[f] == owner) invert_one(f);
}

void InverseRound::invert_one(std::size_t factor) {
  const bool is_a = factor % 2 == 0;
  Tensor last;
  for (const std::size_t l : setup_.learned.of[factor / 2]) {
    const LayerFactors& layer = setup_.learned.layout.layers[l];
    const FactorPair& pair = (*factors_)[l];
    Tensor& inverse = is_a ? inverses_[l].a : inverses_[l].g;
    inverse = is_a ? inverse_a(worker_.executor(), layer, pair, setup_.math, worker_.step())
                   : inverse_g(worker_.executor(), layer, pair, setup_.math, worker_.step());
    last = inverse;
  }
  worker_.compute().spend_on(Activity::inverse,
                             setup_.costs.inverse_s[factor] * setup_.costs.slower(worker_.rank()), last,
                             setup_.layers.factors[factor].inverting.c_str());
}

void InverseRound::broadcast(std::size_t factor) {
  const bool is_a = factor % 2 == 0;
  Broadcast collective = broadcast_of(setup_.layers.factors[factor], worker_.workload().bytes_per_parameter);
  collective.root = placement_.owner[factor];
  if (worker_.rank() == collective.root) {
    std::vector<Tensor> parts;
    for (const std::size_t l : setup_.learned.of[factor / 2])
      if (const Tensor& inverse = is_a ? inverses_[l].a : inverses_[l].g) parts.push_back(inverse);
    if (!parts.empty()) collective.contribution = concatenate(worker_.executor(), parts);
  }
  started_.push_back(worker_.collectives().start(std::move(collective)));
}

void InverseRound::receive(std::size_t factor, const Tensor& result) {
  if (!result) return;
  const bool is_a = factor % 2 == 0;
  std::size_t next = 0;
  for (const std::size_t l : setup_.learned.of[factor / 2]) {
    const LayerFactors& layer = setup_.learned.layout.layers[l];
    const std::size_t size = triangle(static_cast<std::size_t>(is_a ? layer.a_dim : layer.g_dim));
    (is_a ? inverses_[l].a : inverses_[l].g) = slice(worker_.executor(), result, next, next + size);
    next += size;
  }
}

}  // namespace simsgd
