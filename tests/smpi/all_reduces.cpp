// An independent oracle: all-reduces by SMPI's own ring, recursive doubling and Rabenseifner take the time
// that our schedules take, once SMPI's envelope of 16 bytes per message is counted. SMPI shares SimGrid's
// flows with our `messages`, but no line of ours.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

TEST_CASE("SMPI's ring, recursive doubling and Rabenseifner take our time, P = 4 to 32") {
  for (const Algorithms& algorithm : kAlgorithms) {
    for (const int ranks : {4, 8, 16, 32}) {
      for (const int count :
           {32, 262144}) {  // 128 B and 1 MB: the blocks of 32 ranks are whole numbers of floats
        CAPTURE(algorithm.schedule);
        CAPTURE(ranks);
        CAPTURE(count);
        const SmpiTimes smpi = smpi_all_reduce({ranks, algorithm.smpi, count, 0});
        const double expected = largest(smpi.ends) - largest(smpi.begins);
        const Cluster cluster = cluster_of(ranks);
        const Plan plan = enveloped_plan(cluster, algorithm.schedule, 4.0 * count);
        CHECK(close(plan.dedicated_time_s(), expected));
        const std::vector<double> messages = in_child([&] {
          return simulate_plans(cluster, {{&plan, Fidelity::messages}}, nullptr);
        });
        CHECK(close(messages.front(), expected));
      }
    }
  }
}

TEST_CASE("10 MB among 8: SMPI gives the figures of the formulas, by hand") {
  // ring          14 (5 us + (1.25 MB + 16 B) / 25 GB/s)        = 770 us + 14 x 0.64 ns
  // doubling       3 (5 us + (10 MB + 16 B) / 25 GB/s)          = 1215 us + 3 x 0.64 ns
  // Rabenseifner   6 x 5 us + (2 x 7/8 x 10 MB + 6 x 16 B) / 25 GB/s = 730 us + 6 x 0.64 ns
  const double expected_s[] = {770e-6 + 14 * 0.64e-9, 1215e-6 + 3 * 0.64e-9, 730e-6 + 6 * 0.64e-9};
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(kAlgorithms[i].schedule);
    const SmpiTimes smpi = smpi_all_reduce({8, kAlgorithms[i].smpi, 2'500'000, 0});
    CHECK(close(largest(smpi.ends) - largest(smpi.begins), expected_s[i]));
    CHECK(
        close(enveloped_plan(cluster_of(8), kAlgorithms[i].schedule, 1e7).dedicated_time_s(), expected_s[i]));
  }
}

TEST_CASE("with arrival skew every rank ends in SMPI when the recurrence lets it end") {
  for (const Algorithms& algorithm : kAlgorithms) {
    for (const int ranks : {4, 8, 16}) {
      CAPTURE(algorithm.schedule);
      CAPTURE(ranks);
      const SmpiTimes smpi = smpi_all_reduce({ranks, algorithm.smpi, 1'048'576, 300});
      const Plan plan = enveloped_plan(cluster_of(ranks), algorithm.schedule, 4.0 * 1'048'576);
      std::vector<double> ends;
      plan.ends_by_steps(smpi.begins, nullptr, ends);
      for (std::size_t rank = 0; rank < ends.size(); ++rank) {
        CAPTURE(rank);
        CHECK(close(ends[rank], smpi.ends[rank]));
      }
    }
  }
}

}  // namespace simsgd::test::smpi_all_reduces
