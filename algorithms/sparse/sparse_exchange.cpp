#include "algorithms/sparse/sparse_exchange.hpp"

#include <algorithm>
#include <span>

#include "algorithms/sparse/sparse.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace {

std::vector<std::int32_t> nobody(int ranks) {
  return std::vector<std::int32_t>(static_cast<std::size_t>(ranks), -1);
}

// The ranks >= active send to rank - active, or receive from it.
std::vector<std::int32_t> folded(int ranks, int active, bool inwards) {
  std::vector<std::int32_t> to = nobody(ranks);
  for (int outer = active; outer < ranks; ++outer) {
    const int inner = outer - active;
    to[static_cast<std::size_t>(inwards ? outer : inner)] = inwards ? inner : outer;
  }
  return to;
}

// Multiples of 2 * distance and their partner at `distance`.
std::vector<std::int32_t> level(int ranks, int active, int distance, bool towards_root) {
  std::vector<std::int32_t> to = nobody(ranks);
  for (int even = 0; even < active; even += 2 * distance) {
    const int odd = even + distance;
    to[static_cast<std::size_t>(towards_root ? odd : even)] = towards_root ? even : odd;
  }
  return to;
}

std::vector<std::int32_t> exchange(int ranks, int active, int distance) {
  std::vector<std::int32_t> to = nobody(ranks);
  for (int i = 0; i < active; ++i) to[static_cast<std::size_t>(i)] = i ^ distance;
  return to;
}

// Scalars of the merged vector: for each merge the number of distinct indices, of dropped ones, and these.
constexpr std::size_t kDistinct = 0, kDropped = 1, kHead = 2;

void append(const MergeOutcome& outcome, std::vector<double>& scalars) {
  scalars.push_back(static_cast<double>(outcome.distinct));
  scalars.push_back(static_cast<double>(outcome.dropped.size()));
  scalars.insert(scalars.end(), outcome.dropped.begin(), outcome.dropped.end());
}

// What a merge has written there; `at` moves on to the next.
std::span<const double> next_merge(const std::vector<double>& scalars, std::size_t& at) {
  const std::size_t size = kHead + static_cast<std::size_t>(scalars[at + kDropped]);
  at += size;
  return std::span(scalars).subspan(at - size, size);
}

// Removes what `dropped` holds from `indices`; both ascend.
void remove(std::span<const double> dropped, std::vector<std::int32_t>& indices) {
  std::size_t d = 0;
  std::erase_if(indices, [&](std::int32_t index) {
    while (d < dropped.size() && dropped[d] < index) ++d;
    return d < dropped.size() && dropped[d] == index;
  });
}

// Indices of `selected` whose value is in the result: no merge on the way from `rank` to it has dropped them.
std::vector<std::int32_t> survivors(const TensorData& selected, const TensorData& merged,
                                    const std::vector<MergeStep>& steps, std::int32_t rank) {
  std::vector<std::int32_t> indices = selected.indices;
  std::size_t at = 0;
  for (const MergeStep& step : steps) {
    const std::span<const double> merge = next_merge(merged.scalars, at);
    if (step.into != rank && step.from != rank) continue;
    remove(merge.subspan(kHead), indices);
    rank = step.into;
  }
  return indices;
}

std::vector<std::int32_t> common(const TensorData& selected, const TensorData& merged) {
  std::vector<std::int32_t> indices;
  std::set_intersection(selected.indices.begin(), selected.indices.end(), merged.indices.begin(),
                        merged.indices.end(), std::back_inserter(indices));
  return indices;
}

}  // namespace

std::vector<MergeStep> merge_steps(int workers) {
  std::vector<MergeStep> steps;
  const int active = power_of_two_below(workers);
  std::int32_t round = 0;
  for (int outer = active; outer < workers; ++outer) steps.push_back({outer - active, outer, round});
  if (active < workers) ++round;
  for (int distance = 1; distance < active; distance *= 2, ++round)
    for (int even = 0; even < active; even += 2 * distance) steps.push_back({even, even + distance, round});
  return steps;
}

