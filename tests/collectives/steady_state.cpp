// The recurrence takes short cuts: it stops once a stage only adds the same to every rank, it knows the end
// on equal links, it works in chunks and in vectors. None of that may show: it equals the plain loop.
#include <doctest/doctest.h>

#include "naive.hpp"
#include "support.hpp"

namespace simsgd::test::collectives_steady_state {

namespace {

struct Case {
  std::vector<std::int32_t> to;
  int repeat = 1;
  double reduce_s = 0;
  std::vector<double> alpha_s, transfer_s, arrivals;
};

void check_equals_plain_loop(const Case& given, const JitterDraws* jitter) {
  const Stage stage = make_stage(given.to, 1, 1, given.repeat);
  const StageCosts costs = make_stage_costs(stage, given.alpha_s, given.transfer_s, given.reduce_s);
  std::uint32_t step = 3, plain_step = 3;
  std::vector<double> t = given.arrivals, plain = given.arrivals;
  advance_stage(costs, jitter, step, t);
  naive_advance(costs, jitter, plain_step, plain);
  CHECK(step == plain_step);
  CHECK(worst_difference(t, plain) < 1e-15 * (1 + given.repeat));  // a few roundings for each repetition
}

std::vector<std::int32_t> ring_of(int ranks, int distance = 1) {
  std::vector<std::int32_t> to;
  for (int i = 0; i < ranks; ++i) to.push_back((i + distance) % ranks);
  return to;
}

/// Costs between 1 us and 10 us, or few levels of them (ties), or nearly equal; arrivals within 1 ms or
/// together.
Case random_case(std::vector<std::int32_t> to, int repeat, Stream& draws) {
  Case made;
  made.repeat = repeat;
  made.reduce_s = draws.below(2) == 0 ? 0 : 1e-6 * draws.uniform();
  const std::uint32_t kind = draws.below(4);
  const bool together = draws.below(2) == 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const double cost = kind == 0   ? 1e-6 + 9e-6 * draws.uniform()
                        : kind == 1 ? 1e-6 * (1 + draws.below(3))
                        : kind == 2 ? 5e-6 * (1 + 1e-9 * draws.uniform())
                                    : 5e-6;
    made.alpha_s.push_back(cost / 4);
    made.transfer_s.push_back(3 * cost / 4);
    made.arrivals.push_back(together ? 0.5 : 0.5 + 1e-3 * draws.uniform());
  }
  made.to = std::move(to);
  return made;
}

}  // namespace

TEST_CASE("a ring of random costs, P = 2 to 64, up to 500 times, equals the plain loop") {
  Stream draws({23, Purpose::algorithm, 0, 0});
  for (int ranks = 2; ranks <= 64; ++ranks) {
    for (int sample = 0; sample < 24; ++sample) {
      CAPTURE(ranks);
      CAPTURE(sample);
      const int repeat = 1 + static_cast<int>(draws.below(500));
      check_equals_plain_loop(random_case(ring_of(ranks), repeat, draws), nullptr);
    }
  }
}

TEST_CASE(
    "so do rings of 4,200 through nodes of several GPUs, with late ranks, where all repetitions are one") {
  Stream draws({27, Purpose::algorithm, 0, 0});
  for (int sample = 0; sample < 8; ++sample) {
    CAPTURE(sample);
    const int gpus = 1 + static_cast<int>(draws.below(8)), nodes = 4200 / gpus;
    const double inside_s = 1e-6 * draws.uniform(), most_late_s = std::pow(10, -6 + 4 * draws.uniform());
    Case made = random_case(ring_of(gpus * nodes), gpus * nodes - 1, draws);
    for (std::size_t i = 0; i < made.to.size(); ++i) {
      const bool between = (i + 1) % static_cast<std::size_t>(gpus) == 0;
      made.alpha_s[i] = between ? 2e-6 : inside_s;
      made.transfer_s[i] = between ? 5e-6 : inside_s;
      made.arrivals[i] = 0.5 + most_late_s * draws.uniform();
    }
    if (sample % 3 == 0) made.alpha_s[draws.below(4000)] *= 10;
    check_equals_plain_loop(made, nullptr);
  }
}

TEST_CASE("so do rings through nodes that are alike, of which one tells what all do") {
  Stream draws({28, Purpose::algorithm, 0, 0});
  for (const int gpus : {2, 3, 4, 8})
    for (const int nodes : {1, 2, 5, 16, 600}) {
      CAPTURE(gpus);
      CAPTURE(nodes);
      const Case node = random_case(ring_of(gpus), gpus * nodes - 1, draws);
      Case made = node;
      made.to = ring_of(gpus * nodes);
      for (std::vector<double>* each : {&made.alpha_s, &made.transfer_s, &made.arrivals})
        for (std::size_t i = each->size(); i < made.to.size(); ++i)
          each->push_back((*each)[i % static_cast<std::size_t>(gpus)]);
      check_equals_plain_loop(made, nullptr);
      made.arrivals[made.arrivals.size() / 2] += 1e-5;  // now one of them is late
      check_equals_plain_loop(made, nullptr);
    }
}

