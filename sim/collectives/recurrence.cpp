#include "sim/collectives/recurrence.hpp"

#include <cmath>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "sim/collectives/wide_draws.hpp"

namespace simsgd {

namespace {

// Lists the cycles of the permutation `to`, one after another.
void find_cycles(const std::vector<std::int32_t>& to, StageCosts& costs) {
  std::vector<char> seen(to.size(), 0);
  for (std::size_t start = 0; start < to.size(); ++start) {
    if (seen[start]) continue;
    costs.cycle_begin.push_back(static_cast<std::int32_t>(costs.order.size()));
    for (std::size_t at = start; !seen[at]; at = static_cast<std::size_t>(to[at])) {
      seen[at] = 1;
      costs.order.push_back(static_cast<std::int32_t>(at));
    }
  }
  costs.cycle_begin.push_back(static_cast<std::int32_t>(costs.order.size()));
}

double later(double a, double b) { return a < b ? b : a; }

// One repetition on one cycle of n > 1 ranks, in place: place k sends to place k + 1 at cost(k). A message
// ends at both of its ranks at u[k] = max(t[k], t[k+1]) + cost(k), so that rank k is done at max(u[k-1],
// u[k]).
template <class Cost>
void step_cycle(double* t, std::size_t n, double reduce_s, const Cost& cost) {
  constexpr std::size_t kChunk = 128;  // of places, so that u stays in registers and the nearest cache
  double u[kChunk + 1];
  const double last = later(t[n - 1], t[0]) + cost(n - 1);
  double before = last;  // end of the message to place `begin`
  for (std::size_t begin = 0; begin + 1 < n; begin += kChunk) {
    const std::size_t count = std::min(kChunk, n - 1 - begin);
    u[0] = before;
    for (std::size_t k = 0; k < count; ++k)
      u[k + 1] = later(t[begin + k], t[begin + k + 1]) + cost(begin + k);
    for (std::size_t k = 0; k < count; ++k) t[begin + k] = later(u[k], u[k + 1]) + reduce_s;
    before = u[count];
  }
  t[n - 1] = later(before, last) + reduce_s;
}

// True if one more repetition would only add the same amount everywhere: the recurrence is linear in max-plus
// algebra, so it then adds that amount for ever.
bool steady(const double* before, const double* after, std::size_t n, double& increment) {
  increment = after[0] - before[0];
  const double tolerance = 4e-16 * std::fabs(after[0]);
  for (std::size_t k = 1; k < n; ++k)
    if (std::fabs(after[k] - before[k] - increment) > tolerance) return false;
  return true;
}

// Raises every place to what travels to it from another, which loses on each message that it crosses.
void spread(std::vector<double>& t, const std::vector<double>& loss) {
  const std::size_t last = t.size() - 1;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t k = 0; k < last; ++k) t[k + 1] = later(t[k + 1], t[k] - loss[k]);
    t[0] = later(t[0], t[last] - loss[last]);
  }
  for (int round = 0; round < 2; ++round) {
    t[last] = later(t[last], t[0] - loss[last]);
    for (std::size_t k = last; k-- > 0;) t[k] = later(t[k], t[k + 1] - loss[k]);
  }
}

