// Open MPI's decisions against its source, read a second time: numbers of algorithms as 4.1.4 has them in
// ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, entry by entry, and what those algorithms do by
// ompi/mca/coll/base where a vector is too short for them.
#include "sim/stacks/mpi.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/stacks/policy.hpp"

namespace simsgd::test::stacks_mpi_decisions {

namespace {

struct Range {
  int below_ranks;
  std::vector<std::pair<double, int>> below_bytes;  // algorithm below so many bytes; 0: the rest
};

int algorithm(const std::vector<Range>& source, int ranks, double bytes) {
  for (const Range& range : source) {
    if (range.below_ranks > 0 && ranks >= range.below_ranks) continue;
    for (const auto& [below, number] : range.below_bytes)
      if (below == 0 || bytes < below) return number;
  }
  return -1;
}

// ompi_coll_tuned_allreduce_intra_dec_fixed, commutative: 2 nonoverlapping, 3 recursive doubling, 4 ring,
// 5 segmented ring, 6 rabenseifner.
const std::vector<Range> kAllReduce{
    {4, {{8, 4}, {4096, 3}, {8192, 4}, {16384, 3}, {65536, 4}, {262144, 5}, {0, 6}}},
    {8, {{16, 4}, {8192, 3}, {0, 6}}},
    {16, {{8192, 3}, {0, 6}}},
    {32, {{64, 5}, {4096, 3}, {0, 6}}},
    {64, {{128, 5}, {0, 6}}},
    {128, {{262144, 3}, {0, 6}}},
    {256, {{131072, 2}, {262144, 3}, {0, 6}}},
    {512, {{4096, 2}, {0, 6}}},
    {2048, {{2048, 2}, {16384, 3}, {0, 6}}},
    {4096, {{2048, 2}, {4096, 5}, {16384, 3}, {0, 6}}},
    {0, {{2048, 2}, {16384, 5}, {32768, 3}, {0, 6}}}};

// Rings, segmented or not, go over to recursive doubling below one element per rank (coll_base_allreduce.c);
// the decision asks for no segments, which makes the segmented ring the plain one.
std::string all_reduce(int ranks, double bytes) {
  const int number = algorithm(kAllReduce, ranks, bytes);
  const bool long_enough = bytes / 4 >= ranks;
  if (number == 3 || ((number == 4 || number == 5) && !long_enough)) return "recursive_doubling";
  if (number == 4 || number == 5) return "ring";
  return number == 6 ? "rabenseifner" : "tree";
}

// ompi_coll_tuned_bcast_intra_dec_fixed: 8 scatter_allgather; all others are trees of some kind.
const std::vector<Range> kBroadcast{{4,
                                     {{32, 3},
                                      {256, 5},
                                      {512, 3},
                                      {1024, 7},
                                      {32768, 1},
                                      {131072, 5},
                                      {262144, 2},
                                      {524288, 1},
                                      {1048576, 6},
                                      {0, 5}}},
                                    {8, {{64, 5}, {128, 6}, {2048, 5}, {8192, 6}, {1048576, 1}, {0, 2}}},
                                    {16, {{8, 7}, {64, 5}, {4096, 7}, {16384, 5}, {32768, 6}, {0, 1}}},
                                    {32, {{4096, 7}, {1048576, 6}, {0, 8}}},
                                    {64, {{2048, 6}, {0, 7}}},
                                    {128, {{0, 7}}},
                                    {256, {{2, 6}, {16384, 5}, {32768, 1}, {65536, 5}, {0, 7}}},
                                    {1024, {{16384, 7}, {32768, 4}, {0, 7}}},
                                    {2048, {{524288, 7}, {0, 8}}},
                                    {4096, {{262144, 7}, {0, 8}}},
                                    {0, {{8192, 7}, {16384, 5}, {262144, 7}, {0, 8}}}};

std::string broadcast(int ranks, double bytes) {
  return algorithm(kBroadcast, ranks, bytes) == 8 ? "scatter_all_gather" : "tree";
}

// ompi_coll_tuned_allgather_intra_dec_fixed, of the part of a rank: 2 bruck, 3 recursive doubling (bruck
// where ranks are not a power of two), 4 ring, 5 neighbor, 6 two_proc.
const std::vector<Range> kAllGather{
    {3, {{0, 6}}},
    {32, {{0, 3}}},
    {64, {{1024, 3}, {65536, 5}, {0, 4}}},
    {128, {{512, 3}, {65536, 5}, {0, 4}}},
    {256, {{512, 3}, {131072, 5}, {524288, 4}, {1048576, 5}, {0, 4}}},
    {512, {{32, 3}, {128, 2}, {1024, 3}, {131072, 5}, {524288, 4}, {1048576, 5}, {0, 4}}},
    {1024, {{64, 3}, {256, 2}, {2048, 3}, {0, 5}}},
    {2048, {{4, 3}, {8, 2}, {16, 3}, {32, 2}, {256, 3}, {512, 2}, {4096, 3}, {0, 5}}},
    {4096, {{32, 2}, {128, 3}, {512, 2}, {4096, 3}, {0, 5}}},
    {0, {{2, 3}, {8, 2}, {16, 3}, {512, 2}, {4096, 3}, {0, 5}}}};

std::string all_gather(int ranks, double part) {
  const int number = algorithm(kAllGather, ranks, part);
  return number == 4 || number == 5 ? "ring" : "bruck";
}

// ompi_coll_tuned_reduce_scatter_intra_dec_fixed, commutative: 1 non-overlapping, 2 recursive halving, 3
// ring, 4 butterfly.
const std::vector<Range> kReduceScatter{{4, {{65536, 3}, {131072, 4}, {0, 3}}},
                                        {8, {{8, 1}, {262144, 2}, {0, 3}}},
                                        {32, {{262144, 2}, {0, 3}}},
                                        {64, {{64, 1}, {2048, 2}, {524288, 4}, {0, 3}}},
                                        {128, {{256, 1}, {512, 2}, {2048, 4}, {4096, 2}, {0, 4}}},
                                        {256, {{256, 1}, {512, 2}, {0, 4}}},
                                        {512, {{256, 1}, {1024, 2}, {0, 4}}},
                                        {1024, {{512, 1}, {2048, 2}, {8192, 4}, {16384, 2}, {0, 4}}},
                                        {2048, {{512, 1}, {4096, 2}, {16384, 4}, {32768, 2}, {0, 4}}},
                                        {4096, {{512, 1}, {4096, 2}, {0, 4}}},
                                        {0, {{1024, 1}, {8192, 2}, {0, 4}}}};

const std::set<int> kRanks{2,   3,    4,    5,    7,    8,    12,   15,   16,   24,   31,  32,
                           33,  63,   64,   100,  127,  128,  200,  255,  256,  300,  511, 512,
                           700, 1000, 1023, 1024, 1500, 2047, 2048, 3000, 4095, 4096, 5000};

/// Around every number of the table, and between; whole elements of 4 bytes.
std::set<double> sizes(const std::vector<Range>& source) {
  std::set<double> all{4, 1e6, 64e6};
  for (const Range& range : source)
    for (const auto& [below, number] : range.below_bytes)
      for (const double size : {below - 4, below, below * 1.5})
        if (size >= 4) all.insert(4 * std::floor(size / 4));
  return all;
}

std::string taken(CollectiveOp op, const Json& json, int ranks, double bytes) {
  for (const CollectiveWay& way : read_policy(op, json).ways)
    if (way.takes(ranks, bytes)) return way.schedule;
  return "none";
}

Json of(const simsgd::stacks::MpiPolicies& policies, const char* operation) {
  for (const auto& [name, policy] : policies)
    if (name == operation) return policy;
  FAIL("no policy for " << operation);
  return {};
}

}  // namespace

TEST_CASE("tuned decides as the source of Open MPI 4.1.4 does, whatever the ranks and sizes") {
  const simsgd::stacks::MpiPolicies tuned = simsgd::stacks::tuned_decisions(0);
  const Json reduce = of(tuned, "all_reduce"), cast = of(tuned, "broadcast");
  const Json gather = of(tuned, "all_gather"), scatter = of(tuned, "reduce_scatter");
  int wrong = 0;
  for (const int ranks : kRanks) {
    CAPTURE(ranks);
    for (const double bytes : sizes(kAllReduce)) {
      CAPTURE(bytes);
      CHECK(taken(CollectiveOp::all_reduce, reduce, ranks, bytes) == all_reduce(ranks, bytes));
    }
    for (const double bytes : sizes(kBroadcast))
      wrong += taken(CollectiveOp::broadcast, cast, ranks, bytes) != broadcast(ranks, bytes);
    for (const double part : sizes(kAllGather))
      wrong += taken(CollectiveOp::all_gather, gather, ranks, part * ranks) != all_gather(ranks, part);
    const bool power = (ranks & (ranks - 1)) == 0;
    for (const double bytes : sizes(kReduceScatter)) {
      const int number = algorithm(kReduceScatter, ranks, bytes);
      if (number == 1) continue;  // reduced to one rank and scattered: nothing here does that
      const char* expected = power && number != 3 ? "recursive_halving" : "ring";
      CAPTURE(bytes);
      CHECK(taken(CollectiveOp::reduce_scatter, scatter, ranks, bytes) == expected);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("libnbc: binomial trees among fewer than 4 ranks and below 64 KiB, else Rabenseifner's") {
  // nbc_iallreduce.c: p < 4 || size * count < 65536; nbc_ibcast.c: p <= 4, 65536, 524288 (chains above).
  const simsgd::stacks::MpiPolicies libnbc = simsgd::stacks::libnbc_decisions(0);
  const auto reduce = [&](int ranks, double bytes) {
    return taken(CollectiveOp::all_reduce, of(libnbc, "all_reduce"), ranks, bytes);
  };
  const auto cast = [&](int ranks, double bytes) {
    return taken(CollectiveOp::broadcast, of(libnbc, "broadcast"), ranks, bytes);
  };
  CHECK(reduce(3, 1e9) == "tree");
  CHECK(reduce(4, 65535) == "tree");
  CHECK(reduce(4, 65536) == "rabenseifner");
  CHECK(reduce(1000, 65532) == "tree");
  CHECK(cast(4, 1e9) == "tree");
  CHECK(cast(5, 65532) == "tree");
  CHECK(cast(5, 65536) == "scatter_all_gather");
}

TEST_CASE("a policy for so many workers holds what their groups can meet, and decides the same") {
  for (const int workers : {2, 3, 8, 33, 64}) {
    const simsgd::stacks::MpiPolicies all = simsgd::stacks::tuned_decisions(0),
                                      few = simsgd::stacks::tuned_decisions(workers);
    for (const char* name : {"all_reduce", "broadcast", "all_gather", "reduce_scatter"}) {
      CAPTURE(name);
      CAPTURE(workers);
      CHECK(of(few, name).size() < of(all, name).size());
      const CollectiveOp op = name == std::string("all_reduce")   ? CollectiveOp::all_reduce
                              : name == std::string("broadcast")  ? CollectiveOp::broadcast
                              : name == std::string("all_gather") ? CollectiveOp::all_gather
                                                                  : CollectiveOp::reduce_scatter;
      for (int ranks = 2; ranks <= workers; ++ranks)
        for (const double bytes : {8.0, 5e3, 2e4, 1e5, 3e5, 2e6})
          CHECK(taken(op, of(few, name), ranks, bytes) == taken(op, of(all, name), ranks, bytes));
    }
  }
}

}  // namespace simsgd::test::stacks_mpi_decisions
