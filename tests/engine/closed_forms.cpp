// Times of lone messages and of collectives on dedicated, equal links against their closed forms, at every
// fidelity.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/collectives/schedules.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_closed_forms {

namespace {

constexpr double kAlpha = 5e-6;
constexpr double kBandwidth = 25e9;

// Time of one collective that all ranks of a star start at 0.
double time_of(int ranks, Fidelity fidelity, const AnyCollective& collective) {
  Job job = scripted_job(star(ranks, kAlpha, kBandwidth), [&](Worker& worker) {
    while (worker.next_step()) run_any(worker, collective);
  });
  job.network.fidelity = fidelity;
  return simulate_job(job).end_s;
}

double message_time(double bytes, double alpha, double bandwidth) {
  Job job = scripted_job(star(2, alpha, bandwidth), [&](Worker& worker) {
    while (worker.next_step()) {
      Message message;
      message.bytes = bytes;
      if (worker.rank() == 0) worker.messages().send(1, 0, message);
      if (worker.rank() == 1) worker.messages().receive(0, 0);
    }
  });
  return simulate_job(job).end_s;
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::fabs(b); }

const Fidelity kFidelities[] = {Fidelity::closed, Fidelity::steps, Fidelity::flows, Fidelity::messages};

}  // namespace

TEST_CASE("a lone message takes alpha + m beta, from 0 B to 1 GB") {
  for (const double bytes : {0.0, 1.0, 1e3, 65536.0, 1e6, 1e9}) {
    CAPTURE(bytes);
    CHECK(close(message_time(bytes, 5e-6, 25e9), 5e-6 + bytes / 25e9));
    CHECK(close(message_time(bytes, 5e-6, 450e9), 5e-6 + bytes / 450e9));        // NVLink
    CHECK(close(message_time(bytes, 4.36e-4, 111e6), 4.36e-4 + bytes / 111e6));  // Ethernet
  }
}

TEST_CASE("a ring all-reduce takes 2 (P-1) (alpha + m/P beta) at every fidelity") {
  for (const int ranks : {2, 3, 8, 32}) {
    const double bytes = 1e7 + 3;  // not a multiple of P
    const double expected = 2 * (ranks - 1) * (kAlpha + bytes / ranks / kBandwidth);
    for (const Fidelity fidelity : kFidelities) {
      CAPTURE(ranks);
      CAPTURE(fidelity_name(fidelity));
      CHECK(close(time_of(ranks, fidelity, timed<AllReduce>(bytes, "ring")), expected));
    }
  }
}

TEST_CASE("logarithmic all-reduces take their closed forms at every fidelity") {
  const double bytes = 1e6;
  for (const int ranks : {2, 4, 16}) {
    const double steps = std::log2(ranks);
    for (const Fidelity fidelity : kFidelities) {
      CAPTURE(ranks);
      CAPTURE(fidelity_name(fidelity));
      CHECK(close(time_of(ranks, fidelity, timed<AllReduce>(bytes, "recursive_doubling")),
                  steps * (kAlpha + bytes / kBandwidth)));
      CHECK(close(time_of(ranks, fidelity, timed<AllReduce>(bytes, "rabenseifner")),
                  2 * steps * kAlpha + 2.0 * (ranks - 1) / ranks * bytes / kBandwidth));
      CHECK(close(time_of(ranks, fidelity, timed<AllReduce>(bytes, "tree")),
                  2 * steps * (kAlpha + bytes / kBandwidth)));
      CHECK(close(time_of(ranks, fidelity, timed<Broadcast>(bytes, "tree")),
                  steps * (kAlpha + bytes / kBandwidth)));
      CHECK(close(time_of(ranks, fidelity, timed<AllGather>(bytes, "bruck")),
                  steps * kAlpha + (ranks - 1.0) / ranks * bytes / kBandwidth));
    }
  }
}

}  // namespace simsgd::test::engine_closed_forms
