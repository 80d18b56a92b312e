// Point-to-point messages in the simulation: matches sends and receives by (from, to, tag) in the order
// posted, and sends each matched pair through the network.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

#include "sim/collectives/recurrence.hpp"
#include "sim/engine/transport.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/roles/messages.hpp"

namespace simsgd {

class Mailroom {
 public:
  Mailroom(const Job& job, Transport& transport, const Observers& observers);

  /// Posted now, in the simulation's time.
  Handle<Nothing> send(int from, int to, int tag, Message message);
  Handle<Message> receive(int from, int to, int tag);
  /// Sends now, to nobody who waits: calls `arrived` when the message is there.
  void post(int from, int to, Message message, std::function<void(const Message&)> arrived);
  /// Messages that wait for their other side: part of the explanation of a deadlock.
  std::string unfinished() const;

 private:
  struct Sent {
    double time_s = 0;
    Handle<Nothing> handle;
    Message message;
  };
  struct Expected {
    double time_s = 0;
    Handle<Message> handle;
  };
  struct Box {
    std::deque<Sent> sends;
    std::deque<Expected> receives;
  };
  struct Transfer {
    int from = 0, to = 0;
    double send_posted_s = 0, receive_posted_s = 0;
    double bytes = 0;
    Traffic traffic = Traffic::control;
  };
  void arrived(const Transfer& transfer, double end_s) const;
  using Address = std::tuple<int, int, int>;  // from, to, tag
  void match(const Address& address, Box& box);
  PathCost way(int from, int to, const Message& message);

  const Job& job_;
  Transport& transport_;
  const Observers& observers_;
  std::unique_ptr<JitterTable> jitter_;
  std::map<Address, Box> boxes_;
  std::map<std::pair<int, int>, std::uint64_t> sent_;  // messages so far of (from, to), for the jitter
};

}  // namespace simsgd