// All repetitions at once, where there are many. Each takes as long as the longest message at most. A time
// that travels from one rank to another loses on each message between them what that is shorter by; in all
// other repetitions it rests beside a longest one and loses nothing. The way to such a place and on is no
// longer than once around the cycle, or than three times the longest gap between two of them, and repetitions
// without ever being there lose more than the detour: else nothing is done, and false returned.
bool leap(std::vector<double>& t, const std::vector<double>& c, double reduce_s, int repeat) {
  const std::size_t n = t.size();
  const double longest = *std::max_element(c.begin(), c.end());
  std::vector<double> loss(n), rested(n, -std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < n; ++k) loss[k] = c[k] >= longest * (1 - 1e-15) ? 0 : longest - c[k];
  const auto rests = [&](std::size_t k) { return loss[k] == 0 || loss[(k + n - 1) % n] == 0; };
  const auto start =
      static_cast<std::size_t>(std::max_element(c.begin(), c.end()) - c.begin());  // one that rests
  std::size_t gap = 0, most_gap = 0;
  double gap_loss = 0, most_gap_loss = 0, least_loss = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t k = (start + i) % n;
    if (rests(k)) {
      gap = 0;
      gap_loss = 0;
    } else {
      least_loss = std::min({least_loss, loss[k], loss[(k + n - 1) % n]});
    }
    most_gap = std::max(most_gap, ++gap);
    most_gap_loss = std::max(most_gap_loss, gap_loss += loss[k]);
  }
  if (static_cast<std::size_t>(repeat) < std::max(n - 1, 3 * most_gap) ||
      repeat * least_loss < 2 * most_gap_loss)
    return false;
  spread(t, loss);
  for (std::size_t k = 0; k < n; ++k)
    if (rests(k)) rested[k] = t[k];
  spread(rested, loss);
  for (std::size_t k = 0; k < n; ++k) t[k] = rested[k] + repeat * (longest + reduce_s);
  return true;
}

// After how many ranks times and costs repeat: on nodes that are alike, after those of one. So do they after
// any repetitions, and as many ranks in a cycle of their own tell what all do.
std::size_t period_of(const std::vector<double>& t, const std::vector<double>& c) {
  constexpr std::size_t kMost = 128;
  const auto repeats = [](const std::vector<double>& values, std::size_t period) {
    return std::equal(values.begin() + static_cast<std::ptrdiff_t>(period), values.end(), values.begin());
  };
  for (std::size_t period = 2; period <= std::min(kMost, t.size() / 2); ++period)
    if (t.size() % period == 0 && repeats(c, period) && repeats(t, period)) return period;
  return t.size();
}

// All repetitions on one cycle without jitter, of which a period of a cycle of `n` is given.
void run_cycle(std::vector<double>& t, const std::vector<double>& c, std::size_t n, double reduce_s,
               int repeat, bool uniform) {
  if (uniform && repeat >= static_cast<int>(n / 2)) {  // a delay has reached everybody
    const double end = *std::max_element(t.begin(), t.end()) + repeat * (c[0] + reduce_s);
    std::fill(t.begin(), t.end(), end);
    return;
  }
  // Shorter ones are gone through, and round each repetition at the clock's size: so are times recorded.
  constexpr std::size_t kLong = 4096;
  if (n > kLong && leap(t, c, reduce_s, repeat)) return;
  std::vector<double> before(t.size());
  constexpr int kCheckEvery = 32;
  for (int done = 0; done < repeat; ++done) {
    const bool check = done % kCheckEvery == 0;  // the first too: after another ring all are in step
    if (check) before = t;
    step_cycle(t.data(), t.size(), reduce_s, [&c](std::size_t k) { return c[k]; });
    double increment = 0;
    if (check && steady(before.data(), t.data(), t.size(), increment)) {
      const double rest = (repeat - 1 - done) * increment;
      for (double& time : t) time += rest;
      return;
    }
  }
}

void advance_cycles(const StageCosts& costs, std::vector<double>& t) {
  std::vector<double> times, cost;
  for (std::size_t cycle = 0; cycle + 1 < costs.cycle_begin.size(); ++cycle) {
    const auto begin = static_cast<std::size_t>(costs.cycle_begin[cycle]);
    const auto end = static_cast<std::size_t>(costs.cycle_begin[cycle + 1]);
    times.resize(end - begin);
    cost.resize(end - begin);
    for (std::size_t k = begin; k < end; ++k) {
      const auto rank = static_cast<std::size_t>(costs.order[k]);
      times[k - begin] = t[rank];
      cost[k - begin] = costs.message_s(rank);
    }
    const std::size_t period = costs.uniform ? end - begin : period_of(times, cost);
    times.resize(period);
    cost.resize(period);
    run_cycle(times, cost, end - begin, costs.reduce_s, costs.stage->repeat, costs.uniform);
    for (std::size_t k = begin; k < end; k += period)
      for (std::size_t i = 0; i < period; ++i) t[static_cast<std::size_t>(costs.order[k + i])] = times[i];
  }
}

