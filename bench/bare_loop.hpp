// What the bare programs of messages that meet have in common: a heap of events, and messages that share
// links, written for this alone. Those that are on one path at a time have the same bytes, so they end in the
// order in which they began.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "bench/bare_shares.hpp"

namespace simsgd::bench {

/// What happens: kind and numbers are the program's own.
struct BareEvent {
  double time_s = 0;
  std::uint32_t kind = 0, a = 0, b = 0;
  bool operator>(const BareEvent& other) const { return time_s > other.time_s; }
};

class BareLoop {
 public:
  /// Messages have these bytes where nothing else is said.
  BareLoop(const Network& network, double bytes) : shares_(network), bytes_(bytes) {}

  /// Number of the path from GPU to GPU; and the sum of its latencies.
  std::uint32_t path(int from, int to);
  double latency_s(std::uint32_t path) const { return shares_.latency_s(path); }

  double now_s() const { return now_s_; }
  void at(const BareEvent& event) { events_.push(event); }
  /// A message: flows after `alpha_s`, and `end` happens when the last byte has come.
  void send(std::uint32_t path, double alpha_s, BareEvent end) { send(path, alpha_s, end, bytes_); }
  void send(std::uint32_t path, double alpha_s, BareEvent end, double bytes);
  /// The next event; false: none is left.
  bool next(BareEvent& event);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff, kFlows = 0xfffffffe, kEnds = 0xfffffffd;
  struct Message {
    BareEvent end;
    std::uint32_t path = 0, next = kNone;  // on the same path
    double until = 0;                      // its bytes; then its end in those that each of the path has had
  };
  struct Path {
    std::uint32_t first = kNone, last = kNone;  // messages
    double had = 0, rate_Bps = 0, since_s = 0;
    std::uint32_t version = 0;  // of the end on the heap: others are none
    bool changed = false;
  };
  void begin(std::uint32_t message);
  BareEvent end(std::uint32_t path);
  void advance(Path& path) const;
  void put_end(std::uint32_t path);
  void solve();

  BareShares shares_;
  double bytes_, now_s_ = 0;
  std::priority_queue<BareEvent, std::vector<BareEvent>, std::greater<>> events_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_;
  std::vector<Path> paths_;
};

}  // namespace simsgd::bench
