// A schedule: the messages of a collective, in stages. The cost of every fidelity is derived from this one
// description.
//
// In a stage each rank sends at most one message and receives at most one. A message from i to j begins when
// both have finished their earlier stages (rendezvous) and ends alpha + bytes * beta later; a rank finishes
// the stage when its messages have ended and it has added up what it received. A rank without a message in a
// stage passes through it. A concurrent schedule has no such order: its stages only list its messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simsgd {

struct Stage {
  std::vector<std::int32_t> to;    ///< per rank: whom it sends to, -1: nobody. A rank is named at most once.
  std::vector<std::int32_t> from;  ///< per rank: whom it receives from, -1: nobody. The inverse of `to`.
  double bytes = 0;                ///< of each message
  double reduce_bytes = 0;         ///< bytes that each receiver adds up before it finishes the stage
  int repeat = 1;                  ///< how many times in a row
  double receive_s = 0;            ///< further work of each receiver before it finishes the stage
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

  std::int64_t messages() const;  ///< in all stages and repetitions
};

/// The stage in which rank i sends `bytes` to `to[i]` (-1: to nobody); receivers add up `reduce_bytes`.
Stage make_stage(std::vector<std::int32_t> to, double bytes, double reduce_bytes, int repeat = 1);

/// Largest power of two that is <= n; and the least k with 2^k >= n.
int power_of_two_below(int n);
int ceil_log2(int n);

}  // namespace simsgd
