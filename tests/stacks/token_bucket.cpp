// Token buckets of NICs, carried from message to message: the simulation against a model of its own that
// keeps debts in place of tokens, and against closed forms of rows of messages.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/stacks/support.hpp"

namespace simsgd::test::stacks_token_bucket {

using doctest::Approx;
using namespace stacks;

namespace {

struct Shape {
  double bytes, Bps;
};

Network bucketed(int workers, const Shape& shape) {
  Network network = star(workers, kAlpha_s, kBps);
  network.between.latency_s = kAlpha_s;
  network.between.bandwidth_Bps = kBps;
  network.between.burst_bytes = shape.bytes;
  network.between.burst_Bps = shape.Bps;
  return network;
}

/// Operations one after another: a pause, then a ring of so many bytes.
struct Row {
  std::vector<double> pause_s, bytes;
};

Row random_row(std::mt19937& random) {
  std::uniform_real_distribution<double> pause(0, 1e-3), log_bytes(2, 6);
  Row row;
  for (int k = 0; k < 5; ++k) {
    row.pause_s.push_back(k % 2 == 0 ? 0 : pause(random));
    row.bytes.push_back(std::floor(std::pow(10, log_bytes(random))));
  }
  return row;
}

double simulated_s(const Shape& shape, const Row& row, int workers, Fidelity fidelity) {
  Job job = scripted_job(bucketed(workers, shape), [&](Worker& worker) {
    while (worker.next_step())
      for (std::size_t k = 0; k < row.bytes.size(); ++k) {
        worker.compute().spend(Activity::compute, row.pause_s[k] * (1 + worker.rank()));
        worker.collectives().run(timed<AllReduce>(row.bytes[k], "ring"));
      }
  });
  job.network.fidelity = fidelity;
  return simulate_job(job).end_s;
}

/// What a sender has sent beyond what flowed in: grows by every message, shrinks at the links' rate. A
/// message of n bytes ends when it has passed at the burst's rate and the debt is no more than the bucket.
struct Debt {
  double bytes = 0, at_s = 0;

  double send(const Shape& shape, double from_s, double message) {
    bytes = std::max(0.0, bytes - kBps * (from_s - at_s)) + message;
    const double end_s = from_s + std::max(message / shape.Bps, (bytes - shape.bytes) / kBps);
    bytes = std::max(0.0, bytes - kBps * (end_s - from_s));
    at_s = end_s;
    return end_s;
  }
};

// Rings step by step: rank r sends to r + 1 when both are through with the step before.
double modelled_s(const Shape& shape, const Row& row, int workers) {
  const auto n = static_cast<std::size_t>(workers);
  std::vector<double> t(n, 0.0), sent(n);
  std::vector<Debt> debts(n);
  for (std::size_t k = 0; k < row.bytes.size(); ++k) {
    for (std::size_t r = 0; r < n; ++r) t[r] += row.pause_s[k] * static_cast<double>(1 + r);
    for (int step = 0; step < 2 * (workers - 1); ++step) {
      for (std::size_t r = 0; r < n; ++r)
        sent[r] = debts[r].send(shape, std::max(t[r], t[(r + 1) % n]) + kAlpha_s, row.bytes[k] / workers);
      for (std::size_t r = 0; r < n; ++r) t[r] = std::max(sent[r], sent[(r + n - 1) % n]);
    }
  }
  return *std::max_element(t.begin(), t.end());
}

}  // namespace

TEST_CASE("rings through token buckets are a model of debts, message by message and operation by operation") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 12; ++trial) {
    CAPTURE(trial);
    const int workers = 2 + trial % 4;
    const Shape shape{trial % 3 == 0 ? 2e4 : 3e5, trial % 2 == 0 ? 8 * kBps : 1e15};
    const Row row = random_row(random);
    const double expected = modelled_s(shape, row, workers);
    CHECK(simulated_s(shape, row, workers, Fidelity::messages) == Approx(expected).epsilon(1e-9));
    CHECK(simulated_s(shape, row, workers, Fidelity::automatic) == Approx(expected).epsilon(1e-9));
    // A single operation meets full buckets: steps see them empty too.
    const Row first{{row.pause_s[0]}, {row.bytes[0]}};
    const double once = modelled_s(shape, first, workers);
    for (const Fidelity fidelity : {Fidelity::steps, Fidelity::closed, Fidelity::messages})
      CHECK(simulated_s(shape, first, workers, fidelity) == Approx(once).epsilon(1e-9));
    // Aggregated, a ring may keep what the buckets held, once, and no more.
    CHECK(std::fabs(simulated_s(shape, first, workers, Fidelity::flows) - once) <=
          shape.bytes / kBps + 1e-9 * once);
  }
}

