// An independent oracle: all-reduces by SMPI's own ring, recursive doubling and Rabenseifner take the time
// that our schedules take, once SMPI's envelope of 16 bytes per message is counted. SMPI shares SimGrid's
// flows with our `messages`, but no line of ours.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "oracle.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::smpi_all_reduces {

namespace {

struct Algorithms {
  const char* schedule;
  const char* smpi;
};
constexpr Algorithms kAlgorithms[] = {{"ring", "lr"}, {"recursive_doubling", "rdb"}, {"rabenseifner", "rab"}};

Cluster cluster_of(int ranks) {
  Cluster cluster;
  cluster.nodes = ranks;
  cluster.network = star(ranks, 5e-6, 25e9);
  cluster.endpoint_of_rank.resize(static_cast<std::size_t>(ranks));
  std::iota(cluster.endpoint_of_rank.begin(), cluster.endpoint_of_rank.end(), 0);
  return cluster;
}

Plan enveloped_plan(const Cluster& cluster, const char* name, double bytes) {
  const int ranks = cluster.workers();
  Schedule schedule = find_schedule(CollectiveOp::all_reduce, name)->make({ranks, bytes, 0, 1});
  for (Stage& stage : schedule.stages) stage.bytes += kEnvelopeBytes;
  return Plan(std::move(schedule), cluster, cluster.endpoint_of_rank, bytes);
}

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

bool close(double a, double b) { return std::fabs(a - b) <= 1e-9 * b; }

}  // namespace

TEST_CASE(
    "SMPI's ring, recursive doubling and Rabenseifner take our time, P = 4 to 32, also with arrival skew") {
  // 10 MB among 8, by hand:
  // ring          14 (5 us + (1.25 MB + 16 B) / 25 GB/s)        = 770 us + 14 x 0.64 ns
  // doubling       3 (5 us + (10 MB + 16 B) / 25 GB/s)          = 1215 us + 3 x 0.64 ns
  // Rabenseifner   6 x 5 us + (2 x 7/8 x 10 MB + 6 x 16 B) / 25 GB/s = 730 us + 6 x 0.64 ns
  const std::map<std::string, double> by_hand_s = {{"ring", 770e-6 + 14 * 0.64e-9},
                                                   {"recursive_doubling", 1215e-6 + 3 * 0.64e-9},
                                                   {"rabenseifner", 730e-6 + 6 * 0.64e-9}};
  for (const Algorithms& algorithm : kAlgorithms)
    for (const int ranks : {4, 8, 16, 32}) {
      CAPTURE(algorithm.schedule);
      CAPTURE(ranks);
      // 128 B and 1 MB: the blocks of 32 ranks are whole numbers of floats.
      std::vector<SmpiCall> calls = {{32, 0}, {262'144, 0}};
      if (ranks < 32) calls.push_back({1'048'576, 300});
      if (ranks == 8) calls.push_back({2'500'000, 0});
      const std::vector<SmpiTimes> smpi = smpi_times({ranks, algorithm.smpi, calls});
      const Cluster cluster = cluster_of(ranks);
      for (std::size_t i = 0; i < calls.size(); ++i) {
        CAPTURE(calls[i].count);
        const Plan plan = enveloped_plan(cluster, algorithm.schedule, 4.0 * calls[i].count);
        const double expected = largest(smpi[i].ends) - largest(smpi[i].begins);
        if (calls[i].skew_us > 0) {  // every rank ends in SMPI when the recurrence lets it end
          std::vector<double> ends;
          plan.ends_by_steps(smpi[i].begins, nullptr, ends);
          for (std::size_t rank = 0; rank < ends.size(); ++rank) {
            CAPTURE(rank);
            CHECK(close(ends[rank], smpi[i].ends[rank]));
          }
          continue;
        }
        CHECK(close(plan.dedicated_time_s(), expected));
        if (calls[i].count == 2'500'000) CHECK(close(expected, by_hand_s.at(algorithm.schedule)));
        const std::vector<double> messages = in_child([&] {
          return simulate_plans(cluster, {{&plan, Fidelity::messages}}, nullptr);
        });
        CHECK(close(messages.front(), expected));
      }
    }
}

}  // namespace simsgd::test::smpi_all_reduces
