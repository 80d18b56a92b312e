// Horovod in the simulation, against a model of its loop that knows nothing of the engine.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/stacks/tensors.hpp"

namespace simsgd::test::stacks_horovod {

using doctest::Approx;
using namespace stacks;

namespace {

// Around a ring of two: a half each way, twice.
double ring_of_two_s(double bytes) { return 2 * kAlpha_s + bytes / kBps; }

/// What the loop of Horovod's background thread costs.
struct Loop {
  double cycle_s, agreement_s, fusion_bytes, launch_s, tensor_s, buffer_Bps;

  Json stack() const {
    return {
        {"name", "horovod"},  {"cycle", cycle_s},   {"agreement", agreement_s},      {"fusion", fusion_bytes},
        {"launch", launch_s}, {"tensor", tensor_s}, {"buffer_bandwidth", buffer_Bps}};
  }
};

// Tick by tick: what everybody has goes into buffers, in order, and these one after another over the network.
double modelled_s(const Loop& loop, const Tensors& tensors) {
  std::vector<double> ready(tensors.bytes.size(), 0.0);
  for (const std::vector<double>& rank : tensors.computed_s) {
    double now = 0;
    for (std::size_t k = 0; k < rank.size(); ++k) {
      now += rank[k];
      ready[k] = std::max(ready[k], now);
    }
  }
  double free = 0;
  std::size_t next = 0;
  for (int tick = 0; next < ready.size(); ++tick) {
    const double now = tick * loop.cycle_s;
    while (next < ready.size() && ready[next] <= now) {
      double bytes = 0;
      int count = 0;
      do {
        bytes += tensors.bytes[next++];
        ++count;
      } while (next < ready.size() && ready[next] <= now && bytes + tensors.bytes[next] <= loop.fusion_bytes);
      const double copies = count > 1 ? count * loop.tensor_s + 2 * bytes / loop.buffer_Bps : 0;
      free = std::max(free, now + loop.agreement_s) + loop.launch_s + copies + ring_of_two_s(bytes);
    }
  }
  return free;
}

}  // namespace

TEST_CASE("horovod is its loop, tick by tick, at every fidelity: random tensors, cycles and buffers") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 24; ++trial) {
    std::uniform_real_distribution<double> share(0, 1);
    const Loop loop{1e-3 + 5e-3 * share(random),
                    1e-3 * share(random),
                    trial % 4 == 0 ? 0 : 4e6 * share(random),
                    1e-5,
                    2e-6,
                    5e9};
    const Tensors tensors = random_tensors(random);
    CAPTURE(trial);
    const double expected = modelled_s(loop, tensors);
    for (const Fidelity fidelity : kFidelities)
      if (fidelity == kFidelities[trial % 4] || trial < 4)
        CHECK(simulated_s(loop.stack(), tensors, fidelity) == Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE("two tensors of one cycle travel together; what is handed over at a tick does not miss it") {
  // Ready at 1 and 3 ms, cycle 5 ms: one buffer of 3 MB from 5 ms on, 2 x 0.1 ms + 3 ms.
  const Tensors two{{{1e-3, 2e-3}, {1e-3, 2e-3}}, {1e6, 2e6}};
  CHECK(simulated_s({{"name", "horovod"}, {"cycle", "5 ms"}}, two, Fidelity::automatic) ==
        Approx(5e-3 + 2e-4 + 3e-3).epsilon(1e-9));
  // A threshold below 3 MB: two operations, one after the other.
  CHECK(simulated_s({{"name", "horovod"}, {"cycle", "5 ms"}, {"fusion", 2999999}}, two,
                    Fidelity::automatic) == Approx(5e-3 + 4e-4 + 3e-3).epsilon(1e-9));
  // 0.1 + 0.2 s is more than 0.3 s in floating point, and still the third tick.
  const Tensors at_tick{{{0.1, 0.2}, {0.1, 0.2}}, {1e6, 1e6}};
  CHECK(simulated_s({{"name", "horovod"}, {"cycle", 0.1}, {"fusion", 0}}, at_tick, Fidelity::automatic) ==
        Approx(0.3 + 2e-4 + 1e-3).epsilon(1e-9));
}

TEST_CASE("one tensor: the last worker decides, and a cycle that divides another is never slower") {
  const Tensors one{{{2.3e-3}, {7.1e-3}}, {1e6}};
  const double once = simulated_s({{"name", "bytes"}}, one, Fidelity::automatic);
  CHECK(once == Approx(7.1e-3 + 1.2e-3).epsilon(1e-9));
  double before = once;
  for (const double cycle : {0.5e-3, 1e-3, 2e-3, 4e-3, 8e-3, 16e-3}) {
    const double now = simulated_s({{"name", "horovod"}, {"cycle", cycle}}, one, Fidelity::automatic);
    CAPTURE(cycle);
    CHECK(now >= before);
    CHECK(now == Approx(std::ceil(7.1e-3 / cycle) * cycle + 1.2e-3).epsilon(1e-9));
    before = now;
  }
}

}  // namespace simsgd::test::stacks_horovod
