// Point-to-point messages in the simulation: matches sends and receives by (from, to, tag) in the order
// posted, and sends each matched pair through the network.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

#include "sim/collectives/recurrence.hpp"
#include "sim/engine/pending.hpp"
#include "sim/engine/transport.hpp"
#include "sim/job.hpp"
#include "sim/recording/ledger.hpp"

namespace simsgd {

class Mailroom {
 public:
  /// A message that has arrived: when each side was ready, and when it ended.
  struct Delivered {
    int from = 0, to = 0;
    double send_posted_s = 0, receive_posted_s = 0, end_s = 0;
    double bytes = 0;
    Traffic traffic = Traffic::control;
  };
  using Observer = std::function<void(const Delivered&)>;

  Mailroom(const Job& job, Transport& transport, Observer observer);

  /// Posted now, in SimGrid's time.
  std::shared_ptr<SimPending> send(int from, int to, int tag, Message message);
  std::shared_ptr<SimPending> receive(int from, int to, int tag);
  /// Sends now, to nobody who waits: calls `arrived` when the message is there.
  void post(int from, int to, Message message, std::function<void(const Message&)> arrived);
  /// Messages that wait for their other side: part of the explanation of a deadlock.
  std::string unfinished() const;

 private:
  struct Posted {
    double time_s = 0;
    std::shared_ptr<SimPending> pending;
    Message message;
  };
  struct Box {
    std::deque<Posted> sends, receives;
  };
  using Address = std::tuple<int, int, int>;  // from, to, tag
  void match(const Address& address, Box& box);
  double delay_s(int from, int to, double bytes);

  const Job& job_;
  Transport& transport_;
  Observer observer_;
  std::unique_ptr<JitterTable> jitter_;
  std::map<Address, Box> boxes_;
  std::map<std::pair<int, int>, std::uint64_t> sent_;  // messages so far of (from, to), for the jitter
};

}  // namespace simsgd
