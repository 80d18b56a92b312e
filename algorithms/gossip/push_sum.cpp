#include "algorithms/gossip/push_sum.hpp"

#include <utility>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

/// The sum of what the in-neighbours sent, values and weights.
MemberEffect sum_of_arrived(int workers, const std::vector<int>& distances) {
  return [workers, distances](Executor& executor, std::int32_t group_rank,
                              const std::vector<Tensor>& contributions) -> Tensor {
    if (!contributions[static_cast<std::size_t>(group_rank)]) return {};
    std::vector<Tensor> terms;
    for (const int distance : distances)
      terms.push_back(contributions[static_cast<std::size_t>((group_rank + workers - distance) % workers)]);
    return executor.submit_shared("push_sum_arrived", {}, terms, [](TensorData& out, auto in) {
      out = *in[0];
      for (std::size_t t = 1; t < in.size(); ++t) {
        for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] += in[t]->values[i];
        out.scalars[0] += in[t]->scalars[0];
      }
    });
  };
}

/// Entries [begin, end) of the numerator, with the weight.
Tensor piece_of(Worker& worker, const Tensor& numerator, const Tensor& weight, const Bucket& bucket) {
  if (!numerator) return {};
  const bool whole = bucket.begin_share == 0 && bucket.end_share == 1;
  const auto [first, last] = entries_of(worker, bucket);
  return worker.executor().submit(
      {numerator, weight}, [whole, begin = first, end = last](TensorData& out, auto in) {
        const std::vector<float>& x = in[0]->values;
        CHECK(whole || end <= x.size(), "a piece beyond the end of its vector");
        out.values.assign(x.data() + (whole ? 0 : begin), x.data() + (whole ? x.size() : end));
        out.scalars = in[1]->scalars;
      });
}

}  // namespace

int push_sum_period(int workers) { return std::max(1, ceil_log2(workers)); }

std::vector<int> PushSumRounds::distances(std::uint64_t round) const {
  const int period = push_sum_period(settings_.workers);
  std::vector<int> all;
  for (int k = 0; k < settings_.neighbours && settings_.workers > 1; ++k)
    all.push_back(1 << ((round - 1 + static_cast<std::uint64_t>(k)) % static_cast<std::uint64_t>(period)));
  return all;
}

PushSumRounds::PushSumRounds(const Settings& settings) : settings_(settings) {
  const int workers = settings.workers;
  for (int round = 1; round <= push_sum_period(workers); ++round) {
    const std::vector<int> to = distances(static_cast<std::uint64_t>(round));
    MessagePattern messages;
    for (const int distance : to) {
      std::vector<std::int32_t>& stage = messages.emplace_back();
      for (int i = 0; i < workers; ++i) stage.push_back((i + distance) % workers);
    }
    const Exchange::Settings exchange{
        .name = "push-sum", .ranks = workers, .bytes = 0, .coupling = settings.coupling};
    rounds_.emplace_back(exchange, messages, settings.buckets, settings.bytes_per_parameter,
                         sum_of_arrived(workers, to));
  }
}

PushSumRounds::State PushSumRounds::initial(Worker& worker) {
  if (!worker.replica().parameters()) return {};
  return {worker.replica().parameters(), worker.executor().constant({{}, {}, {1.0}})};
}

Tensor PushSumRounds::estimate(Worker& worker, const State& state) {
  if (!state.numerator) return {};
  return worker.executor().submit_shared("push_sum_estimate", {}, {state.numerator, state.weight},
                                         [](TensorData& out, auto in) {
                                           const double weight = in[1]->scalars[0];
                                           out.values = in[0]->values;
                                           for (float& value : out.values)
                                             value = static_cast<float>(value / weight);
                                         });
}

// What a worker keeps does not travel, so it is not rounded to what messages carry.
PushSumRounds::State PushSumRounds::add_up(Worker& worker, const State& own,
                                           const std::vector<Tensor>& received) const {
  if (!own.numerator || settings_.workers == 1) return own;
  const double share = 1.0 / (settings_.neighbours + 1);
  Executor& executor = worker.executor();
  const Tensor arrived = concatenate(executor, received);
  return {linear_combination(executor, {1.0, 1.0}, {own.numerator, arrived}, share),
          executor.submit({own.weight, received.front()}, [share](TensorData& out, auto in) {
            out.scalars = {(in[0]->scalars[0] + in[1]->scalars[0]) * share};
          })};
}

PushSumRounds::State PushSumRounds::step(Worker& worker, std::uint64_t round, const State& state,
                                         const std::function<Tensor(const Tensor& gradient)>& update) const {
  const std::size_t which = static_cast<std::size_t>((round - 1) % rounds_.size());
  State own{{}, state.weight};
  bool updated = false;
  const PiecewiseExchange::Result result =
      rounds_[which].run(worker, [&](const Tensor& gradient, const Bucket& piece) {
        if (!std::exchange(updated, true)) own.numerator = update(gradient);
        return piece_of(worker, own.numerator, own.weight, piece);
      });
  return add_up(worker, own, result.received);
}

}  // namespace simsgd
