#include "algorithms/sparse/sparse_exchange.hpp"

#include <algorithm>
#include <map>
#include <memory>
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

}  // namespace

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
    Stage stage = make_stage(std::move(to), bytes, 0, 1, all_of(merges));
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

namespace {

// Scalars of a vector on its way: for each merge behind it the number of its step, then as in the result.
void append_merges(const std::vector<double>& scalars, bool with_dropped, std::vector<double>& all) {
  for (std::size_t at = 0; at < scalars.size();) {
    all.push_back(scalars[at++]);
    const std::span<const double> merge = next_merge(scalars, at);
    all.push_back(merge[kDistinct]);
    all.push_back(with_dropped ? merge[kDropped] : 0);
    if (with_dropped) all.insert(all.end(), merge.begin() + kHead, merge.end());
  }
}

// The merge of two workers' vectors is that of the groups that they stand for.
std::size_t step_between(const std::vector<MergeStep>& steps, int workers, std::int32_t a, std::int32_t b) {
  const int active = power_of_two_below(workers);
  std::int32_t into = std::min(a, b), from = std::max(a, b);
  if (from < active) {
    const std::int32_t distance = a ^ b;
    into &= ~(2 * distance - 1);
    from = into + distance;
  }
  const auto step = std::find_if(steps.begin(), steps.end(), [&](const MergeStep& each) {
    return each.into == into && each.from == from;
  });
  CHECK(step != steps.end(), "a schedule of gTop-k merges what its algorithm does not");
  return static_cast<std::size_t>(step - steps.begin());
}

TensorData result_of(const TensorData& held) {
  std::map<double, std::vector<double>> by_step;
  for (std::size_t at = 0; at < held.scalars.size();) {
    const double step = held.scalars[at++];
    const std::span<const double> merge = next_merge(held.scalars, at);
    by_step[step].assign(merge.begin(), merge.end());
  }
  TensorData result{held.values, held.indices, {}};
  for (const auto& [step, merge] : by_step)
    result.scalars.insert(result.scalars.end(), merge.begin(), merge.end());
  return result;
}

}  // namespace

Merging merging_of(const MergeScheduleRequest& request, std::size_t k) {
  const bool told = request.put_back == PutBack::exact;
  const bool sees_own = request.variant == MergeVariant::recursive_doubling;
  const auto steps =
      std::make_shared<const std::vector<MergeStep>>(merge_steps(request.workers));  // by copies
  Merging merging;
  merging.merge = [=, workers = request.workers](Executor& executor, std::int32_t member, std::int32_t sender,
                                                 const Tensor& held, const Tensor& received) {
    const std::size_t step = step_between(*steps, workers, member, sender);
    return executor.submit({held, received}, [=](TensorData& out, auto in) {
      TensorData merged;
      std::vector<double> scalars = in[0]->scalars, fresh = {static_cast<double>(step)};
      append_merges(in[1]->scalars, told, scalars);
      append(merge_top_k({in[0]->values, in[0]->indices, {}}, {in[1]->values, in[1]->indices, {}}, k, merged),
             fresh);
      append_merges(fresh, told || sees_own, scalars);
      out = std::move(merged);
      out.scalars = std::move(scalars);
    });
  };
  if (!told && sees_own)
    merging.sent = [](Executor& executor, const Tensor& held) {
      return executor.submit({held}, [](TensorData& out, auto in) {
        out = {in[0]->values, in[0]->indices, {}};
        append_merges(in[0]->scalars, false, out.scalars);
      });
    };
  merging.finish = [](Executor& executor, std::int32_t, const Tensor& held) {
    return executor.submit({held}, [](TensorData& out, auto in) { out = result_of(*in[0]); });
  };
  return merging;
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