TEST_CASE("so do several cycles, and rings that run backwards or jump") {
  Stream draws({24, Purpose::algorithm, 0, 0});
  for (const int ranks : {4, 6, 12, 30, 64}) {
    for (const int distance : {2, 3, ranks / 2, ranks - 1}) {
      for (int sample = 0; sample < 8; ++sample) {
        CAPTURE(ranks);
        CAPTURE(distance);
        CAPTURE(sample);
        check_equals_plain_loop(random_case(ring_of(ranks, distance), 200, draws), nullptr);
      }
    }
  }
}

TEST_CASE("so do stages in which some ranks send, receive, or do nothing") {
  Stream draws({25, Purpose::algorithm, 0, 0});
  for (int sample = 0; sample < 200; ++sample) {
    CAPTURE(sample);
    const int ranks = 2 + static_cast<int>(draws.below(20));
    std::vector<std::int32_t> to = ring_of(ranks);
    for (std::int32_t& receiver : to)
      if (draws.below(3) == 0) receiver = -1;
    check_equals_plain_loop(random_case(to, 1 + static_cast<int>(draws.below(50)), draws), nullptr);
  }
}

TEST_CASE("and everything with jitter, across the chunks of 64 draws and of 128 ranks") {
  const JitterTable table(lognormal(2e-6, 1.0));
  Stream draws({26, Purpose::algorithm, 0, 0});
  for (const int ranks : {2, 3, 5, 16, 63, 64, 65, 127, 128, 129, 130, 257, 300}) {
    for (const int distance : {1, ranks - 1}) {
      for (std::uint64_t operation = 0; operation < 4; ++operation) {
        CAPTURE(ranks);
        CAPTURE(distance);
        CAPTURE(operation);
        const JitterDraws jitter{&table, 99, 2, operation};
        const Case made = random_case(ring_of(ranks, distance), 20, draws);
        check_equals_plain_loop(made, &jitter);
        check_equals_plain_loop(made, nullptr);
        Case partial = made;
        partial.to[static_cast<std::size_t>(ranks) / 2] = -1;
        check_equals_plain_loop(partial, &jitter);
      }
    }
  }
}

TEST_CASE("a slow edge far away counts, however long it takes to be felt") {
  // 64 ranks whose edges cost 1 us but one of 2 us, which a rank at distance d feels after d steps: the first
  // 32 steps look steady to nobody.
  Case made;
  made.to = ring_of(64);
  made.repeat = 500;
  made.alpha_s.assign(64, 1e-6);
  made.alpha_s[63] = 2e-6;
  made.transfer_s.assign(64, 0);
  made.arrivals.assign(64, 0);
  check_equals_plain_loop(made, nullptr);
  const Stage stage = make_stage(made.to, 1, 0, made.repeat);
  std::vector<double> t = made.arrivals;
  std::uint32_t step = 0;
  advance_stage(make_stage_costs(stage, made.alpha_s, made.transfer_s, 0), nullptr, step, t);
  CHECK(t[63] == doctest::Approx(500 * 2e-6).epsilon(1e-12));
  // Rank 31 is 32 edges away from both ends of the slow one: its last 32 steps were not delayed.
  CHECK(t[31] == doctest::Approx((500 - 31) * 2e-6 + 31 * 1e-6).epsilon(1e-12));
}

TEST_CASE("a schedule over many ranks equals the plain loop at every stage") {
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    for (const int ranks : {6, 8, 16}) {
      if (plugin.info.name == "recursive_halving" && power_of_two_below(ranks) != ranks) continue;
      CAPTURE(op_name(plugin.op));
      CAPTURE(plugin.info.name);
      CAPTURE(ranks);
      Cluster cluster = uneven_star(ranks, 4);
      cluster.host.reduce_s_per_byte = 1e-11;
      const Plan plan = plan_of(plugin.op, plugin.info.name, 1e5, cluster);
      const JitterTable table(lognormal(2e-6, 1.0));
      const JitterDraws draws{&table, 1, 1, 1};
      for (const JitterDraws* jitter : {static_cast<const JitterDraws*>(nullptr), &draws}) {
        const std::vector<double> arrivals = spread(ranks, 1e-4, 8);
        std::vector<double> plain = arrivals;
        if (plan.schedule().together)
          plain.assign(plain.size(), *std::max_element(arrivals.begin(), arrivals.end()));
        std::uint32_t step = 0;
        for (std::size_t s = 0; s < plan.stages(); ++s) naive_advance(plan.stage(s), jitter, step, plain);
        CHECK(worst_difference(ends_of(plan, arrivals, jitter), plain) < 1e-13);
      }
    }
  }
}

}  // namespace simsgd::test::collectives_steady_state