// The same with fresh jitter in each repetition.
void advance_cycles_with_jitter(const StageCosts& costs, const JitterDraws& jitter, std::uint32_t& step,
                                std::vector<double>& t) {
  const std::size_t ranks = t.size();
  std::vector<double> draws(ranks), times(ranks), base(ranks), extra(ranks);
  for (std::size_t k = 0; k < ranks; ++k) {
    const auto rank = static_cast<std::size_t>(costs.order[k]);
    times[k] = t[rank];
    base[k] = costs.message_s(rank);
  }
  const bool in_order = std::is_sorted(costs.order.begin(), costs.order.end());
  for (int done = 0; done < costs.stage->repeat; ++done, ++step) {
    jitter.row(step, in_order ? extra : draws);
    if (!in_order)
      for (std::size_t k = 0; k < ranks; ++k) extra[k] = draws[static_cast<std::size_t>(costs.order[k])];
    if (!costs.jitter_factors.empty())
      for (std::size_t k = 0; k < ranks; ++k)
        extra[k] *= costs.jitter_factors[static_cast<std::size_t>(costs.order[k])];
    for (std::size_t cycle = 0; cycle + 1 < costs.cycle_begin.size(); ++cycle) {
      const auto begin = static_cast<std::size_t>(costs.cycle_begin[cycle]);
      const std::size_t length = static_cast<std::size_t>(costs.cycle_begin[cycle + 1]) - begin;
      const double *first = base.data() + begin, *second = extra.data() + begin;
      step_cycle(times.data() + begin, length, costs.reduce_s,
                 [first, second](std::size_t k) { return first[k] + second[k]; });
    }
  }
  for (std::size_t k = 0; k < ranks; ++k) t[static_cast<std::size_t>(costs.order[k])] = times[k];
}

// Some ranks neither send nor receive, or messages differ from one repetition to the next: message by
// message, of which each takes `message_s(sender, start)`, jitter apart.
template <class Cost>
void advance_messages(const StageCosts& costs, const JitterDraws* jitter, std::uint32_t& step,
                      std::vector<double>& t, const Cost& message_s) {
  const std::vector<std::int32_t>& to = costs.stage->to;
  std::vector<double> next(t.size()), draws(t.size(), 0.0);
  for (int done = 0; done < costs.stage->repeat; ++done, ++step) {
    if (jitter) jitter->row(step, draws);
    next = t;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] < 0) continue;
      const auto j = static_cast<std::size_t>(to[i]);
      const double late_s = draws[i] * costs.jitter_factor(i), start_s = std::max(t[i], t[j]);
      const double arrived = start_s + message_s(i, start_s + late_s) + late_s;
      next[i] = std::max(next[i], arrived);
      next[j] = std::max(next[j], arrived);
    }
    if (costs.reduce_s > 0)
      for (std::size_t i = 0; i < to.size(); ++i)
        if (costs.stage->from[i] >= 0) next[i] += costs.reduce_s;
    t.swap(next);
  }
}

double through_bucket_s(const StageCosts& costs, std::size_t sender, double start_s, BucketLevel& level) {
  const double bytes = costs.wire(sender), begin_s = start_s + costs.alpha_s[sender];
  if (bytes <= 0) return costs.alpha_s[sender];
  const TokenBucket::Passage passage = level.take(begin_s, bytes);
  if (passage.flowing_bytes <= 0) return costs.alpha_s[sender] + passage.wait_s;
  const double flow_s = costs.transfer_s[sender] * passage.flowing_bytes / bytes;
  level.ended(begin_s + flow_s);
  return costs.alpha_s[sender] + flow_s;
}

}  // namespace

StageCosts make_stage_costs(const Stage& stage, std::vector<double> alpha_s, std::vector<double> transfer_s,
                            double reduce_s) {
  StageCosts costs;
  costs.stage = &stage;
  costs.alpha_s = std::move(alpha_s);
  costs.transfer_s = std::move(transfer_s);
  costs.reduce_s = reduce_s;
  double first = -1;
  for (std::size_t i = 0; i < stage.to.size(); ++i) {
    costs.permutation = costs.permutation && stage.to[i] >= 0 && stage.from[i] >= 0;
    if (stage.to[i] < 0) continue;
    if (first < 0) first = costs.message_s(i);
    // Sums of the same latencies in another order differ by rounding alone.
    costs.uniform = costs.uniform && std::fabs(costs.message_s(i) - first) <= 1e-12 * first;
  }
  if (costs.permutation) find_cycles(stage.to, costs);
  return costs;
}