Schedule merge_schedule(const MergeScheduleRequest& request) {
  const int ranks = request.workers, active = power_of_two_below(ranks);
  const bool tree = request.variant == MergeVariant::tree;
  const double up = request.entries * request.bytes_per_entry;
  const double down = up + (request.put_back == PutBack::exact ? request.entries / 8 : 0);
  Schedule schedule;
  schedule.name = tree ? "gtopk_tree" : "gtopk_recursive_doubling";
  schedule.ranks = ranks;
  schedule.ends_together = !tree && active == ranks;
  const auto add = [&](std::vector<std::int32_t> to, double bytes, bool merges) {
    Stage stage = make_stage(std::move(to), bytes, 0);
    stage.receive_s = merges ? request.entries * request.merge_s : 0;
    schedule.stages.push_back(std::move(stage));
  };
  if (active < ranks) add(folded(ranks, active, true), up, true);
  for (int distance = 1; distance < active; distance *= 2)
    add(tree ? level(ranks, active, distance, true) : exchange(ranks, active, distance), up, true);
  for (int distance = active / 2; tree && distance >= 1; distance /= 2)
    add(level(ranks, active, distance, false), down, false);
  if (active < ranks) add(folded(ranks, active, false), down, false);
  return schedule;
}

Tensor merge_all(Executor& executor, const std::vector<Tensor>& contributions, std::size_t k) {
  if (!contributions.front()) return {};
  return executor.submit(contributions, [k](TensorData& out, auto in) {
    std::vector<TensorData> vectors;
    for (const TensorData* contribution : in)
      vectors.push_back({contribution->values, contribution->indices, {}});
    std::vector<double> scalars;
    for (const MergeStep& step : merge_steps(static_cast<int>(vectors.size()))) {
      TensorData merged;
      append(merge_top_k(vectors[static_cast<std::size_t>(step.into)],
                         vectors[static_cast<std::size_t>(step.from)], k, merged),
             scalars);
      vectors[static_cast<std::size_t>(step.into)] = std::move(merged);
    }
    out = std::move(vectors.front());
    out.scalars = std::move(scalars);
  });
}

Tensor residual_after_merge(Executor& executor, const Tensor& accumulated, const Tensor& selected,
                            const Tensor& merged, const MergeScheduleRequest& request, int rank) {
  if (!accumulated) return {};
  const bool knows_path =
      request.put_back == PutBack::exact ||
      (request.variant == MergeVariant::recursive_doubling && rank < power_of_two_below(request.workers));
  return executor.submit({accumulated, selected, merged}, [knows_path, rank, workers = request.workers](
                                                              TensorData& out, auto in) {
    const std::vector<std::int32_t> sent =
        knows_path ? survivors(*in[1], *in[2], merge_steps(workers), rank) : common(*in[1], *in[2]);
    out.values = in[0]->values;
    for (const std::int32_t index : sent) out.values[static_cast<std::size_t>(index)] = 0;
  });
}

Tensor distinct_by_round(Executor& executor, const Tensor& merged, int workers) {
  if (!merged) return {};
  return executor.submit({merged}, [workers](TensorData& out, auto in) {
    const std::vector<MergeStep> steps = merge_steps(workers);
    if (steps.empty()) return;
    std::vector<double> counts(static_cast<std::size_t>(steps.back().round) + 1, 0.0);
    out.scalars = counts;
    std::size_t at = 0;
    for (const MergeStep& step : steps) {
      const auto round = static_cast<std::size_t>(step.round);
      out.scalars[round] += next_merge(in[0]->scalars, at)[kDistinct];
      ++counts[round];
    }
    for (std::size_t round = 0; round < counts.size(); ++round) out.scalars[round] /= counts[round];
  });
}

}  // namespace simsgd
