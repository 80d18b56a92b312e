// A schedule: the messages of a collective, in stages. The cost of every fidelity is derived from this one
// description.
//
// In a stage each rank sends at most one message and receives at most one. A message from i to j begins when
// both have finished their earlier stages (rendezvous) and ends alpha + bytes * beta later; a rank finishes
// the stage when its messages have ended and it has added up what it received. A rank without a message in a
// stage passes through it. A concurrent schedule has no such order: its stages only list its messages.
//
// What the messages carry costs nothing and is said beside them (`carries`): real runs send it, and the
// simulation does not ask. Of n entries in B blocks, block b is [n b / B, n (b+1) / B). Blocks of an
// operation:
//   all_reduce, reduce_scatter, reduce  of the vector that is summed up; rank i is left with block i of P
//   broadcast                           of the root's vector
//   all_gather                          one for each rank: what it contributes
//   all_to_all                          P^2: block P i + j is part j of what rank i contributes
// Test: tests/collectives/carried.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace simsgd {

/// Consecutive blocks; behind the last one comes the first.
struct BlockRange {
  std::int32_t first = 0, count = 0;
};

/// What the messages of a stage carry.
struct Carried {
  bool adds = false;  ///< to what the receiver holds of these blocks; else they take its place
  /// By sender, in each repetition from 0. None: the sender's own contribution, a block for each rank.
  std::function<BlockRange(std::int32_t rank, std::int32_t time)> blocks;
};

struct Stage {
  std::vector<std::int32_t> to;    ///< per rank: whom it sends to, -1: nobody. A rank is named at most once.
  std::vector<std::int32_t> from;  ///< per rank: whom it receives from, -1: nobody. The inverse of `to`.
  double bytes = 0;                ///< of each message
  double reduce_bytes = 0;         ///< bytes that each receiver adds up before it finishes the stage
  int repeat = 1;                  ///< how many times in a row
  double receive_s = 0;            ///< further work of each receiver before it finishes the stage
  bool pays_latency = true;        ///< false: flows behind the first piece of a pipeline, which pays
  double beside_bytes = 0;         ///< of each message, sent while a slower stage's are: they take no time
  Carried carries{};

  BlockRange carried_by(std::int32_t rank, std::int32_t time) const {
    return carries.blocks ? carries.blocks(rank, time) : BlockRange{rank, 1};
  }
};

struct Schedule {
  std::string name;
  int ranks = 1;
  std::vector<Stage> stages;
  /// Every rank's end depends on every rank's arrival. False where some leave early (broadcast, reduce).
  bool all_wait_for_all = true;
  /// On equal links every rank ends at (last arrival) + T, whatever the arrivals (ring, recursive doubling,
  /// Rabenseifner).
  bool ends_together = false;
  /// A rank posts the messages of all its stages when it arrives, and they share its links, instead of going
  /// stage after stage: it waits for its partners and for nobody else. See concurrent.hpp.
  bool concurrent = false;
  /// No message begins before every rank has arrived.
  bool together = false;
  int blocks = 1;  ///< that the messages carry
  /// Where the stages are the costs of a pipeline: its messages, one by one. Else empty.
  std::function<Schedule()> one_by_one{};
  std::vector<double> sent_bytes{};  ///< by each rank, where stages are only what the busiest links carry

  std::int64_t messages() const;  ///< in all stages and repetitions
};

/// The same with messages so many times as large.
Schedule scaled(Schedule schedule, double factor);

/// The stage in which rank i sends `bytes` to `to[i]` (-1: to nobody); receivers add up `reduce_bytes`.
Stage make_stage(std::vector<std::int32_t> to, double bytes, double reduce_bytes, int repeat = 1,
                 Carried carries = {});
/// The first `blocks` blocks, in every message.
Carried all_of(bool adds, int blocks = 1);

/// Largest power of two that is <= n; and the least k with 2^k >= n.
int power_of_two_below(int n);
int ceil_log2(int n);

}  // namespace simsgd