TEST_CASE(
    "steps and closed begin each operation with full buckets: too early by a bucket's filling each, at most") {
  std::mt19937 random(11);
  for (int trial = 0; trial < 8; ++trial) {
    CAPTURE(trial);
    const int workers = 2 + trial % 4;
    const Shape shape{trial % 3 == 0 ? 2e4 : 3e5, trial % 2 == 0 ? 8 * kBps : 1e15};
    const Row row = random_row(random);
    const double exact = simulated_s(shape, row, workers, Fidelity::messages);
    const double early = exact - simulated_s(shape, row, workers, Fidelity::steps);
    // Ranks that come one after another may wait for each other's buckets.
    CHECK(early >= -1e-9 * exact);
    CHECK(early <= (static_cast<double>(row.bytes.size()) - 1) * workers * shape.bytes / kBps + 1e-9 * exact);
  }
  // Rings of 6 MB in step and without a pause leave every bucket empty: the second and third are as much too
  // early as can be, 0.3 ms each.
  const Shape shape{3e5, 1e15};
  const Row row{{0, 0, 0}, {6e6, 6e6, 6e6}};
  const double exact = simulated_s(shape, row, 4, Fidelity::messages);
  for (const Fidelity fidelity : {Fidelity::steps, Fidelity::closed})
    CHECK(exact - simulated_s(shape, row, 4, fidelity) ==
          Approx(2 * (shape.bytes / kBps - kAlpha_s)).epsilon(1e-6));
}

TEST_CASE("a message right behind another meets an empty bucket, one after a pause what has flowed in") {
  // 1 GB/s, bucket 100 kB, at once. 300 kB: 0.2 ms. The next 300 kB after 0.1 ms of latency: 100 kB flowed
  // in.
  const auto two = [](double pause_s) {
    Job job = scripted_job(bucketed(2, {1e5, 1e15}), [&](Worker& worker) {
      while (worker.next_step())
        for (int k = 0; k < 2; ++k) {
          if (k == 1) worker.compute().spend(Activity::compute, pause_s);
          Message message;
          message.bytes = 3e5;
          if (worker.rank() == 0)
            worker.wait(worker.messages().start_send(1, 0, std::move(message)));
          else
            worker.wait(worker.messages().start_receive(0, 0));
        }
    });
    return simulate_job(job).end_s;
  };
  CHECK(two(0) == Approx(2 * (1e-4 + 2e-4)).epsilon(1e-9));  // the latency is as long as filling takes
  CHECK(two(1) == Approx(1 + 2 * (1e-4 + 2e-4)).epsilon(1e-9));
}

TEST_CASE("rows of messages: no more passes than flows in, unless pauses fill the bucket") {
  // A ping-pong of 200 and of 100 rounds, half a round each: as calibration predicts it.
  for (const double bytes : {1e3, 9e4, 2.5e5, 1e6})
    for (const Shape& shape : {Shape{5e4, 4 * kBps}, Shape{4e5, 1e15}}) {
      CAPTURE(bytes);
      CAPTURE(shape.bytes);
      const auto rounds = [&](int count) {
        Job job = scripted_job(bucketed(2, shape), [&](Worker& worker) {
          while (worker.next_step())
            for (int k = 0; k < 2 * count; ++k) {
              Message message;
              message.bytes = bytes;
              if (worker.rank() == k % 2)
                worker.wait(worker.messages().start_send(1 - worker.rank(), 0, std::move(message)));
              else
                worker.wait(worker.messages().start_receive(1 - worker.rank(), 0));
            }
        });
        return simulate_job(job).end_s;
      };
      const double half_s = (rounds(200) - rounds(100)) / 200;
      const double full_s = kAlpha_s + std::max(bytes / shape.Bps, (bytes - shape.bytes) / kBps);
      CHECK(half_s == Approx(std::max(bytes / kBps / 2, full_s)).epsilon(1e-6));
    }
  const TokenBucket bucket{5e4, 4e9, 1e9};
  CHECK(bucket.sustained_s(1e-4, 2e5) == Approx(1e-4 + 1.5e-4).epsilon(1e-12));  // the pause fills it
  CHECK(bucket.sustained_s(1e-5, 2e5) == Approx(2e-4).epsilon(1e-12));           // nothing but the rate
  CHECK(bucket.sustained_s(1e-4, 2e4) == Approx(1e-4 + 5e-6).epsilon(1e-12));    // never empty
}

TEST_CASE(
    "GPUs of a node share its NIC's bucket, messages inside it pass by, and more tokens are never slower") {
  Network network = bucketed(4, {1e5, 1e15});
  network.gpus_per_node = 2;
  CHECK(network.message_cost(0, 1, 3e5).wire_bytes == 3e5);
  CHECK(network.message_cost(0, 2, 3e5).wire_bytes == 2e5);
  const Row row{{0, 1e-4, 0}, {1e5, 4e5, 9e5}};
  double before = 1e9;
  for (const double bytes : {0.0, 1e3, 3e4, 1e5, 1e6, 1e7}) {
    const double now = simulated_s({bytes, 1e15}, row, 3, Fidelity::messages);
    CHECK(now <= before * (1 + 1e-12));
    before = now;
  }
}

}  // namespace simsgd::test::stacks_token_bucket