JitterTable::JitterTable(const Distribution& distribution) : distribution_(distribution) {
  table_.resize(kIntervals + 1);
  for (std::size_t i = 1; i < kIntervals; ++i)
    table_[i] = distribution_.quantile(static_cast<double>(i) / static_cast<double>(kIntervals));
}

double JitterTable::draw(std::uint32_t bits) const {
  if (is_outermost(bits)) return distribution_.quantile((static_cast<double>(bits) + 0.5) * 0x1p-32);
  return interpolate(table_.data(), bits);
}

namespace {

// Four senders share a Philox block: this with its number XORed into the first word.
r123::Philox4x32::ctr_type jitter_counter(const JitterDraws& draws, std::uint32_t step) {
  const auto high = static_cast<std::uint32_t>(draws.operation >> 32) ^ (draws.channel << 16);
  return {{step << 14, static_cast<std::uint32_t>(draws.operation), high,
           static_cast<std::uint32_t>(Purpose::link_jitter) << 8}};
}

r123::Philox4x32::key_type jitter_key(const JitterDraws& draws) {
  return {{static_cast<std::uint32_t>(draws.seed), static_cast<std::uint32_t>(draws.seed >> 32)}};
}

}  // namespace

double JitterDraws::at(std::uint32_t step, std::uint32_t sender) const {
  r123::Philox4x32::ctr_type counter = jitter_counter(*this, step);
  counter[0] ^= sender / 4;
  return table->draw(r123::Philox4x32{}(counter, jitter_key(*this))[sender % 4]);
}

void JitterDraws::row(std::uint32_t step, std::vector<double>& jitter) const {
  const r123::Philox4x32::ctr_type counter = jitter_counter(*this, step);
  const r123::Philox4x32::key_type key = jitter_key(*this);
  std::size_t done = 0;
  for (WideBits bits; done + kWideDraws <= jitter.size(); done += kWideDraws) {
    wide_philox(counter, key, static_cast<std::uint32_t>(done / 4), bits);
    if (!wide_interpolate(table->intervals(), bits, jitter.data() + done)) continue;
    for (std::size_t k = 0; k < kWideDraws; ++k)
      if (is_outermost(bits[k])) jitter[done + k] = table->draw(bits[k]);
  }
  for (; done < jitter.size(); done += 4) {
    r123::Philox4x32::ctr_type at = counter;
    at[0] ^= static_cast<std::uint32_t>(done / 4);
    const r123::Philox4x32::ctr_type bits = r123::Philox4x32{}(at, key);
    const std::size_t lanes = std::min<std::size_t>(4, jitter.size() - done);
    for (std::size_t lane = 0; lane < lanes; ++lane) jitter[done + lane] = table->draw(bits[lane]);
  }
}

void advance_stage(const StageCosts& costs, const JitterDraws* jitter, std::uint32_t& step,
                   std::vector<double>& t) {
  if (!costs.permutation) {
    advance_messages(costs, jitter, step, t, [&costs](std::size_t i, double) { return costs.message_s(i); });
  } else if (jitter) {
    advance_cycles_with_jitter(costs, *jitter, step, t);
  } else {
    advance_cycles(costs, t);
    step += static_cast<std::uint32_t>(costs.stage->repeat);
  }
}

void advance_stage(const StageCosts& costs, const JitterDraws* jitter, std::uint32_t& step,
                   std::vector<double>& t, std::vector<BucketLevel>& levels) {
  if (costs.buckets.empty()) return advance_stage(costs, jitter, step, t);
  advance_messages(costs, jitter, step, t, [&](std::size_t i, double start_s) {
    return costs.buckets[i] < 0
               ? costs.message_s(i)
               : through_bucket_s(costs, i, start_s, levels[static_cast<std::size_t>(costs.buckets[i])]);
  });
}

}  // namespace simsgd
